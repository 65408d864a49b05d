"""Inverse dynamics of measured motion, and the forces of muscles that cause it."""
