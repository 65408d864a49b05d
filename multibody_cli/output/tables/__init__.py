"""Tables of a run as files of other programs, by the suffix of the file.

To add a format, add its file, with a `FORMAT`, and its suffix to `FORMATS`.
"""

from __future__ import annotations

from importlib import import_module

from multibody_cli.output.tables.contract import Format
from multibody_cli.registry import Registry

_MODULES = {"csv": "comma_separated", "parquet": "parquet", "mat": "matlab", "npz": "numpy_archive"}


def _format_of(suffix: str) -> Format:
    found: Format = import_module(f"{__name__}.{_MODULES[suffix]}").FORMAT
    return found


FORMATS: Registry[Format] = Registry(_MODULES, _format_of)
"""The formats, by the suffix of a file."""
