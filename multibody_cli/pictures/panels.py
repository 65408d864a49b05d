"""Panels: grouping of scalars that share an axis, and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from multibody_cli.escaping import decoded
from multibody_cli.immutable import Immutable
from multibody_cli.output.selection import ScalarChannel


class Panel(Immutable):
    """Lines that share an axis.

    Parameters
    ----------
    title
        Common part of the names, as on the command line: `joints/*/q`.
    axis
        Quantity and unit of the axis.
    labels
        Remaining part of the name of each line, in the order of the legend; empty for a single line.
    left_out
        Number of lines omitted because the panel is full.
    """

    title: str
    axis: str
    labels: dict[ScalarChannel, str]
    left_out: int


def arrange(scalars: Iterable[ScalarChannel], most: int) -> list[Panel]:
    """Group scalars into panels by units; errors, which are much smaller, get panels of their own.

    Parameters
    ----------
    scalars
        The scalars of one or several runs; equal scalars of several runs share a label.
    most
        Largest number of lines in a panel.
    """
    groups: dict[tuple[str, bool], dict[ScalarChannel, None]] = {}
    for scalar in scalars:
        groups.setdefault((scalar.units, scalar.is_error), {})[scalar] = None
    return [_panel(list(group), most) for group in groups.values()]


def _panel(scalars: Sequence[ScalarChannel], most: int) -> Panel:
    shown = scalars[:most]
    title, labels = _shared_and_own(shown)
    return Panel(title, axis_label(shown), dict(zip(shown, labels, strict=True)), len(scalars) - len(shown))


def _shared_and_own(scalars: Sequence[ScalarChannel]) -> tuple[str, list[str]]:
    """Split names into their common components and the remaining components of each."""
    paths = [scalar.name.split("/") for scalar in scalars]
    shared = [len(set(links)) == 1 for links in zip_longest(*paths)]
    if len(set(map(len, paths))) > 1:
        # after the first difference, components of paths of unequal length do not correspond
        shared = [all(shared[: place + 1]) for place in range(len(shared))]
    own = [decoded("/".join(link for link, agrees in zip(path, shared, strict=False) if not agrees)) for path in paths]
    common = [link if agrees else "*" for link, agrees in zip(paths[0], shared, strict=False)]
    while common and common[-1] == "*":
        common.pop()
    title, components = decoded("/".join(common)), [scalar.component for scalar in scalars]
    if len(set(components)) > 1:
        return title, [" ".join(filter(None, pair)) for pair in zip(own, components, strict=True)]
    return title + (f"[{components[0]}]" if components[0] else ""), own


_QUANTITIES = {
    ("q", "rad"): "angle",
    ("q", "m"): "displacement",
    ("v", "rad/s"): "angular velocity",
    ("v", "m/s"): "velocity",
    ("acceleration", "rad/s^2"): "angular acceleration",
    ("force", "N m"): "moment",
    ("friction", "N m"): "friction moment",
    ("friction", "N"): "friction force",
    ("linear", "kg m/s"): "linear momentum",
    ("angular", "kg m^2/s"): "angular momentum",
    ("com", "m"): "position",
    ("angular_velocity_body", "rad/s"): "angular velocity",
}
"""Quantities that the last component of the path and the unit determine; others have the name of that component."""

_MOST = 2
"""Largest number of quantities that a label lists."""


def quantity_of(scalar: ScalarChannel) -> str:
    """Return the name of the quantity of a scalar: `moment` for `joints/hinge/force[mx]`."""
    if scalar.units == "J":
        return "energy"
    name = scalar.name.rpartition("/")[2]
    return _QUANTITIES.get((name, scalar.units), name.replace("_", " "))


def axis_label(scalars: Iterable[ScalarChannel]) -> str:
    """Return the label of an axis of scalars with the same unit: `moment, N·m`."""
    scalars = list(scalars)
    unit = scalars[0].units
    quantities = list(dict.fromkeys(quantity_of(scalar) for scalar in scalars))
    words = " and ".join(quantities) if len(quantities) <= _MOST else "values"
    return words if unit == "1" else f"{words}, {typeset_unit(unit)}"


def typeset_unit(unit: str) -> str:
    """Return a unit with dots and raised exponents: `kg·m²/s` for `kg m^2/s`; alternatives keep their spaces."""
    raised = unit.replace("^2", "²").replace("^3", "³")
    return " or ".join(part.replace(" ", "·") for part in raised.split(" or "))
