"""Static equilibrium and steady motion: balance of forces, active limits, and the stiffness of small displacements."""
