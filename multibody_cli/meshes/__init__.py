"""Triangle meshes of solids, tubes and surfaces, for pictures."""

FORMATS = (".stl", ".obj", ".ply", ".off", ".dae", ".msh", ".vtp")
"""Formats of mesh files: those of which no other file is read, and that are not archives."""
