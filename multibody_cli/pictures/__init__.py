"""Pictures of results, of their differences and of benchmarks, as PNG or SVG files.

matplotlib is an extra: only this room imports it, when a picture is made.
"""
