"""Linearly implicit forces: stiffness and damping products, linearization about a state."""
