"""Solvers for Coulomb friction problems, without knowledge of bodies or methods."""
