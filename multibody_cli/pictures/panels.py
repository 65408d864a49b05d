"""Panels: which numbers share an axis, and what each of them is called there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from multibody_cli.output.selection import Scalar


@dataclass(frozen=True)
class Panel:
    """Lines that share an axis.

    Parameters
    ----------
    title
        What all of them are, in the words of the command line: `joints/*/q`.
    units
        Units of the axis.
    labels
        What each line is besides, in the order of the legend; empty for a line that is alone.
    left_out
        How many lines there is no room for.
    """

    title: str
    units: str
    labels: dict[Scalar, str]
    left_out: int


def arrange(scalars: Iterable[Scalar], most: int) -> list[Panel]:
    """Share numbers out to panels: those of the same units to one, but errors to one of their own.

    An error is next to nothing beside what it is the error of, and would not be seen there.

    Parameters
    ----------
    scalars
        The numbers, of one run or of several; what is called the same in each is one line.
    most
        How many lines a panel has room for.
    """
    groups: dict[tuple[str, bool], dict[Scalar, None]] = {}
    for scalar in scalars:
        groups.setdefault((scalar.units, scalar.is_error), {})[scalar] = None
    return [_panel(list(group), most) for group in groups.values()]


def _panel(scalars: Sequence[Scalar], most: int) -> Panel:
    shown = scalars[:most]
    title, labels = _shared_and_own(shown)
    return Panel(title, shown[0].units, dict(zip(shown, labels, strict=True)), len(scalars) - len(shown))


def _shared_and_own(scalars: Sequence[Scalar]) -> tuple[str, list[str]]:
    """Say what names have in common, link by link, and what is left of each."""
    paths = [scalar.name.split("/") for scalar in scalars]
    shared = [len(set(links)) == 1 for links in zip_longest(*paths)]
    if len(set(map(len, paths))) > 1:
        # behind the first difference, links of paths of unequal length do not correspond
        shared = [all(shared[: place + 1]) for place in range(len(shared))]
    own = ["/".join(link for link, agrees in zip(path, shared, strict=False) if not agrees) for path in paths]
    common = [link if agrees else "*" for link, agrees in zip(paths[0], shared, strict=False)]
    while common and common[-1] == "*":
        common.pop()
    title, components = "/".join(common), [scalar.component for scalar in scalars]
    if len(set(components)) > 1:
        return title, [" ".join(filter(None, pair)) for pair in zip(own, components, strict=True)]
    return title + (f"[{components[0]}]" if components[0] else ""), own
