"""Benchmarks: speed of methods, growth of their cost, and cost against accuracy.

`options` defines the options and derives the cases from them, and `campaign` runs the cases in sequence.
"""
