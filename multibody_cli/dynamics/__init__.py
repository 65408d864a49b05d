"""Algorithms on the tree: kinematics, articulated bodies, wrenches, energy, and what output reads."""
