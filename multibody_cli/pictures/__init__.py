"""Pictures of results, comparisons and benchmarks, as PNG, SVG or PDF files.

matplotlib is an optional dependency: only this package imports it, when a picture is drawn.
"""
