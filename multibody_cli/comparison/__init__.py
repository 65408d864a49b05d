"""Comparison of two runs: which values differ beyond tolerance, where, since when, and which quantity changed first.

::

    Recording ──┐ instants, places     equivalence     tolerance
                ├──────▶ pairs of slabs ──▶ differences ──▶ Finding ──┐
    Recording ──┘                                                     ├──▶ Comparison
    attributes and scenes ─────────────────────────▶ settings ────────┘

Datasets are read slab by slab, so that files of any size can be compared.
"""
