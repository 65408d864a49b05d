"""The kernel that applies one force element alone, from which its wrenches on bodies follow."""

from __future__ import annotations

from typing import Any

from multibody_cli.forces.contract import apply_force
from multibody_cli.forces.elements import ELEMENTS, PLACE, over
from multibody_cli.kernel import kernel, lazy_template


@lazy_template(apply_force, PLACE)
def _apply_here(forces, place, k, t, q, v, work, powers):
    if place == PLACE:
        table = forces.tables[PLACE]
        apply_force(table[k], forces, t, q, v, work.bodies, work.tau, powers, False, work.warnings[PLACE], k)


_apply_in_its_table: Any = over("apply_force", _apply_here, [one for one in ELEMENTS if one.acts_on_bodies])


@kernel
def apply_element(forces, place, k, t, q, v, work, powers):
    """Apply record k of the table `place`, after `apply_forces`.

    The element acts on bodies, to which it applies its wrenches.
    """
    _apply_in_its_table(forces.tables, forces, place, k, t, q, v, work, powers)
