"""Labels of axes: the quantity and its unit."""

from __future__ import annotations

from collections.abc import Iterable

from multibody_cli.output.selection import Scalar

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


def quantity_of(scalar: Scalar) -> str:
    """Return the name of the quantity of a scalar: `moment` for `joints/hinge/force[mx]`."""
    if scalar.units == "J":
        return "energy"
    name = scalar.name.rpartition("/")[2]
    return _QUANTITIES.get((name, scalar.units), name.replace("_", " "))


def axis_label(scalars: Iterable[Scalar]) -> str:
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
