"""Pictures of results, comparisons and benchmarks, as PNG or SVG files.

matplotlib is an optional dependency: only this package imports it, when a picture is drawn.
"""
