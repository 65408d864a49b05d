"""Exact derivatives by dual numbers: rules of arithmetic, and linear systems against differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.kernel.dual_numbers import DUAL_MATHEMATICS, Dual, NoRule, value_of
from multibody_cli.output.state_observer import Observer
from multibody_cli.statics import dual_evaluation
from multibody_cli.studies import curves, exact_derivatives

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

GALLERY = Path(__file__).parents[2] / "scenes/gallery"
m = DUAL_MATHEMATICS


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: x * y - 3.0 * x / y + (2.0 - y) / x + 1.0 / y,
        lambda x, y: -abs(-x) * y**3 + x**-2.0 + y**0.5,
        lambda x, y: m.sin(x) * m.cos(y) + m.tan(x) * m.exp(-y) + m.log(x + y),
        lambda x, y: m.sinh(x) + m.cosh(y) * m.tanh(x) + m.sqrt(x + 2.0 * y),
        lambda x, y: m.asin(0.5 * x) + m.acos(0.5 * y) + m.atan(x * y) + m.atan2(y, x) + m.atan2(1.0, x),
        lambda x, y: m.hypot(x, y, 2.0) + m.copysign(x, -y) + m.fmod(7.0 * x, 1.5) + m.pow(x, 3) + m.fabs(-y),
        lambda x, y: max(x, y) * min(2.0, x) + float(m.floor(x)) * y + int(3.0 + y) * x + (9.0 * x) % 2.0,
    ],
)
def test_rules_are_those_of_differences(formula) -> None:
    for x, y in np.random.default_rng(5).uniform(0.2, 0.9, (10, 2)).tolist():
        found = formula(Dual(x, np.array([1.0, 0.0])), Dual(y, np.array([0.0, 1.0])))
        assert value_of(found) == pytest.approx(formula(x, y), rel=1e-15)
        h = 1e-5
        by_x = (formula(x + h, y) - formula(x - h, y)) / (2 * h)
        by_y = (formula(x, y + h) - formula(x, y - h)) / (2 * h)
        np.testing.assert_allclose(found.slope, [by_x, by_y], rtol=1e-7, atol=1e-7)


def test_a_derivative_is_never_lost_silently() -> None:
    x = Dual(0.0, np.array([1.0]))
    assert x != 0.0  # a product with it may not be left out
    assert bool(x)
    assert not Dual(0.0, np.array([0.0]))
    with pytest.raises(NoRule):
        np.zeros(1)[0] = x
    with pytest.raises(NoRule):
        m.gamma(x)
    with pytest.raises(NoRule, match="exponent"):
        2.0**x
    with pytest.raises(NoRule, match=r"sqrt\(-1\)"):
        m.sqrt(-1.0 + x)


OBSERVE = Observer.observe_beside


def refuse_duals(observer: Observer, system: Any, state: Any, work: Any) -> None:
    if state.q.dtype == object:
        raise NoRule
    OBSERVE(observer, system, state, work)


def both(scene: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[mbsim.LinearSystem, mbsim.LinearSystem]:
    """Return the linear system by dual numbers and by differences."""

    def system() -> mbsim.LinearSystem:
        return mbsim.linearize(scene, overrides=["expect=[]"], outputs=["energy/total", "momentum/linear"])

    exact = system()
    monkeypatch.setattr(dual_evaluation, "LARGEST", 0)
    return exact, system()


@pytest.mark.parametrize(
    "name",
    ["springs", "rolling_disc", "cart_pole", "affine_body", "combinations", "servos",
     "universal_joint", "spherical_joint", "expression_constraints", "wrapping", "reduced_maps",
     "bushing", "elastic_ropes", "dc_motor", "velocity_constraint"],
)  # fmt: skip
def test_exact_systems_agree_with_differences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, differences = both(GALLERY / f"{name}.yaml", monkeypatch)
    assert (exact.derivatives, differences.derivatives) == ("exact", "differences")
    for name in "ABCD":
        one, other = getattr(exact, name), getattr(differences, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * np.abs(other).max(initial=1.0))


@pytest.mark.parametrize(("q", "v"), [(0.6, 1.3), (0.0, 0.0), (0.0, -2.0), (np.pi / 2, 0.7)])
def test_outputs_of_a_pendulum_have_the_derivatives_of_their_closed_forms(q: float, v: float) -> None:
    """Position, energy and the force of the hinge, in the axes of the pendulum."""
    m, L, J, c, g = 0.5, 0.7, 0.5 * 0.7**2 + 0.02, 0.1, 9.81
    text = f"""
