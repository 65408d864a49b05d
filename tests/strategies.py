"""Hypothesis strategies: random mechanisms in random states.

Hypothesis chooses the data that decide the path through the code (topology, joints, frames, prescribed coordinates,
forces) and shrinks these; the numbers come from a generator whose seed it draws.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from machines import JointForces, Machine, constant, expression, n_dofs, tree_link
from shapes import IN_TREES
from shapes import RUNS as SHAPES

from multibody_cli.forces.body_drag import DragSpec
from multibody_cli.forces.body_load import LoadSpec
from multibody_cli.joints.contract import (
    Part,
    PartCode,
    ball,
    exponential_ball,
    floating,
    offset,
    screwing,
    sliding,
    turning,
)
from multibody_cli.scene.body_kinds import IN_PLACE, Placement

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
OBLIQUE = (2 / 3, -1 / 3, 2 / 3)

axes = st.sampled_from([Z, Y, X, OBLIQUE, (0.0, 0.0, -1.0)])
single_screws = st.one_of(axes.map(turning), axes.map(sliding), st.builds(screwing, axes, st.sampled_from([0.1, -0.4])))


def line_of(part: Part) -> tuple[float, ...]:
    """The line of a screw's axis without its sense: two screws on one line could cancel each other."""
    return tuple(abs(t) or abs(s) for t, s in zip(part.turn, part.slide, strict=True))


runs_of_parts = st.one_of(
    st.tuples(single_screws),
    st.just((ball(),)),
    st.just((exponential_ball(),)),
    st.just((floating(),)),
    st.just(()),
    st.just((turning(X), turning(Y))),  # universal
    st.just((turning(X), turning(Z), turning(X))),  # XZX angles
    st.just((sliding(X), sliding(Y), turning(Z))),  # free in a plane
    st.just((ball(), sliding(Z))),  # a telescope on a ball
    st.just((sliding(OBLIQUE), ball())),
    st.just((offset(OBLIQUE), turning(X), offset((0.3, -0.2, 0.1)), turning(Z), offset((-0.9, 0.5, -0.7)))),
    st.just((offset((0.2, 0.4, -0.3)), ball(), offset((0.0, 0.5, 0.0)), turning(OBLIQUE))),
    st.lists(single_screws, min_size=2, max_size=3, unique_by=lambda part: line_of(part)).map(tuple),
    st.sampled_from([SHAPES[name] for name in IN_TREES]),
)
"""Every part, every joint of the catalogue, and mixtures that only tests use."""


