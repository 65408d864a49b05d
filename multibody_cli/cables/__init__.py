"""Cables: lines through points of bodies and arcs over surfaces, their lengths and rates, and their variation."""
