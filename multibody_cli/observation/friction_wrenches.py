"""Wrenches of friction in the last step on its bodies: of combinations, of paths and at guides of ropes."""

from __future__ import annotations

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.observation.wrenches import load_wrench, store_wrench
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import shift_force
from multibody_cli.spatial.rotations import rotation_of_quaternion


@kernel
def add_friction(contact_work, rows, span, place, samples, k):
    """Add the wrenches of a friction on its bodies in the last step: entries `span` of `rows.targets`.

    Friction `place` is counted among those of joints, combinations, paths and guides of ropes.
    """
    step = contact_work.step
    row = step.rows[step.sizes[0].constraint_rows + PER_CONTACT * place + 1]
    if step.sizes[0].h == 0.0:
        return  # before the first step
    force = contact_work.joint_friction.previous_impulses[place, 1] / step.sizes[0].h
    for i in range(span[0], span[1]):
        for j in range(row.first_term, row.last_term):
            term = step.terms[j]
            if term.iv < 0 and term.body == rows.targets[i]:
                number = rows.numbers[rows.targets[i]]
                x = samples.quaternion[k, number]
                r = rotation_of_quaternion(x[0], x[1], x[2], x[3]) @ load(rows.offsets[i].r)
                own = shift_force(force * load_force(term), r)
                store_wrench(samples.wrench[k, i], load_wrench(samples.wrench[k, i]) + own)
