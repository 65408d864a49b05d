"""Bodies in closed loops of joints, against the definition: those left when no body hangs on a single joint."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.joints.screws import RevoluteSpec
from multibody_cli.scene.topology import bodies_in_loops

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
