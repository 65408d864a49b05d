"""Coulomb friction on a Delassus matrix: staggered projections, finished by Newton's method."""
