"""Constraints as nodes of the elimination tree of `baraff`, in trees and where cycles close."""

from __future__ import annotations

import numpy as np
import pytest
from constraint_rows import ON_ONE_BODY, PAIRWISE, Rows, rows_between
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from loops import (
    accelerations_of,
    close_loops,
    joint_kinds,
    oracle_of,
    random_body,
    random_joint,
    random_pose,
    set_rates,
    start,
)

from multibody_cli.constraints.rolling import tangents_of

JOINTS = tuple(kind for kind in joint_kinds() if kind not in ("free", "spherical_exponential"))
"""Joints with rows."""


def placed(rng):
    """A random body at a random place."""
    pose = random_pose(rng)
    return {**random_body(rng), "position": pose["position"], "rotation": pose["rotation"]}


@st.composite
def graphs(draw, closing=False):
    """Bodies, and edges of all kinds without a cycle, in any order; with `closing`, more edges that close cycles."""
    count = draw(st.integers(1, 6))
    bodies = [f"b{k}" for k in range(count)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = st.sampled_from((*JOINTS, *PAIRWISE, *PAIRWISE, *ON_ONE_BODY))
    edges = []
    for k, body in enumerate(bodies):  # the ground counts as a body, and takes part in one edge of each tree at most
        kind = draw(kinds)
        other = "world" if k == 0 or kind in ON_ONE_BODY else str(rng.choice(bodies[:k]))
        edges.append((kind, body, other))
    grounded = [k for k, (_, _, other) in enumerate(edges) if other == "world"]
    for k in grounded[1:]:  # one pin for each tree: drop further ones of the same tree
        assume(not connected(edges[:k], edges[k][1], "world"))
    floating = draw(st.booleans()) and edges[0][0] not in JOINTS
    edges = edges[1:] if floating else edges
    edges = draw(st.permutations(edges))
    extra = []
    for _ in range(draw(st.integers(1, 2)) if closing else 0):
        body = draw(st.sampled_from(bodies))
        other = draw(st.sampled_from([name for name in ("world", *bodies) if name != body]))
        assume(connected(edges, body, other))
        extra.append((draw(st.sampled_from(PAIRWISE)), body, other))
    return rng, bodies, edges, extra


def connected(edges, a, b):
    """Whether two bodies are connected by edges."""
    reached = {a}
    for _ in edges:
        for _, one, other in edges:
            if one in reached or other in reached:
                reached |= {one, other}
    return b in reached


def scene_of(rng, bodies, edges):
    """A scene in which all edges hold, with rates that they allow, and the constraints as rows of the oracle."""
    scene = {"gravity": rng.normal(size=3).tolist(), "bodies": {name: placed(rng) for name in bodies}, "joints": {}}
    for k, (kind, body, other) in enumerate(edges):
        if kind in JOINTS:
            scene["joints"][f"j{k}"] = random_joint(rng, kind, other, body)
            for field in ("position", "rotation"):
                scene["bodies"][body].pop(field, None)
    close_loops(scene)
    poses = oracle_of(start(scene))[0].poses
    scene["constraints"], extra = {}, []
    for k, (kind, body, other) in enumerate(edges):
        if kind not in JOINTS:
            fields = rows_between(rng, kind, body, other, poses)
            scene["constraints"][f"c{k}"] = {"type": kind, **fields}
            extra.append(Rows(kind, fields))
    set_rates(rng, scene, {}, extra)
    return scene, extra


def auxiliary_rows(run):
    """The elements whose rows are not primary."""
    named = zip(run.method.work.rows, run.compiled.model.names.rows, strict=True)
    return {name.element for row, name in named if not row["primary"]}


def elements_in_loops(run):
    """The elements whose rows are nodes where a loop closes."""
    names = run.compiled.model.names.rows
    return {names[r].element for r in run.method.work.elimination.rows}


def in_world_axes(run, name):
    """The multipliers of a constraint; those of a rolling body as the force at the contact."""
    spec, found = run.loaded.scene.constraints[name], run.multipliers(name)
    if spec.type != "rolling":
        return found
    return np.array([spec.plane.normal, *tangents_of(spec.plane.normal)]).T @ found


def require_oracle(run, extra, constraints):
    """Accelerations are those of the dense formulation, and multipliers of constraints where these are unique."""
    loops, v = oracle_of(run, extra)
    expected = loops.solve(v, {})
    assume(expected.is_sharp)
    size = 1.0 + np.abs(expected.a).max()
    assert np.abs(accelerations_of(run, loops) - expected.a).max() / size < 1e-9
    if np.abs(expected.free[:, loops.size + 6 * len(loops.hinges) :]).max(initial=0.0) > 1e-9:
        return loops
    found = np.concatenate([in_world_axes(run, name) for name in constraints]) if constraints else np.zeros(0)
    others = expected.multipliers[6 * len(loops.hinges) :]
    assert np.abs(found - others).max(initial=0.0) / (1.0 + np.abs(others).max(initial=0.0)) < 1e-8
    return loops


@settings(max_examples=60)
@given(graphs())
def test_random_forests_have_no_auxiliary_rows(graph):
    rng, bodies, edges, _ = graph
    scene, extra = scene_of(rng, bodies, edges)
    run = start(scene, "baraff")
    assert not auxiliary_rows(run)
    require_oracle(run, extra, scene["constraints"])


@settings(max_examples=40)
@given(graphs(closing=True))
def test_constraints_that_close_cycles_are_eliminated_there(graph):
    rng, bodies, edges, closing = graph
    scene, extra = scene_of(rng, bodies, [*edges, *closing])
    run = start(scene, "baraff")
    assert elements_in_loops(run) == {f"c{k}" for k in range(len(edges), len(edges) + len(closing))}
    require_oracle(run, extra, scene["constraints"])


@settings(max_examples=15)
@given(graphs(closing=True), st.sampled_from(["aba", "redmax"]))
def test_motions_and_ledgers_are_those_of_joint_coordinates(graph, method):
    """Bodies without joints have the same coordinates, and so the same steps, with every method."""
    rng, bodies, edges, closing = graph
    edges = [edge for edge in [*edges, *closing] if edge[0] not in JOINTS]
    scene, _ = scene_of(rng, bodies, edges)
    runs = [start(scene, name, "rk4", step=1e-4) for name in ("baraff", method)]
    began = [run.energy() for run in runs]
    for run in runs:
        run.advance(2e-3)
    for channel in ("position", "linear_velocity", "angular_velocity"):
        a, b = (getattr(run.observed(), channel) for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    for run, (total, left) in zip(runs, began, strict=True):
        assert abs(run.energy()[1] - left) < 1e-6 * (1.0 + abs(total))


# --- rows whose independence depends on the position --------------------------------------------------------------
def hung_from_a_planar_body(offset, order):
    """A rigid body on a rod below a planar body, horizontally apart by `offset`."""
    length = float(np.hypot(1.0, offset))
    bodies = {
        "sledge": {"kind": "planar", "mass": 2.0, "inertia": {"principal": [0.1, 0.1, 0.2]}},
        "load": {
            "mass": 1.0,
            "inertia": {"principal": [0.1, 0.2, 0.3]},
            "position": [offset, 0, -1],
            "velocity": {"linear": [0.0, 0.3, 0.0]},
        },
    }
    rod = {"type": "distance", "between": [{"body": "sledge"}, {"body": "load"}], "length": length}
    return {"bodies": {name: bodies[name] for name in order}, "constraints": {"rod": rod}}


@pytest.mark.parametrize("order", [("sledge", "load"), ("load", "sledge")])
@pytest.mark.parametrize("offset", [0.0, 1e-9, 1e-4, 0.3])
def test_a_rod_that_is_normal_to_the_plane_of_a_planar_body(offset, order):
    """The sledge does not feel it there: the row is a node where the load is eliminated first, or else auxiliary."""
    scene = hung_from_a_planar_body(offset, order)
    run, other = start(scene, "baraff"), start(scene, "aba")
    is_left_out = order[0] == "load" and offset < 1e-3
    assert auxiliary_rows(run) == ({"rod"} if is_left_out else set())
    for _ in range(2):
        np.testing.assert_allclose(run.multipliers("rod"), other.multipliers("rod"), rtol=1e-9)
        for name in order:
            for channel in ("position", "linear_velocity"):
                np.testing.assert_allclose(run.body(name, channel), other.body(name, channel), atol=1e-9)
        run.advance(0.2), other.advance(0.2)


@pytest.mark.parametrize("place", [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
def test_positions_are_corrected_across_nonholonomic_rows(place):
    """A rod along which a knife edge allows no velocity is corrected too: positions may move across the edge."""
    bodies = {"skate": {"mass": 1.0, "inertia": {"principal": [0.1, 0.2, 0.3]}, "position": place}}
    rod = {"type": "distance", "between": [{"body": "world"}, {"body": "skate"}], "length": 1.0}
    edge = {"type": "knife_edge", "body": "skate", "edge": [1, 0, 0]}
    scene = {"gravity": [0, 0, 0], "bodies": bodies, "constraints": {"edge": edge, "rod": rod}}
    run = start(scene, "baraff")
    assert elements_in_loops(run) == {"rod"}
    system, work, s = run.compiled.model.system, run.method.work, run.state
    for apart in (1e-15, 1e-14, 1e-9, 1e-3):
        s.q[:3] = (1.0 + apart) * np.array(place)
        s.v[1] = 5e-14
        run.method.dynamics.project_onto_constraints(system, work, 0.0, s.q, s.v, s.a, s.ledger)
        assert abs(np.linalg.norm(s.q[:3]) - 1.0) < 1e-13
        assert np.abs(s.v[:3]).max() < 1e-15
