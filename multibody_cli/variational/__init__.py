"""Discrete mechanics: what the variational methods are made of."""
