"""`mbsim cache`: shows or clears the cache of compiled code."""

from __future__ import annotations

import re

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.tables import counted, show
from multibody_cli.errors import ArgumentError, OutputError

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}


@click.command("cache", cls=Verb, short_help="Show or clear the cache of compiled code.")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
@click.option("--max-size", metavar="SIZE", help="Remove the least recently used code down to this size, as in 200MB.")
def verb(action: str, max_size: str | None) -> int:
    """Show the folder of compiled code, its number of files and its size, or clear it.

    Code that has not been used for 90 days is removed automatically, and so is the oldest code above 1 GB in total.
    Removed code is compiled again when it is needed.
    """
    from multibody_cli.kernel import store

    if action == "clear" and max_size is not None:
        raise ArgumentError("--max-size requires `show`: `clear` removes everything")
    root = store.cache_root()
    if root.exists() and not root.is_dir():
        raise ArgumentError(f"{root} is not a folder: set MBSIM_CACHE_DIR to the folder of compiled code")
    if action == "clear" or max_size is not None:
        removed, reason = store.remove_old(-1 if max_size is None else _bytes(max_size))
        show(f"removed {counted(removed, 'file')}")
        if reason:
            raise OutputError(f"cannot remove {reason}")
        if action == "clear":
            return 0
    found = store.inventory()
    show(f"folder   {root}")
    show(f"target   {store.folder().name}")
    show(f"files    {len(found)} (kernels and the formulas they contain)")
    show(f"size     {sum(size for _, size, _ in found) / 1e6:.1f} MB")
    show(f"shipped  {counted(len(store.shipped()), 'file')}")
    return 0


def _bytes(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-zA-Z]*)\s*", text)
    if not found or found[2].lower() not in _UNITS:
        raise ArgumentError(f"--max-size {text}: expected a size as in 500kB, 200MB or 1GB")
    return int(float(found[1]) * _UNITS[found[2].lower()])
