"""The generated recursion of one model: its accelerations, and the structure of its source."""

from __future__ import annotations

import re

import generated
import numpy as np
import oracle
import pytest
from generated import Interpreted, accelerations_of
from hypothesis import given, settings
from machines import Machine, accelerations, pack, shift, tree_link
from strategies import OBLIQUE, X, Y, Z, machines, random_link

from multibody_cli.constraint_solver.constrained_bodies import apply_inverse_mass
from multibody_cli.joints.contract import Coordinate, ball, exponential_ball, floating, generated_part, sliding, turning
from multibody_cli.joints.joint_map import Frame, Pieces, Shift, Turn
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Vec3
from multibody_cli.symbolic.scalar import cos, sin


def rods(count: int, *axes):
    """A chain of alike rods, hinged about these axes in turn."""
    rng = np.random.default_rng(7)
    tree_links = []
    for row in range(1, count + 1):
        parts = (turning(axes[(row - 1) % len(axes)]),)
        q, v = (float(rng.normal()),), (float(rng.normal()),)
        hinge = shift(0, 0, -1.0 if row > 1 else 0)
        tree_links.append(
            tree_link(row, row - 1, parts, q, v, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0.001), origin=hinge)
        )
    return pack(Machine(tree_links))


def binary(depth: int):
    """A tree in which every body carries two, numbered branch by branch."""
    parents: list[int] = []

    def grow(parent: int, left: int) -> None:
        parents.append(parent)
        row = len(parents)
        for _ in range(2 if left > 1 else 0):
            grow(row, left - 1)

    grow(0, depth)
    return pack(
        Machine(
            [
                tree_link(row, parent, (turning(Y),), (0.3 * row,), (0.1,), com=(0, 0, -0.5), origin=shift(0, 0, -1))
                for row, parent in enumerate(parents, 1)
            ]
        )
    )


def differing(count: int):
    """A tree of links of which no two are alike, hinged about oblique axes."""
    rng = np.random.default_rng(3)
    tree_links = []
    for row in range(1, count + 1):
        axis = rng.normal(size=3)
        axis = tuple(map(float, axis / np.linalg.norm(axis)))
        tree_links.append(random_link(rng, row, int(rng.integers(max(0, row - 4), row)), (turning(axis),), False))
    return pack(Machine(tree_links))


def nearness(*arrays) -> float:
    """1e-10 of the largest magnitude."""
    return 1e-10 * max(1.0, *(float(np.abs(array).max(initial=0.0)) for array in arrays))


# Random trees are few, since each is generated and interpreted anew: 30 of them have every kind of part, and another
# test has a tree of all kinds of joints.
# --- results --------------------------------------------------------------------------------------------------------
@given(machines(loaded=False))
@settings(max_examples=30)
def test_accelerations_of_random_trees(machine):
    """Against articulated bodies by kernels, prescribed coordinates among them."""
    packed = pack(machine)
    state, _, _ = accelerations(packed, t=0.35)
    found = accelerations_of(packed, state)
    np.testing.assert_allclose(found, state.a, rtol=0, atol=nearness(state.a))


@given(machines(loaded=False, driven=False))
@settings(max_examples=30)
def test_accelerations_against_dense_equations(machine):
    packed = pack(machine)
    state = packed.fresh_state()
    M, h = oracle.equations(oracle.place(machine.tree_links, state.q, state.v), machine.gravity)
    if packed.model.nv:
        expected = oracle.solve(M, -h).astype(float)
        bound = nearness(expected, h) * max(1.0, 1e-4 * np.linalg.cond(M.astype(float)))
        np.testing.assert_allclose(accelerations_of(packed, state), expected, rtol=0, atol=bound)


@given(machines(loaded=False))
@settings(max_examples=30)
def test_armature_is_inertia_of_the_coordinates(machine):
    """(M + diag) a = -h."""
    packed = pack(machine)
    state, _, _ = accelerations(packed, t=0.35)
    driven, rng = packed.tree.tree.driven, np.random.default_rng(4)
    armature = np.where(rng.random(len(driven)) < 0.7, 0.5 + rng.random(len(driven)), 0.0)
    M, h = oracle.equations(oracle.place(machine.tree_links, state.q, state.v), machine.gravity)
    expected, _ = oracle.solve_hybrid(M + np.diag(np.where(driven, 0, armature)), -h, driven, state.a)
    found = accelerations_of(packed, state, generated.free(packed, armature > 0), armature)
    bound = nearness(expected, h) * max(1.0, 1e-4 * np.linalg.cond(M.astype(float)) if len(driven) else 1.0)
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=bound)


