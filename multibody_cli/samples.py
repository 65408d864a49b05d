"""Samples: what a run shows at its output instants, as columns of the result file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.model import Floats, Integers, Model


class Samples(NamedTuple):
    """K output instants, as columns of the result file; filled row by row by `observation.state`.

    Bodies: world frame, of the body frame's origin.  Joints: coordinates as reported (rotations as rotation
    vectors); reactions are [moment; force] of the parent on the child in the joint frame M.  Contacts: world frame,
    from body A to body B and acting on B; of the C places at an instant the first `contact_count` are filled, and
    what stands in the others means nothing.
    """

    time: Floats  # (K,)
    coordinates: Floats  # (K, nv)
    velocity: Floats  # (K, nv)
    acceleration: Floats  # (K, nv)
    reaction: Floats  # (K, nj, 6)
    rubbing: Floats  # (K, nr, 6) the part of it that is dry friction, of the joints that rub
    constraint_error: Floats  # (K, nj)
    multiplier: Floats  # (K, me) of the rows of couplings, constraints and limits
    row_error: Floats  # (K, me)
    position: Floats  # (K, nb, 3)
    quaternion: Floats  # (K, nb, 4)
    linear_velocity: Floats  # (K, nb, 3)
    angular_velocity: Floats  # (K, nb, 3)
    deformation: Floats  # (K, n, 9) of affine bodies, row by row
    kinetic: Floats  # (K,)
    potential: Floats  # (K,)
    elastic: Floats  # (K,)
    spring_length: Floats  # (K, ns) m
    spring_force: Floats  # (K, ns) tension, N
    muscle_length: Floats  # (K, nm) of the whole path, m
    muscle_velocity: Floats  # (K, nm) its rate, m/s
    muscle_force: Floats  # (K, nm) tension, N
    activation: Floats  # (K, nm)
    moment_arm: Floats  # (K, n) of all muscles, m or 1
    accounts: Floats  # (K, na)
    linear_momentum: Floats  # (K, 3)
    angular_momentum: Floats  # (K, 3)
    iterations: Integers  # (K,)
    residual: Floats  # (K,)
    contact_count: Integers  # (K,)
    contact_bodies: Integers  # (K, C, 2) A and B: places in `Names.bodies`, -1 for the world
    contact_point: Floats  # (K, C, 3) m
    contact_normal: Floats  # (K, C, 3) from A to B
    contact_gap: Floats  # (K, C) m
    contact_impulse: Floats  # (K, C, 4) along the normal, and the tangential vector, N s, of the step that ended here
    contact_mode: Integers  # (K, C) 0 open, 1 stick, 2 slip
    creep: Floats  # (K,) largest tangential speed of a sticking contact, m/s
    contact_residual: Floats  # (K,) of the impulses, relative
    contacts_unsolved: Integers  # (K,) steps whose contacts do not meet their tolerance, since the instant before
    imbalance: Floats  # (K,) of variational methods: residual impulse of the discrete equations, N s and N m s
    halvings: Integers  # (K,) searches for the end of a step that were cut in halves, since the instant before
    fallbacks: Integers  # (K,) searches that another root finder took up
    modified_energy: Floats  # (K,) J
    discrete_momentum: Floats  # (K, 6) linear, and angular about the world's origin


def samples_for(model: Model, count: int) -> Samples:
    """Allocate room for `count` output instants."""
    bodies, joints, accounts = len(model.names.bodies), len(model.names.joints), len(model.names.accounts)
    muscles = len(model.names.muscles)
    rows, contacts = len(model.system.rows) - len(model.system.tree.locks), model.names.contacts
    return Samples(
        time=np.zeros(count),
        coordinates=np.zeros((count, model.nv)),
        velocity=np.zeros((count, model.nv)),
        acceleration=np.zeros((count, model.nv)),
        reaction=np.zeros((count, joints, 6)),
        rubbing=np.zeros((count, len(model.names.rubbing), 6)),
        constraint_error=np.zeros((count, joints)),
        multiplier=np.zeros((count, rows)),
        row_error=np.zeros((count, rows)),
        position=np.zeros((count, bodies, 3)),
        quaternion=np.zeros((count, bodies, 4)),
        linear_velocity=np.zeros((count, bodies, 3)),
        angular_velocity=np.zeros((count, bodies, 3)),
        deformation=np.zeros((count, len(model.names.affine), 9)),
        kinetic=np.zeros(count),
        potential=np.zeros(count),
        elastic=np.zeros(count),
        spring_length=np.zeros((count, len(model.names.springs))),
        spring_force=np.zeros((count, len(model.names.springs))),
        muscle_length=np.zeros((count, muscles)),
        muscle_velocity=np.zeros((count, muscles)),
        muscle_force=np.zeros((count, muscles)),
        activation=np.zeros((count, muscles)),
        moment_arm=np.zeros((count, len(model.system.arms))),
        accounts=np.zeros((count, accounts)),
        linear_momentum=np.zeros((count, 3)),
        angular_momentum=np.zeros((count, 3)),
        iterations=np.zeros(count, dtype=np.int64),
        residual=np.zeros(count),
        contact_count=np.zeros(count, dtype=np.int64),
        contact_bodies=np.zeros((count, contacts, 2), dtype=np.int64),
        contact_point=np.zeros((count, contacts, 3)),
        contact_normal=np.zeros((count, contacts, 3)),
        contact_gap=np.zeros((count, contacts)),
        contact_impulse=np.zeros((count, contacts, 4)),
        contact_mode=np.zeros((count, contacts), dtype=np.int64),
        creep=np.zeros(count),
        contact_residual=np.zeros(count),
        contacts_unsolved=np.zeros(count, dtype=np.int64),
        imbalance=np.zeros(count),
        halvings=np.zeros(count, dtype=np.int64),
        fallbacks=np.zeros(count, dtype=np.int64),
        modified_energy=np.zeros(count),
        discrete_momentum=np.zeros((count, 6)),
    )
