"""Curves and surfaces as formulas of their parameters: joints slide along them and roll on them."""
