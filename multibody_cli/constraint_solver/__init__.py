"""Constraint rows and loop-closing joints: rows in Delassus form, multipliers, projection onto the constraints."""
