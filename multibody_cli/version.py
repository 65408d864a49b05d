"""Version of the program; results and reports contain it."""

__version__ = "0.1.0"