@given(machines())
@settings(max_examples=30)
def test_accelerations_and_impulse_responses_agree_with_aba(machine):
    """Accelerations from the bias wrenches of loaded bodies; then M^-1 (x + J^T w) by the stored factors."""
    packed = pack(machine)
    system, links, nv = packed.model.system, packed.tree.tree.links, packed.model.nv
    state, work, _ = accelerations(packed, t=0.35)
    R = work.bodies["R"][: len(links)].reshape(-1, 3, 3)  # transposed: by columns

    def turned(records):
        return np.hstack([np.einsum("nij,nj->ni", R, records[name][: len(links)]) for name in ("t", "f")])

    armature = packed.tree.tree.armature
    text = Interpreted(packed, generated.placed(packed, armature > 0.0))
    a = np.where(packed.tree.tree.driven, state.a, np.nan)
    text(0, state.q, state.v, work.tau, a, turned(work.bodies), armature)
    np.testing.assert_allclose(a, state.a, rtol=0, atol=nearness(state.a))
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=nv), np.zeros(nv)
    for name in ("t", "f"):
        work.wrenches[name][:] = rng.normal(size=work.wrenches[name].shape)
    impulses = turned(work.wrenches)
    apply_inverse_mass(system, work, x, y)
    answered = text(1, state.q, state.v, x, np.zeros(nv), impulses, armature)
    np.testing.assert_allclose(answered, y, rtol=0, atol=nearness(y))


def test_accelerations_of_long_ball_joint_chains_are_accurate():
    """No rotational inertia passes a ball, exactly."""
    rng = np.random.default_rng(11)
    tree_links = [
        tree_link(row, row - 1, (ball(),), (1.0, 0.0, 0.0, 0.0), tuple(rng.normal(size=3)), com=(0, 0, -0.5),
             origin=shift(0.0, 0.0, -1.0))
        for row in range(1, 61)
    ]  # fmt: skip
    packed = pack(Machine(tree_links))
    state, _, _ = accelerations(packed)
    M, h = oracle.equations(oracle.place(tree_links, state.q, state.v), packed.machine.gravity)
    a = oracle.solve(M, -h)
    error = float(np.abs(accelerations_of(packed, state) - a).max() / np.abs(a).max())
    assert error < 1e-11


# --- shapes ---------------------------------------------------------------------------------------------------------
class Wave:
    """A point on a wave, turned along; its height and the constant of its turn are constants."""

    title, pieces, stride = "a wave", (None,), 0

    def factors(self, map_coordinates, c):
        x = map_coordinates[0].q
        return [Shift(Vec3(x, 0.0, c[0] * sin(x))), Turn(Vec3(0.0, 1.0, 0.0), c[1] * cos(x))]


class Steps:
    """Along x by parabolas, with a rise of its own in each piece, and a turn in their plane."""

    title, pieces, stride = "parabolas", (Pieces(), None), 2

    def factors(self, map_coordinates, c):
        along, angle = map_coordinates
        rise = c[0] + c[1] * along.u * along.u
        return [Frame(UNIT, Vec3(along.q, rise, 0.0)), Turn(Vec3(0.0, 0.0, 1.0), angle.q), Shift(ZERO)]


WAVE, STEPS = Wave(), Steps()


@pytest.mark.parametrize("alike", [True, False])
def test_shapes_are_formulas_among_the_others(alike):
    def wave(k):
        height = 0.3 if alike else 0.1 + 0.1 * k
        return (generated_part(WAVE, (Coordinate.LENGTH,), (height, 0.5), (0.0,)),)

    def steps(k):
        numbers = (0.0, 1.0, 3.0, 0.0, 0.2, 0.2, 0.1, 0.3, 0.4 if alike else 0.1 * k)
        return (generated_part(STEPS, (Coordinate.LENGTH, Coordinate.ANGLE), numbers, (0.0, 0.0)), turning(X))

    tree_links = [
        tree_link(1, 0, wave(1), (0.4,), (0.7,), com=(0.1, 0.2, 0.3), origin=shift(0, 0, 1)),
        tree_link(2, 1, wave(2), (-0.8,), (0.3,), com=(0.3, 0.0, 0.1), origin=shift(0, 0.5, 0)),
        tree_link(3, 2, steps(1), (1.4, 0.3, 0.2), (0.5, -0.4, 0.1), com=(0.0, 0.2, 0.1), origin=shift(0, 0, 0.4)),
        tree_link(4, 3, steps(2), (-0.6, 0.1, 0.5), (0.9, 0.8, 0.3), com=(0.2, 0.2, 0.0), origin=shift(0, 0.3, 0)),
    ]
    packed = pack(Machine(tree_links))
    state, _, _ = accelerations(packed)
    np.testing.assert_allclose(accelerations_of(packed, state), state.a, rtol=0, atol=nearness(state.a))


