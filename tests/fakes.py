"""Runs that no method has computed: small arrays with known contents."""

from __future__ import annotations

import numpy as np

from multibody_cli.joints.contract import Coordinate
from multibody_cli.model import Account, JointEntry, SceneNames
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.output.sink import Header, block_rows

ANGLE, LENGTH = Coordinate.ANGLE, Coordinate.LENGTH


def names_of(joints=(("hinge", (ANGLE,)),), bodies=("arm", "hand"), accounts=(), contacts=0):
    entries, column = [], 0
    for row, (name, coordinates) in enumerate(joints):
        columns = slice(column, column + len(coordinates))
        entries.append(JointEntry(name, "any", tuple(coordinates), columns, columns, row + 1))
        column += len(coordinates)
    words = tuple(f"joint {entry.name}" for entry in entries for _ in entry.coordinates)
    rows = np.arange(1, len(bodies) + 1)
    return SceneNames(
        bodies=tuple(bodies),
        body_rows=rows,
        joints=tuple(entries),
        accounts=tuple(accounts),
        coordinates=words,
        rows=(),
        constraint_entries=(),
        contacts=contacts,
        resists_rolling=contacts > 0,
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
    samples = samples_for(names, len(time))
    samples = samples._replace(time=np.asarray(time, float))
    for name, column in samples._asdict().items():
        if column.dtype.kind == "i":
            column[:] = generator.integers(0, LARGEST.get(name, 8) + 1, column.shape)
        elif name != "time":
            column[:] = generator.standard_normal(column.shape)
    samples.contact_count[:] = generator.integers(0, names.contacts + 1, len(time))
    for bodies in (samples.contact_body_a, samples.contact_body_b):
        bodies[:] = generator.integers(-1, len(names.bodies), bodies.shape)
    for unit in (samples.quaternion, samples.contact_normal):
        unit /= np.linalg.norm(unit, axis=2, keepdims=True)
    samples.contact_residual[:] *= 1e-12 * samples.contact_residual
    samples.creep[:] *= samples.creep
    return samples


LARGEST = {"contact_mode": 2, "contacts_unsolved": 2}
"""Largest value of integers."""


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


class NullSink:
    """Sink that discards all output."""

    accepts_partial_blocks = True

    def open(self, header):
        """Begin a run."""

    def write(self, samples, count):
        """Discard a block."""

    def close(self, outcome):
        """End the run."""


def part_of(samples, start, stop):
    return Samples(*(column[start:stop] for column in samples))


def record(sink, names, samples, outcome, blocks=None, **changes):
    """Hand a whole run to a sink, in blocks of the given size, in two sets of arrays that take turns as in a run."""
    rows = len(samples.time)
    header = header_of(names, max(rows, 1), **changes)
    size = blocks or header.block_rows
    block, other = (Samples(*(np.empty((size, *one.shape[1:]), one.dtype) for one in samples)) for _ in range(2))
    sink.open(header)
    for start in range(0, rows, size):
        count = min(size, rows - start)
        for mine, column in zip(block, samples, strict=True):
            mine[:count] = column[start : start + count]
        sink.write(block, count)
        block, other = other, block
    sink.close(outcome)
