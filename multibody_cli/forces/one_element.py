"""The kernel that applies one force element alone, from which its wrenches on bodies follow."""

from __future__ import annotations

from functools import reduce
from typing import Any

from multibody_cli.forces.contract import ForceElement, apply_force
from multibody_cli.forces.elements import ELEMENTS, PLACE, PLACES, before
from multibody_cli.kernel import bound_kernel, kernel, lazy_template, template


# The template applies an element before PLACE, or the record of the table at PLACE.
@lazy_template(apply_force, PLACE)
def _apply_here(forces, k, t, q, v, work, powers):
    table = forces.tables[PLACE]
    apply_force(table[k], forces, t, q, v, work.bodies, work.tau, powers, False, work.warnings[PLACE], k)


@template(before, apply_force, PLACE)
def _apply_here_or_before(forces, place, k, t, q, v, work, powers):
    if place == PLACE:
        _apply_here(forces, k, t, q, v, work, powers)
    else:
        before(forces, place, k, t, q, v, work, powers)


@kernel
def _apply_none(forces, place, k, t, q, v, work, powers):
    """Apply nothing."""


def _after(before: Any, element: ForceElement) -> Any:
    place = PLACES[element.name]
    return bound_kernel(_apply_here_or_before, before=before, apply_force=element.apply_force, PLACE=place)


apply_element: Any = reduce(_after, [element for element in ELEMENTS if element.acts_on_bodies], _apply_none)
"""`apply_element(forces, place, k, t, q, v, work, powers)`: apply record k of the table `place`, after `apply_forces`.

The element acts on bodies, to which it applies its wrenches.
"""
