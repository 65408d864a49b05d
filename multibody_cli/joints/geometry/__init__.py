"""Curves and surfaces as formulas of their parameters: what joints run along and roll on."""
