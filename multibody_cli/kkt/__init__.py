"""Sparse KKT system of a tree in maximal coordinates: elimination order and factorizations (Baraff 1996)."""
