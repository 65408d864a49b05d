"""Formulas as expression graphs: built by arithmetic, differentiated exactly, and written as source to be compiled."""
