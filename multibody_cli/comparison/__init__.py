"""Comparing two runs: which numbers differ, by more than what, where, since when, and what changed first.

::

    Recording ──┐ instants, places     equivalence     tolerance
                ├──────▶ pairs of slabs ──▶ differences ──▶ Finding ──┐
    Recording ──┘                                                     ├──▶ Comparison
    attributes and scenes ─────────────────────────▶ settings ────────┘

Nothing here holds a whole dataset: files of any size are compared slab by slab.
"""
