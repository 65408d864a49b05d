"""The equations of motion of a model as formulas of its coordinates: to be read, and to check numbers by."""
