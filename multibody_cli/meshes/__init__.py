"""Triangle meshes of solids, tubes and surfaces, for pictures."""
