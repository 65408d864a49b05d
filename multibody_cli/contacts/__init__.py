"""Collision geometry: detection of contacts between the shapes of bodies."""
