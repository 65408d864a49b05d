"""Topology of joints: bodies in closed loops, against their definition, and the inboard joints of rings.

Bodies in closed loops are those left when no body hangs on a single joint.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from loops import loaded
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from multibody_cli.joints.screws import RevoluteSpec
from multibody_cli.scene.topology import bodies_in_loops, inboard_joints

FOUR_BAR = [("world", "a"), ("a", "b"), ("b", "c"), ("world", "c")]


@pytest.mark.parametrize(
    ("edges", "looped"),
    [
        ([("world", "a"), ("a", "b"), ("b", "c")], ""),
        (FOUR_BAR, "abc"),
        ([*FOUR_BAR, ("b", "d"), ("d", "e")], "abc"),
        ([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")], "abc"),
        ([("world", "a"), ("world", "a"), ("a", "b")], "a"),
        ([("world", "d"), ("d", "a"), ("a", "b"), ("d", "b")], "abd"),
        ([("a", "b"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("d", "e")], "abcde"),
    ],
)
def test_bodies_in_loops_are_those_of_cycles_and_between_them(edges: list[tuple[str, str]], looped: str) -> None:
    assert _looped(edges) == looped


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_joints_has_no_effect(seed: int) -> None:
    lot = np.random.default_rng(seed)
    edges = [(str(a), str(b)) for a, b in lot.choice(["world", *"abcdefgh"], (9, 2)) if a != b]
    left = [edge for edge in edges]
    while left != (kept := [edge for edge in left if all(_degree(left, end) > 1 for end in edge)]):
        left = kept
    expected = {end for edge in left for end in edge} - {"world"}
    assert _looped([edges[k] for k in lot.permutation(len(edges))]) == "".join(sorted(expected))


def _degree(edges: list[tuple[str, str]], end: str) -> int:
    return 2 if end == "world" else sum(edge.count(end) for edge in edges)


def _looped(edges: list[tuple[str, str]]) -> str:
    joints = {
        f"j{k}": RevoluteSpec(type="revolute", parent=parent, child=child) for k, (parent, child) in enumerate(edges)
    }
    bodies = sorted({end for edge in edges for end in edge} - {"world"})
    return "".join(bodies[number] for number in bodies_in_loops(bodies, joints))


def _scene(edges: list[tuple[str, str]], **started: dict[str, list[float]]):
    body = {"mass": 1.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    bodies = sorted({end for edge in edges for end in edge} - {"world"})
    joints = {f"{a}{b}": {"type": "revolute", "parent": a, "child": b} for a, b in edges}
    return loaded({"bodies": {name: body | started.get(name, {}) for name in bodies}, "joints": joints}).scene


@pytest.mark.parametrize("seed", range(40))
def test_no_more_bodies_are_left_without_a_joint_than_need_be(seed: int) -> None:
    """These are one of each set of bodies that joints connect in both directions, and to which no joint leads."""
    lot = np.random.default_rng(seed)
    names = ["world", *"abcdefgh"]
    edges = dict.fromkeys((str(a), str(b)) for a, b in lot.choice(names, (10, 2)) if a != b and b != "world")
    scene = _scene([*edges])
    found = inboard_joints(scene)
    roots = set()
    for body in scene.bodies:
        passed = [body]
        while passed[-1] in found:
            passed.append(scene.joints[found[passed[-1]]].parent)
            assert len(passed) <= len(names), "the inboard joints are a cycle"
        roots.add(passed[-1])
    ends = np.array([[names.index(end) for end in edge] for edge in edges]).T
    number, of = connected_components(coo_array((np.ones(len(edges)), ends), (9, 9)), connection="strong")
    entered = {of[b] for a, b in ends.T if of[a] != of[b]}
    absent = sum(name not in scene.bodies for name in names[1:])
    assert len(roots - {"world"}) == number - len(entered) - 1 - absent


RING = [("a", "b"), ("b", "c"), ("c", "a")]


def test_a_ring_hangs_on_its_hinge_in_any_order_of_the_joints() -> None:
    hanging = {"a": "worlda", "b": "ab", "c": "bc"}
    for edges in permutations([*RING, ("world", "a")]):
        assert inboard_joints(_scene([*edges])) == hanging
    for edges in permutations([*RING, ("world", "a"), ("world", "c")]):
        found = inboard_joints(_scene([*edges]))
        assert found.keys() == {*"abc"}
        assert "worlda" in found.values() or "worldc" in found.values()


@pytest.mark.parametrize("back", [*permutations([("c", "d"), ("e", "d"), ("world", "a"), ("world", "e")])])
def test_of_two_paths_to_a_body_without_a_joint_the_shorter_one_carries_it(back: list[tuple[str, str]]) -> None:
    carried = inboard_joints(_scene([("d", "a"), ("a", "b"), ("b", "c"), ("d", "e"), *back]))
    assert carried == {"a": "da", "b": "ab", "c": "bc", "d": "ed", "e": "worlde"}


def test_a_body_with_a_start_of_its_own_stays_free() -> None:
    edges = [("b", "c"), ("c", "a"), ("world", "a"), ("a", "b")]
    assert inboard_joints(_scene(edges)) == {"c": "bc", "a": "worlda", "b": "ab"}
    assert inboard_joints(_scene(edges, b={"position": [1.0, 0.0, 0.0]})) == {"c": "bc", "a": "ca"}


def test_joints_that_carry_a_tree_stay_in_their_order() -> None:
    assert inboard_joints(_scene([("a", "b"), ("world", "b")])) == {"b": "ab"}
    assert inboard_joints(_scene([("world", "b"), ("a", "b")])) == {"b": "worldb"}
