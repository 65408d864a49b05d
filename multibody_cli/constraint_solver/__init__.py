"""Constraint rows and loop joints: Delassus operator, multipliers, projection onto the constraints."""
