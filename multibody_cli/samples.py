"""Arrays of output quantities, one row for each output instant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.model import Floats, Integers, Model


class Samples(NamedTuple):
    """Output quantities at K output instants; `observation.state` fills one row at a time.

    Bodies: world frame, at the origin of the body frame.  Joints: reported coordinates (rotations as rotation vectors);
    reactions are wrenches [moment; force] of the parent on the child in joint frame M.  Contacts: world frame, normal
    from body A to body B, impulses on B; the first `contact_count` of C entries are valid.
    """

    time: Floats  # (K,)
    coordinates: Floats  # (K, nv)
    velocity: Floats  # (K, nv)
    acceleration: Floats  # (K, nv)
    reaction: Floats  # (K, nj, 6)
    joint_friction: Floats  # (K, nr, 6) dry-friction part of the reaction, joints with friction only
    constraint_error: Floats  # (K, nj)
    multiplier: Floats  # (K, me) of the rows of couplings, constraints and limits
    row_error: Floats  # (K, me)
    position: Floats  # (K, nb, 3)
    quaternion: Floats  # (K, nb, 4)
    linear_velocity: Floats  # (K, nb, 3)
    angular_velocity: Floats  # (K, nb, 3)
    deformation: Floats  # (K, n, 9) of affine bodies, row-major
    kinetic: Floats  # (K,)
    potential: Floats  # (K,)
    elastic: Floats  # (K,)
    spring_length: Floats  # (K, ns) m
    spring_force: Floats  # (K, ns) tension, N
    muscle_length: Floats  # (K, nm) of the path, m
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
    contact_bodies: Integers  # (K, C, 2) A and B: indices in `Names.bodies`, -1 for the world
    contact_point: Floats  # (K, C, 3) m
    contact_normal: Floats  # (K, C, 3) from A to B
    contact_gap: Floats  # (K, C) m
    contact_impulse: Floats  # (K, C, 4) normal component and tangential vector, N s, of the last step
    contact_mode: Integers  # (K, C) 0 open, 1 stick, 2 slip
    creep: Floats  # (K,) largest tangential speed of a sticking contact, m/s
    contact_residual: Floats  # (K,) largest, relative to the impulses
    contacts_unsolved: Integers  # (K,) steps with unconverged contacts since the last output
    residual_impulse: Floats  # (K,) variational methods: largest residual of the discrete equations, N s and N m s
    step_subdivisions: Integers  # (K,) since the last output
    fallbacks: Integers  # (K,) steps that needed the fallback solver, since the last output
    modified_energy: Floats  # (K,) J
    discrete_momentum: Floats  # (K, 6) linear, and angular about the world origin


def samples_for(model: Model, count: int) -> Samples:
    """Allocate samples for `count` output instants."""
    bodies, joints, accounts = len(model.names.bodies), len(model.names.joints), len(model.names.accounts)
    muscles = len(model.names.muscles)
    rows, contacts = len(model.system.rows) - len(model.system.tree.constraint_axes), model.names.contacts
    return Samples(
        time=np.zeros(count),
        coordinates=np.zeros((count, model.nv)),
        velocity=np.zeros((count, model.nv)),
        acceleration=np.zeros((count, model.nv)),
        reaction=np.zeros((count, joints, 6)),
        joint_friction=np.zeros((count, len(model.names.friction_joints), 6)),
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
        residual_impulse=np.zeros(count),
        step_subdivisions=np.zeros(count, dtype=np.int64),
        fallbacks=np.zeros(count, dtype=np.int64),
        modified_energy=np.zeros(count),
        discrete_momentum=np.zeros((count, 6)),
    )