# --- form of the text -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", [(Y,), (X, Y), (X, Y, Z)], ids=["y", "xy", "xyz"])
def test_source_of_a_chain_is_one_loop(axes):
    short, long = (generated.free(rods(count * len(axes), *axes)).sources[0].text for count in (40, 80))
    assert short.count("\n") == long.count("\n")
    packed = rods(12 * len(axes), *axes)
    state, _, _ = accelerations(packed)
    np.testing.assert_allclose(accelerations_of(packed, state), state.a, rtol=0, atol=nearness(state.a))


def test_a_planar_chain_has_planar_arithmetic_only():
    (source,) = generated.free(rods(20, Y)).sources
    named = set(re.findall(r"\b([A-Za-z]+)\d*_([xyz]+)\b", source.text))
    moments = {("w", "y"), ("al", "y"), ("t", "y"), ("dw", "y"), ("J", "yy"), ("H", "yx"), ("H", "yz")}
    moments |= {("bt", "y"), ("Vt", "y")}
    assert named <= moments | {
        (stem, axes) for stem in ("a", "f", "bf", "da", "Vf", "M") for axes in ("x", "z", "xx", "xz", "zz")
    }


def test_a_tree_of_different_links_has_few_functions():
    """Lines count kinds of links, and neither links nor their numbers."""
    small, large = generated.free(differing(30)), generated.free(differing(100))
    lines = [written.sources[0].text.count("\n") for written in (small, large)]
    assert max(lines) < min(lines) + 30 < 1000  # more links meet more ways to hang
    packed = differing(40)
    state, _, _ = accelerations(packed)
    np.testing.assert_allclose(accelerations_of(packed, state), state.a, rtol=0, atol=nearness(state.a))


def test_a_binary_tree_has_one_function_for_forks_and_one_for_leaves():
    packed = binary(5)
    written = generated.free(packed)
    assert "31 links in 24 runs of 2 kinds" in written.sources[0].text
    assert written.sources[0].text.count("\n") == generated.free(binary(7)).sources[0].text.count("\n")
    state, _, _ = accelerations(packed)
    np.testing.assert_allclose(accelerations_of(packed, state, written), state.a, rtol=0, atol=nearness(state.a))


def test_a_tree_of_many_kinds_of_joints():
    """So many that structures forget their zeros, and every link may fork."""
    rng = np.random.default_rng(6)
    runs = [(ball(),), (exponential_ball(),), (floating(),), (turning(X), turning(Y)), (turning(OBLIQUE),)]
    runs += [(sliding(OBLIQUE),), (sliding(X), turning(Z)), (turning(Z),), (turning(Y),), (sliding(Y),), ()]
    parents = [int(rng.integers(max(0, row - 3), row)) for row in range(1, 31)]
    tree_links = [
        random_link(rng, row, parent, runs[row % len(runs)], row % 2 == 0) for row, parent in enumerate(parents, 1)
    ]
    packed = pack(Machine(tree_links))
    state, _, _ = accelerations(packed)
    written = generated.free(packed)
    assert f"of {len(runs)} kinds" in written.sources[0].text
    np.testing.assert_allclose(accelerations_of(packed, state, written), state.a, rtol=0, atol=nearness(state.a))


def test_the_same_model_has_the_same_source():
    def text():
        rng = np.random.default_rng(2)
        runs = [
            (ball(),),
            (turning(OBLIQUE),),
            (exponential_ball(), sliding(Z)),
            (floating(),),
            (turning(X), turning(Y)),
        ]
        machine = Machine([random_link(rng, row, (row - 1) // 2, runs[row % 5], row % 3 == 0) for row in range(1, 12)])
        return [source.text for write in (generated.free, generated.placed) for source in write(pack(machine)).sources]

    assert text() == text()
