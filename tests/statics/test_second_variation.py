"""Signs and eigenvalues of the second variation, for any units and stiffness of neighbors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.initial.initial_state import placed
from multibody_cli.initial.largest_force import find_largest_force, start_of
from multibody_cli.statics.second_variation import diagonal, second_variation

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

GALLERY = Path(__file__).parents[2] / "scenes/gallery"


def two(first: float, second: float, chain: bool, gravity: float = 0.0) -> str:
    """Return two sliders along x, side by side or one on the other."""
    rail = "type: prismatic, axis: [1, 0, 0]"
    bodies = ", ".join(f"{name}: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}" for name in "ab")
    return f"""mbsim: 1
gravity: [{-gravity}, 0, 0]
bodies: {{{bodies}}}
joints:
  a: {{{rail}, child: a, stiffness: {first!r}}}
  b: {{{rail}, child: b, stiffness: {second!r}{", parent: a" * chain}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("soft_first", [False, True])
@pytest.mark.parametrize("stiff", [9.0, 9e8, 9e14, 9e20])
def test_a_stiff_neighbor_hides_no_soft_spring(stiff: float, soft_first: bool, chain: bool) -> None:
    """Positions follow from the weights, and frequencies of springs of very different stiffness from one mass each."""
    stiffness = (9.0, stiff) if soft_first else (stiff, 9.0)
    found = mbsim.equilibrium(two(*stiffness, chain, 9.81))
    weights = (2 * 9.81 if chain else 9.81, 9.81)
    assert found.stability == "stable"
    np.testing.assert_allclose(found.found.stiffness, np.sort(stiffness), rtol=1e-10)
    np.testing.assert_allclose([found["a"], found["b"]], np.divide(weights, stiffness) * -1, rtol=1e-10)
    for equilibrium in (True, False):
        modes = mbsim.modes(two(*stiffness, chain), equilibrium=equilibrium)
        assert modes.free == 0
        if stiff > 9.0:
            low, high = (abs(mode.exponent) for mode in modes.modes)
            moved = 2.0 if chain and soft_first else 1.0  # the stiff spring holds both together
            assert low == pytest.approx(math.sqrt(9.0 / moved), rel=max(1e-10, 20 / stiff))
            assert high == pytest.approx(math.sqrt(stiff * (2.0 if chain and soft_first else 1.0)), rel=1e-7)


@pytest.mark.parametrize("chain", [False, True])
def test_a_slider_without_a_spring_is_neutral_beside_a_stiff_one(chain: bool) -> None:
    found = mbsim.equilibrium(two(0.0, 9e14, chain))
    assert (found.stability, found.found.neutral) == ("neutral", 1)
    for equilibrium in (True, False):
        modes = mbsim.modes(two(0.0, 9e14, chain), equilibrium=equilibrium)
        assert (modes.free, len(modes.modes)) == (2, 1)


@pytest.mark.parametrize("mass", [1e-12, 1e12])
@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_stability_does_not_depend_on_units(length: float, mass: float) -> None:
    """A pendulum upside down on a spring k, with masses and lengths of any size: stable if k > m g l."""
    weight = mass * 9.81 * length
    for factor, stability in ((1.001, "stable"), (0.999, "unstable")):
        found = mbsim.equilibrium(f"""mbsim: 1
bodies: {{rod: {{mass: {mass!r}, com: [0, 0, {length!r}], inertia: {{principal: [0, 0, 0]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: rod, stiffness: {factor * weight!r}}}}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
        assert found.stability == stability
        np.testing.assert_allclose(found.found.stiffness, [(factor - 1.0) * weight], rtol=1e-7)


def test_signs_are_those_of_a_congruent_matrix() -> None:
    """Scaled by factors from 1e-8 to 1e8, a matrix keeps the signs of its eigenvalues (Sylvester)."""
    generator = np.random.default_rng(3)
    for n in (1, 2, 5, 20):
        axes = np.linalg.qr(generator.normal(size=(n, n)))[0]
        values = np.resize([2.0, -1.0, 0.0, 0.5], n)
        samples = generator.normal(size=(3, n, n)) * 1e-15
        scale = 10.0 ** generator.uniform(-8, 8, n)
        K = scale[:, None] * (axes * values @ axes.T) * scale
        found, symmetric = second_variation(K, scale[:, None] * samples * scale, np.zeros(n))
        assert symmetric
        assert found.still.shape[1] == np.count_nonzero(values == 0.0)
        signs = np.sign(np.linalg.eigvalsh(found.inverse / scale / scale[:, None]))
        assert np.count_nonzero(signs > 0) >= np.count_nonzero(values > 0)
        np.testing.assert_allclose(K @ found.inverse @ K, K, atol=1e-9 * np.outer(scale, scale).max())


def test_eigenvalues_of_graded_matrices_are_accurate() -> None:
    """diag(k) in a metric M: products of eigenvalues and determinants agree, from 1e-9 to 1e20."""
    k = np.array([1e-9, -1.0, 0.0, 1e3, 1e20])
    values, axes = diagonal(k).eigenvalues(np.eye(5))
    np.testing.assert_allclose(values, np.sort(k), rtol=1e-14)
    generator = np.random.default_rng(4)
    B = generator.normal(size=(5, 5))
    M = B @ B.T + np.eye(5)
    values, axes = diagonal(k).eigenvalues(M)
    np.testing.assert_allclose(axes.T @ M @ axes, np.eye(5), atol=1e-6)
    assert np.sign(values).tolist() == [-1, 0, 1, 1, 1]
    # the largest is that of the last coordinate alone, to the ratio of the next one
    assert values[-1] == pytest.approx(1e20 * np.linalg.inv(M)[4, 4], rel=1e-12)


def test_an_asymmetric_matrix_has_no_potential() -> None:
    assert second_variation(np.array([[1.0, 0.1], [0.0, 1.0]]), np.zeros((3, 2, 2)), np.zeros(2))[1] is False
    assert second_variation(np.array([[1.0, 1e-9], [0.0, 1.0]]), np.zeros((3, 2, 2)), np.zeros(2))[1] is True


def test_equal_and_opposite_exponents_have_one_order() -> None:
    """Two rods stand upright on hinges: each has a growing and a decaying motion."""
    rods = "".join(f"  r{k}: {{mass: 1, com: [0, 0, 1], inertia: {{principal: [0, 0, 0]}}}}\n" for k in (1, 2))
    text = f"mbsim: 1\nbodies:\n{rods}joints:\n" + "".join(
        f"  h{k}: {{type: revolute, axis: [0, 1, 0], child: r{k}}}\n" for k in (1, 2)
    )
    w = math.sqrt(9.81)
    for equilibrium in (True, False):
        found = mbsim.modes(f"{text}simulation: {{duration: 1 s, step: 1 ms}}\n", equilibrium=equilibrium)
        assert [mode.kind for mode in found.modes] == ["decays", "decays", "grows", "grows"]
        np.testing.assert_allclose([mode.exponent for mode in found.modes], [-w, -w, w, w], rtol=1e-9)


def test_critical_damping_is_no_oscillation() -> None:
    """x'' + 2 w x' + w^2 x = 0 has the double exponent -w, which round-off splits into a pair or into two."""
    for w in (3.0, 10.0, 1.7e3):
        text = f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{a: {{type: prismatic, axis: [1, 0, 0], child: a, stiffness: {w * w!r}, damping: {2 * w!r}}}}}
simulation: {{duration: 1 s, step: 1 us}}
"""
        for equilibrium in (True, False):
            found = mbsim.modes(text, equilibrium=equilibrium)
            assert [mode.kind for mode in found.modes] == ["decays", "decays"]
            np.testing.assert_allclose([mode.exponent.real for mode in found.modes], -w, rtol=1e-6)


@pytest.mark.parametrize("scene", ["leg_muscles", "elastic_ropes", "combinations", "moving_points"])
def test_every_element_has_its_largest_force(scene: str) -> None:
    prepared = mbsim.load(GALLERY / f"{scene}.yaml").prepared
    state = prepared.fresh_state()
    largest = find_largest_force(prepared.compiled.model, start_of(state, placed(prepared.compiled.model, state)))
    assert largest is not None
    assert largest.value > 0.0


def test_errors_of_projections_are_no_modes() -> None:
    """Weights on ropes over fixed capstans: no force depends on their positions or rates."""
    found = mbsim.modes(GALLERY / "capstan.yaml", overrides=["expect=[]"])
    assert (found.free, found.modes) == (10, ())


def parallelogram(length: float, mass: float, factor: float, springs: tuple[float, float], moving: bool) -> str:
    """Return two cranks under a table with two sliders, upright, with a spring at one crank; three rows are redundant.

    The weights of the table, the sliders and the cranks turn it over; the spring is `factor` times as stiff.
    """
    L, crank = length, 0.3 * mass
    stiffness = factor * (3.0 * mass + crank) * 9.81 * L  # 2 cranks with centers at half of the length
    rod = f"com: [0, 0, {L / 2!r}], inertia: {{principal: [{', '.join([repr(crank * L * L / 12)] * 3)}]}}"
    cube = f"mass: {mass!r}, inertia: {{principal: [{', '.join([repr(mass * L * L)] * 3)}]}}"
    lift = "type: prismatic, axis: [1, 0, 0], motion: {position: '0.3*sin(t)'}" if moving else "type: fixed"
    pin, rail = "type: revolute, axis: [0, 1, 0]", "type: prismatic, axis: [0, 1, 0]"
    end, far = f"origin: {{position: [0, 0, {L!r}]}}", f"{{position: [{2 * L!r}, 0, 0]}}"
    return f"""mbsim: 1
bodies:
  base: {{{cube}}}
  a: {{mass: {crank!r}, {rod}}}
  b: {{mass: {crank!r}, {rod}}}
  table: {{{cube}}}
  x: {{{cube}}}
  y: {{{cube}}}
joints:
  lift: {{{lift}, child: base}}
  ha: {{{pin}, parent: base, child: a, stiffness: {stiffness!r}}}
  hb: {{{pin}, parent: base, child: b, origin: {far}}}
  ta: {{{pin}, parent: a, child: table, {end}}}
  tb: {{{pin}, parent: b, child: table, {end}, child_origin: {far}}}
  x: {{{rail}, parent: table, child: x, stiffness: {springs[0]!r}}}
  y: {{{rail}, parent: x, child: y, stiffness: {springs[1]!r}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("springs", [(1e12, 1e-6), (1.0, 1.0), (1e-6, 1e12)])
@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_a_loop_with_redundant_rows_has_its_signs_in_all_units(
    length: float, mass: float, springs: tuple[float, float], moving: bool
) -> None:
    """The spring of the crank exceeds the weights by 1e-7, or falls short; prescribed coordinates do not move.

    A spring of 1e-6 N/m that carries 1e10 N is below the round-off of weights: its direction counts as neutral.
    """
    is_soft = min(springs) == 1e-6 and mass == 1e9
    for factor, stability in ((1 + 1e-7, "neutral" if is_soft else "stable"), (1 - 1e-7, "unstable")):
        found = mbsim.equilibrium(parallelogram(length, mass, factor, springs, moving))
        assert (found.stability, found.redundant, found.found.unstable) == (stability, 3, int(factor < 1))
        assert found.found.neutral == int(is_soft)
