"""The kernel that applies one force element alone, from which its wrenches on bodies follow."""

from __future__ import annotations

from functools import reduce
from typing import Any

from multibody_cli.forces.contract import ForceElement, apply_force
from multibody_cli.forces.elements import ELEMENTS, PLACE, PLACES
from multibody_cli.kernel import bound_kernel, lazy_template, optional_kernel_parameter, template


@optional_kernel_parameter
def apply_before(forces, place, k, t, q, v, work, powers) -> None:
    """Apply record k of the table `place`, if that is before PLACE."""


# The template applies an element before PLACE, or the record of the table at PLACE.
@lazy_template(apply_force, PLACE)
def _apply_here(forces, k, t, q, v, work, powers):
    table = forces.tables[PLACE]
    apply_force(table[k], forces, t, q, v, work.bodies, work.tau, powers, False, work.warnings[PLACE], k)


@template(apply_before, apply_force, PLACE)
def _apply_here_or_before(forces, place, k, t, q, v, work, powers):
    if place == PLACE:
        _apply_here(forces, k, t, q, v, work, powers)
    else:
        apply_before(forces, place, k, t, q, v, work, powers)


def _after(before: Any, element: ForceElement) -> Any:
    own = {"apply_force": element.apply_force, "PLACE": PLACES[element.name]}
    return bound_kernel(_apply_here_or_before, apply_before=before, **own)


apply_element: Any = reduce(_after, [element for element in ELEMENTS if element.acts_on_bodies], None)
"""`apply_element(forces, place, k, t, q, v, work, powers)`: apply record k of the table `place`, after `apply_forces`.

The element acts on bodies, to which it applies its wrenches.
"""