@st.composite
def machines(
    draw,
    max_bodies: int = 8,
    driven: bool = True,
    loaded: bool = True,
    gravity: bool = True,
    runs=runs_of_parts,
) -> Machine:
    """Trees with branches and chains, in any state, with all kinds of forces."""
    count = draw(st.integers(1, max_bodies))
    chosen = [draw(runs) for _ in range(count)]
    parents = [draw(st.integers(0, row - 1) | st.just(row - 1)) for row in range(1, count + 1)]
    plain = [draw(st.booleans()) for _ in range(count)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = range(1, count + 1)
    tree_links = [
        random_link(rng, row, parent, parts, simple)
        for row, parent, parts, simple in zip(rows, parents, chosen, plain, strict=True)
    ]
    machine = Machine(tree_links, tuple(rng.normal(size=3) * 5) if gravity else (0.0, 0.0, 0.0))
    if driven:
        moved = draw(st.sets(st.sampled_from(rows), max_size=3))
        machine.joint_forces.update(
            {row: JointForces(motion=draw(motions(chosen[row - 1]))) for row in sorted(moved) if chosen[row - 1]}
        )
    if loaded:
        for row in sorted(draw(st.sets(st.sampled_from(rows), max_size=4))):
            if chosen[row - 1]:
                machine.joint_forces[row] = draw(
                    joint_forces(rng, chosen[row - 1], machine.joint_forces.get(row, JointForces()))
                )
        load_rows = draw(st.lists(st.sampled_from(rows), max_size=3))
        drag_rows = draw(st.lists(st.sampled_from(rows), max_size=2))
        loads = [(row, random_load(rng)) for row in load_rows]
        drags = [
            (row, DragSpec(body="b", viscous={"linear": rng.random(), "angular": rng.random()})) for row in drag_rows
        ]
        machine = Machine(tree_links, machine.gravity, machine.joint_forces, loads, drags)
    return machine


@st.composite
def motions(draw, parts):
    """A derivative and one signal or None for each coordinate, at least one of them given."""
    count = n_dofs(parts)
    chosen = draw(st.lists(st.booleans(), min_size=count, max_size=count).filter(any))
    rotates = any(part.code != PartCode.SCREW for part in parts)
    given = draw(st.sampled_from(["velocity", "acceleration"] if rotates else ["position", "velocity", "acceleration"]))
    texts = [f"{0.3 * (k + 1)}*sin({k + 1}*t + 0.4) + 0.2" for k in range(count)]
    return given, [expression(text) if yes else None for text, yes in zip(texts, chosen, strict=True)]


@st.composite
def joint_forces(draw, rng, parts, already: JointForces) -> JointForces:
    """Springs, dampers, actuators and drives of one joint."""
    count = n_dofs(parts)
    stiffness = tuple(rng.random(count) * 20) if draw(st.booleans()) else None
    damping = tuple(rng.random(count) * 2) if draw(st.booleans()) else None
    armature = tuple(rng.random(count) * (rng.random(count) < 0.7)) if draw(st.booleans()) else None
    force = tuple(constant(f) for f in rng.normal(size=count)) if draw(st.booleans()) else None
    return JointForces(stiffness, damping, armature, force, already.motion)


def random_link(rng, row: int, parent: int, parts: tuple[Part, ...], simple: bool):
    """`simple`: no rotated frames, principal inertia, a pure translation to the joint."""
    q, v = random_state(rng, parts)
    rest, _ = random_state(rng, parts)
    moments = rng.random(3) + 0.5
    moments = 0.1 * (moments.sum() - moments)  # any that a body can have
    if simple:
        origin, child_origin, inertia = Placement(rng.normal(size=3), np.eye(3)), IN_PLACE, np.diag(moments)
    else:
        origin, child_origin, R = random_placement(rng), random_placement(rng), random_rotation(rng)
        inertia = R @ np.diag(moments) @ R.T
    return tree_link(
        row,
        parent,
        parts,
        q,
        v,
        mass=0.5 + 2 * rng.random(),
        com=rng.normal(size=3) * 0.3,
        inertia=inertia,
        origin=origin,
        child_origin=child_origin,
        rest=rest,
    )


def random_state(rng, parts) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Numbers q and v of a run of parts; rotation vectors within a half turn."""
    q: list[float] = []
    for part in parts:
        if part.code == PartCode.BALL:
            q += [*random_quaternion(rng)]
        elif part.code == PartCode.FREE:
            q += [*rng.normal(size=3), *random_quaternion(rng)]
        elif part.code == PartCode.EXPONENTIAL:
            u = rng.normal(size=3)
            q += [*(u / np.linalg.norm(u) * rng.random() * 3.1)]
        elif part.code == PartCode.GENERATED:
            q += [*(np.array(part.regular_coordinates) + rng.uniform(-0.25, 0.25, part.nv))]
        else:
            q += [*rng.normal(size=part.nv)]
    return tuple(map(float, q)), tuple(map(float, rng.normal(size=n_dofs(parts))))


def random_quaternion(rng) -> np.ndarray:
    x = rng.normal(size=4)
    return x / np.linalg.norm(x)


def random_rotation(rng) -> np.ndarray:
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


def random_placement(rng) -> Placement:
    return Placement(rng.normal(size=3), random_rotation(rng))


def random_load(rng) -> LoadSpec:
    force, torque = ([float(x) for x in rng.normal(size=3)] for _ in range(2))
    point = [float(x) for x in rng.normal(size=3)]
    frame = "body" if rng.random() < 0.5 else "world"
    return LoadSpec(body="b", point=point, force=force, torque=torque, frame=frame)
