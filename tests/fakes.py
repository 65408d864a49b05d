"""Runs that no method has computed: small arrays with known contents."""

from __future__ import annotations

import numpy as np

from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.model import Account, JointEntry, Names
from multibody_cli.output.sink import Header, block_rows
from multibody_cli.samples import Samples

ANGLE, LENGTH = Coordinate.ANGLE, Coordinate.LENGTH


def names_of(joints=(("hinge", (ANGLE,)),), bodies=("arm", "hand"), accounts=(), contacts=0):
    entries, column = [], 0
    for row, (name, coordinates) in enumerate(joints):
        columns = slice(column, column + len(coordinates))
        entries.append(JointEntry(name, "any", tuple(coordinates), columns, columns, row + 1))
        column += len(coordinates)
    words = tuple(f"joint {entry.name}" for entry in entries for _ in entry.coordinates)
    rows = np.arange(1, len(bodies) + 1)
    return Names(
        bodies=tuple(bodies),
        body_rows=rows,
        joints=tuple(entries),
        accounts=tuple(accounts),
        coordinates=words,
        rows=(),
        constraint_entries=(),
        contacts=contacts,
    )


RICH = names_of(
    joints=(("hinge", (ANGLE,)), ("weld", ()), ("bolt10", (ANGLE, LENGTH)), ("bolt9", (LENGTH,))),
    accounts=(
        Account("work", "joints/hinge/force"),
        Account("work", "forces/wind"),
        Account("dissipation", "joints/hinge/damping"),
    ),
)
TOUCHING = names_of(contacts=7)
CROWD = names_of(contacts=200)
"""Several chunks of contacts within a block."""


def samples_of(names, time, seed=0):
    """Random samples with unit quaternions of random sign, and integers among the iterations.

    All places of contacts are full of numbers, though at most instants not all of them are contacts.
    """
    generator = np.random.default_rng(seed)
    rows, bodies, joints = len(time), len(names.bodies), len(names.joints)
    n_dofs = sum(len(joint.coordinates) for joint in names.joints)
    shapes = {
        **dict.fromkeys(("coordinates", "velocity", "acceleration"), (n_dofs,)),
        "reaction": (joints, 6),
        **dict.fromkeys(("spring_length", "spring_force"), (len(names.springs),)),
        **dict.fromkeys(("muscle_length", "muscle_velocity", "muscle_force", "activation"), (len(names.muscles),)),
        "moment_arm": (sum(len(muscle.crossed) for muscle in names.muscles),),
        "joint_friction": (len(names.friction_joints), 6),
        "constraint_error": (joints,),
        **dict.fromkeys(
            ("multiplier", "row_error"), (sum(e.rows.stop - e.rows.start for e in names.constraint_entries),)
        ),
        **dict.fromkeys(("position", "linear_velocity", "angular_velocity"), (bodies, 3)),
        "quaternion": (bodies, 4),
        "deformation": (len(names.affine), 9),
        **dict.fromkeys(("kinetic", "potential", "elastic", "residual"), ()),
        "accounts": (len(names.accounts),),
        **dict.fromkeys(("linear_momentum", "angular_momentum"), (3,)),
    }
    arrays = {name: generator.standard_normal((rows, *shape)) for name, shape in shapes.items()}
    arrays["quaternion"] /= np.linalg.norm(arrays["quaternion"], axis=2, keepdims=True)
    arrays["iterations"] = generator.integers(0, 9, rows)
    arrays |= contacts_of(names, rows, generator)
    for name, shape in {"residual_impulse": (), "modified_energy": (), "discrete_momentum": (6,)}.items():
        arrays[name] = generator.standard_normal((rows, *shape))
    for name in ("step_subdivisions", "fallbacks"):
        arrays[name] = generator.integers(0, 9, rows)
    return Samples(time=np.asarray(time, float), **arrays)


def contacts_of(names, rows, generator):
    room = names.contacts
    normal = generator.standard_normal((rows, room, 3))
    return {
        "contact_count": generator.integers(0, room + 1, rows),
        "contact_bodies": generator.integers(-1, len(names.bodies), (rows, room, 2)),
        "contact_point": generator.standard_normal((rows, room, 3)),
        "contact_normal": normal / np.linalg.norm(normal, axis=2, keepdims=True),
        "contact_gap": generator.standard_normal((rows, room)),
        "contact_impulse": generator.standard_normal((rows, room, 4)),
        "contact_mode": generator.integers(0, 3, (rows, room)),
        "creep": generator.standard_normal(rows) ** 2,
        "contact_residual": 1e-12 * generator.standard_normal(rows) ** 2,
        "contacts_unsolved": generator.integers(0, 3, rows),
    }


def header_of(names, rows=11, **changes):
    values = {
        "names": names,
        "com": np.arange(3.0 * len(names.bodies)).reshape(-1, 3),
        "method": "aba",
        "integrator": "rk4",
        "step": 1e-3,
        "duration": 0.1,
        "scene_yaml": "mbsim: 1\nname: Pöndel\n",
        "scene_sha256": "0" * 64,
        "mbsim_version": "0.1.0",
        "options": {"b": 1, "a": [1.5]},
        "name": "test",
        "block_rows": block_rows(rows, names),
    }
    return Header(**(values | changes))


def part_of(samples, start, stop):
    return Samples(*(column[start:stop] for column in samples))


def record(sink, names, samples, outcome, blocks=None, **changes):
    """Hand a whole run to a sink, in blocks of the given size, in arrays that are reused as a run does."""
    rows = len(samples.time)
    header = header_of(names, max(rows, 1), **changes)
    size = blocks or header.block_rows
    room = Samples(*(np.empty((size, *column.shape[1:]), column.dtype) for column in samples))
    sink.open(header)
    for start in range(0, rows, size):
        count = min(size, rows - start)
        for mine, column in zip(room, samples, strict=True):
            mine[:count] = column[start : start + count]
        sink.write(room, count)
    sink.close(outcome)