mbsim: 1
name: pendulum
gravity: [0, 0, {-g}]
bodies: {{bob: {{mass: {m}, com: [0, 0, {-L}], inertia: {{principal: [0.01, 0.02, 0.03]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: bob, q: {q}, v: {v}, damping: {c}}}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""
    outputs = ["bodies/bob/com[x]", "energy/kinetic", "joints/hinge/force[fx]", "joints/hinge/force[fz]"]
    found = mbsim.linearize(text, inputs=["force/hinge"], outputs=outputs)
    assert found.derivatives == "exact"
    turn = -m * g * L * np.cos(q) / J
    C = [
        [-L * np.cos(q), 0],
        [0, J * v],
        [-m * (L * turn + g * np.cos(q)), m * L * c / J],
        [-m * g * np.sin(q), 2 * m * L * v],
    ]
    np.testing.assert_allclose(found.C, C, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.D, [[0], [0], [-m * L / J], [0]], rtol=0, atol=1e-13)


@pytest.mark.parametrize("outputs", [[], ["energy/total", "joints/hinge/acceleration"]])
def test_forces_of_sampled_controllers_are_held(outputs: list[str]) -> None:
    """The accelerations of cart and pole, in closed form, at the constant force of the first sample."""
    found = mbsim.linearize(GALLERY / "cart_pole.yaml", overrides=["expect=[]"], outputs=outputs)
    q, b = np.radians(20.0), 0.25
    u = 55.6 * q

    def accelerations(angle: float) -> np.ndarray:
        coupling = 0.2 * b * np.cos(angle)
        M = [[1.2, coupling], [coupling, 0.005 + 0.2 * b**2]]
        return np.linalg.solve(M, [u, 0.2 * 9.81 * b * np.sin(angle)])

    h = 1e-4
    by_angle = (
        8 * (accelerations(q + h) - accelerations(q - h)) - accelerations(q + 2 * h) + accelerations(q - 2 * h)
    ) / (12 * h)
    np.testing.assert_allclose(found.A[2:, :2], np.stack([np.zeros(2), by_angle], axis=1), rtol=1e-10, atol=1e-12)
    assert any("sampled controllers hold, of `actuators.balance`" in remark for remark in found.remarks)
    if outputs:
        np.testing.assert_allclose(found.C[1], found.A[3], rtol=0, atol=1e-12)


def test_outputs_do_not_sample_controllers_between_their_instants() -> None:
    """The controller of cart and pole is sampled each 5 ms, and its force at 3 ms is that of the start."""
    scene = GALLERY / "cart_pole.yaml"
    alone, found = (
        mbsim.linearize(scene, at=0.003, overrides=["expect=[]"], outputs=own) for own in ([], ["energy/total"])
    )
    np.testing.assert_allclose(found.A, alone.A, rtol=1e-13)


def test_outputs_beside_a_slack_rope_have_its_side() -> None:
    """The weight of a ball that falls until its rope is taut."""
    scene = GALLERY / "expression_constraints.yaml"
    found = mbsim.linearize(scene, overrides=["expect=[]"], outputs=["energy/potential"])
    assert found.derivatives == "exact"
    assert found.C[0, found.states.index("q/ball/2")] == pytest.approx(9.81, rel=1e-13)


@pytest.mark.parametrize(("error", "by"), [(0.0, "exact"), (1e-9, "exact"), (1e-3, "differences")])
def test_exact_derivatives_of_outputs_that_disagree_are_refused(
    error: float, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, outputs = GALLERY / "springs.yaml", ["energy/total", "momentum/linear"]
    right = exact_derivatives._DualMotion.derivatives_of
    monkeypatch.setattr(
        exact_derivatives._DualMotion, "derivatives_of", lambda motion, y: (1.0 + error) * right(motion, y)
    )
    assert mbsim.linearize(scene, overrides=["expect=[]"], outputs=outputs).derivatives == by


@pytest.mark.parametrize("q", [0.0, np.pi / 2, -2 * np.pi / 3, np.pi, -np.pi, 3.5])
def test_quaternions_have_derivatives_where_their_signs_change(q: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The orientation of a pendulum, (cos q/2, 0, sin q/2, 0) or its opposite: by the largest at -120 deg."""
    text = f"""
mbsim: 1
name: pendulum
bodies: {{bob: {{mass: 0.5, com: [0, 0, -0.7], inertia: {{principal: [0.01, 0.02, 0.03]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: bob, q: {q}, v: 0.3}}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""
    expected = np.array([-np.sin(q / 2) / 2, 0.0, np.cos(q / 2) / 2, 0.0])
    for largest, atol in ((60, 1e-15), (0, 1e-10)):
        monkeypatch.setattr(dual_evaluation, "LARGEST", largest)
        found = mbsim.linearize(text, inputs=["force/hinge"], outputs=["bodies/bob/quaternion"]).C[:, 0]
        assert min(np.abs(found - expected).max(), np.abs(found + expected).max()) < atol


def test_outputs_without_exact_derivatives_keep_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B are exact; the record is that of all four."""
    scene, outputs = GALLERY / "springs.yaml", ["energy/total", "momentum/linear"]
    exact = mbsim.linearize(scene, overrides=["expect=[]"], outputs=outputs)
    monkeypatch.setattr(Observer, "observe_beside", refuse_duals)
    found = mbsim.linearize(scene, overrides=["expect=[]"], outputs=outputs)
    assert (exact.derivatives, found.derivatives) == ("exact", "differences")
    assert (exact.differences, "no rule" in found.differences) == ("", True)
    np.testing.assert_array_equal(found.A, exact.A)
    np.testing.assert_allclose(found.C, exact.C, rtol=0, atol=1e-9 * np.abs(exact.C).max())


@pytest.mark.parametrize("name", ["arm_muscles", "leg_muscles", "excitation"])
def test_differences_over_the_end_of_a_piece_converge_to_exact_derivatives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second derivative jumps: errors of central differences, up to 4e-5 of the largest entry, decrease with the
    offset.
    """
    scene, systems = GALLERY / f"{name}.yaml", []
    exact = mbsim.linearize(scene, overrides=["expect=[]"])
    assert exact.derivatives == "exact"
    monkeypatch.setattr(dual_evaluation, "LARGEST", 0)
    for name, side in (("FORWARD", 1), ("BACKWARD", -1)):
        monkeypatch.setattr(curves, name, curves.CENTRAL._replace(side=side))
    for offset in (1e-4, 1e-6):
        monkeypatch.setattr(curves, "OFFSETS", (offset,))
        monkeypatch.setattr(curves, "FINER", ())
        systems.append(mbsim.linearize(scene, overrides=["expect=[]"]))
    large, small = (float(np.abs(one.A - exact.A).max()) for one in systems)
    assert large > 1e-7 * np.abs(exact.A).max()
    assert small < 0.05 * large


def test_a_kink_keeps_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drag in proportion to |v| v has no second derivative at rest."""
    exact, differences = both(GALLERY / "quadratic_drag.yaml", monkeypatch)
    assert exact.derivatives == "differences"
    np.testing.assert_array_equal(exact.A, differences.A)


def test_large_models_keep_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual_evaluation, "LARGEST", 0)
    exact, differences = both(GALLERY / "springs.yaml", monkeypatch)
    assert exact.derivatives == "differences"
    assert exact.differences.endswith("coordinates and constraint rows, more than 0")
    np.testing.assert_array_equal(exact.A, differences.A)


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError, IndexError])
def test_faults_in_kernels_are_errors_instead_of_differences(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only operations without a rule, and those that plain Python refuses, have differences."""

    def fails(*_: Any) -> Any:
        raise error("a fault")

    monkeypatch.setattr(exact_derivatives._DualMotion, "derivatives", fails)
    with pytest.raises(error, match="a fault"):
        mbsim.linearize(GALLERY / "springs.yaml", overrides=["expect=[]"])


def test_the_reason_of_differences_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = {"quadratic_drag": "a derivative is not finite", "function_tables": "arithmetic of arrays"}
    for name, reason in scenes.items():
        assert mbsim.modes(GALLERY / f"{name}.yaml", overrides=["expect=[]"]).differences.endswith(reason)
    monkeypatch.setattr(dual_evaluation, "LARGEST", 0)
    for equilibrium in (False, True):
        found = mbsim.modes(GALLERY / "bushing.yaml", overrides=["expect=[]"], equilibrium=equilibrium)
        assert "more than 0" in found.differences
