"""Strands: masses and springs that are attached to bodies."""

from __future__ import annotations

import numpy as np
import pytest
from loops import loaded, start

from multibody_cli.compile import compile_scene

BLOCK = {"mass": 2.0, "inertia": {"principal": [1.0, 1.2, 1.5]}}
NODES = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.1], [0.6, 0.1, 0.0], [1.0, 0.0, 0.0]]
SCENE = {
    "bodies": {"a": BLOCK, "b": BLOCK | {"position": [1.0, 0.0, 0.0]}},
    "strands": {"s": {"nodes": NODES, "mass": 0.4, "stiffness": 300, "attach": {0: {"body": "a"}, 3: {"body": "b"}}}},
}


def test_attached_nodes_add_their_mass_to_the_bodies():
    """Two nodes are free points, two are part of the blocks; all of the mass falls with the same acceleration."""
    scene = {**SCENE, "bodies": {"a": BLOCK, "b": BLOCK | {"position": [0.5, 0.0, 0.0]}}}
    attach = {0: {"body": "a"}, 3: {"body": "b", "point": [0.5, 0.0, 0.0]}}
    compiled = compile_scene(loaded({**scene, "strands": {"s": SCENE["strands"]["s"] | {"attach": attach}}}))
    masses = compiled.masses
    assert set(masses) == {"a", "b", "s-1", "s-2"}
    assert masses["s-1"].mass == pytest.approx(0.1)
    assert masses["b"].mass == pytest.approx(2.1)
    np.testing.assert_allclose(masses["b"].com, [0.05 / 2.1, 0.0, 0.0])
    reduced = 2.0 * 0.1 / 2.1  # of two masses half a meter apart
    np.testing.assert_allclose(
        np.diag(masses["b"].inertia), np.array([1.0, 1.2, 1.5]) + reduced * 0.25 * np.array([0, 1, 1])
    )


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff", "variational", "variational_maximal"])
def test_a_strand_between_floating_blocks_keeps_energy_and_momentum(method):
    thrown = {
        name: body | {"velocity": {"linear": [0, 0, float(k)]}}
        for k, (name, body) in enumerate(SCENE["bodies"].items())
    }
    run = start({**SCENE, "bodies": thrown, "gravity": [0, 0, 0]}, method, step=1e-3, duration=1.0)
    before, first = run.energy()[0], run.observed()
    run.advance(0.05)
    last = run.observed()
    assert run.energy()[0] == pytest.approx(before, abs=2e-5)
    np.testing.assert_allclose(last.linear_momentum, first.linear_momentum, atol=1e-9)
    np.testing.assert_allclose(last.angular_momentum, first.angular_momentum, atol=1e-9)
    assert last.elastic[0] > 1e-5
    assert first.elastic[0] == pytest.approx(0.0, abs=1e-25)


def test_each_body_has_the_mass_of_its_attached_nodes():
    masses = compile_scene(loaded(SCENE)).masses
    assert [masses[name].mass for name in "ab"] == [pytest.approx(2.1), pytest.approx(2.1)]


def test_attached_nodes_rotate_with_their_body():
    """A quarter turn about z takes the point [0, -0.2, 0] of the body to [0.2, 0, 0]."""
    turned = BLOCK | {"position": [-0.2, 0, 0], "rotation": {"axis": [0, 0, 1], "angle": "90 deg"}}
    strand = SCENE["strands"]["s"] | {"attach": {0: {"body": "a", "point": [0, -0.2, 0]}}}
    warnings = compile_scene(loaded({"bodies": {"a": turned}, "strands": {"s": strand}})).warnings
    assert not [words for words in warnings if "attached" in words]


def test_a_node_away_from_its_attachment_is_refused():
    moved = SCENE["strands"]["s"] | {"attach": {0: {"body": "a", "point": [0, 0, 0.25]}}}
    warnings = compile_scene(loaded({**SCENE, "strands": {"s": moved}})).warnings
    assert [words for words in warnings if "node 0 is attached at [0, 0, 0.25], 0.25 m from its position in" in words]
    assert not [words for words in compile_scene(loaded(SCENE)).warnings if "attached" in words]


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1.0, 1e6])
def test_the_warning_does_not_depend_on_the_size(size):
    block = {"mass": 2.0, "inertia": {"principal": [size**2] * 3}}
    for off, words in ((0.0, 0), (1e-3, 1)):
        ends = {0: {"body": "a", "point": [0, 0, off * size]}, 3: {"body": "world", "point": [size, 0, 0]}}
        strand = SCENE["strands"]["s"] | {"nodes": (size * np.array(NODES)).tolist(), "attach": ends}
        warnings = compile_scene(loaded({"bodies": {"a": block}, "strands": {"s": strand}})).warnings
        assert len([one for one in warnings if "node 0 is attached" in one]) == words


def test_segments_may_be_any_pairs():
    """Segments of a triangle whose first node is attached to the ground, with their generated names."""
    nodes = [[0.0, 0.0, 0.0], [0.5, 0.0, -0.5], [-0.5, 0.0, -0.5]]
    net = {
        "nodes": nodes,
        "mass": 0.3,
        "stiffness": 1e4,
        "segments": [[0, 1], [1, 2], [2, 0]],
        "attach": {0: {"body": "world"}},
    }
    run = start({"bodies": {"far": BLOCK}, "strands": {"n": net}}, step=1e-3, duration=1.0)
    names = run.compiled.model.names
    assert names.springs == ("n-0-1", "n-1-2", "n-2-0")
    assert names.bodies == ("far", "n-1", "n-2")
