"""Coulomb friction on a Delassus matrix, of whatever bodies and method: staggered projections, ended by Newton."""
