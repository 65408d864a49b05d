"""Formulas as graphs: built by plain arithmetic, differentiated exactly, and written out as source to be compiled."""
