"""Rigid-body tree algorithms: kinematics, articulated-body recursions, Jacobians, mass matrix (Featherstone)."""
