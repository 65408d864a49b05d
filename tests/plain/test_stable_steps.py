"""The largest stable step is the one above which runs diverge."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from loops import loaded, start
from scipy.spatial.transform import Rotation

from multibody_cli.compile import compile_scene
from multibody_cli.initial.linearized_motion import (
    acceleration_derivatives,
    force_stiffness_and_damping,
    linearization_of,
)
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.integrators.stability import (
    semi_implicit_euler_step_limit,
    variational_step_limit,
)
from multibody_cli.tree.configuration import displace

K = 1e6


@pytest.fixture(autouse=True)
def _step_is_not_checked() -> None:
    """Replace the fixture of the other plain tests: here the step is checked."""


def oscillator(**more):
    """A kilogram and a spring of 1e6 N/m on a slider: 1000 rad/s."""
    spring = {"between": [{"body": "world", "point": [-1, 0, 0]}, {"body": "m"}], "stiffness": K, "rest_length": 1}
    return {
        "bodies": {"m": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"s": {"type": "prismatic", "child": "m", "axis": [1, 0, 0], "q": 1e-3}},
        "springs": {"k": spring | more},
    }


def longest_step(scene, **simulation):
    """Return the largest step of the warning, s; None without a warning."""
    messages = [
        message for message in compile_scene(loaded(scene, **simulation)).warnings if "stability limit" in message
    ]
    return float(re.search(r"at the start, (\S+) s, of", messages[0]).group(1)) if messages else None


LIMITS = {"semi_implicit_euler": 2.0, "rk4": 2.0 * math.sqrt(2.0), "variational": 2.0}


@pytest.mark.parametrize("name", LIMITS)
def test_a_warning_states_the_step_above_which_runs_diverge(name):
    """The limit of the oscillator, w h = 2 or 2 sqrt(2): a run above it diverges with a warning, one below does not."""
    how = {"method": "variational"} if name in METHODS else {"integrator": name}
    longest = LIMITS[name] / math.sqrt(K)
    for factor in (0.98, 1.02):
        h = factor * longest
        found = longest_step(oscillator(), step=h, duration=1000 * h, **how)
        assert found == (pytest.approx(longest, rel=5e-3) if factor > 1 else None)
        run = (
            start(oscillator(), step=h, duration=1000 * h, **how)
            if "method" in how
            else start(oscillator(), integrator=name, step=h, duration=1000 * h)
        )
        for k in range(1, 120):
            if run.method.advance(run.state, k * h).status.name != "OK":
                break
        assert (abs(run.state.q[0]) > 0.05) == (factor > 1)


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2", "dop853"])
def test_unconditionally_stable_integrators_are_not_warned_of(integrator):
    assert longest_step(oscillator(), integrator=integrator, step=0.1, duration=1.0) is None


@pytest.mark.parametrize("order", [4, 6])
def test_a_composed_step_is_limited_by_its_longest_stage(order):
    """The limit w h = 2 of the longest of its basic steps, above which runs diverge."""
    stretch = METHODS["variational"].longest_stage(SimpleNamespace(order=order))
    assert stretch != 1.0
    how = {"method": "variational", "options": {"order": order}}
    assert longest_step(oscillator(), step=1.0, **how) == pytest.approx(2e-3 / stretch, rel=5e-3)


def test_a_damper_shortens_the_step():
    """v' = v (1 - h d / m): h d / m = 2 for Euler, and 1 for variational steps."""
    scene = oscillator(damping=1e5, stiffness=1.0)
    assert longest_step(scene, integrator="semi_implicit_euler", step=1e-3) == pytest.approx(2e-5, rel=5e-3)
    assert longest_step(scene, method="variational", step=1e-3) == pytest.approx(1e-5, rel=5e-3)


def test_springs_of_joints_count_and_loops_stiffen_nothing():
    """A joint spring alone; and a spring along a rod of constrained length, which cannot move."""
    scene = oscillator()
    joint = scene["joints"]["s"] | {"stiffness": K}
    how = {"integrator": "semi_implicit_euler", "step": 1e-2}
    assert longest_step(scene | {"joints": {"s": joint}, "springs": {}}, **how) == pytest.approx(2e-3, rel=5e-3)
    rod = {"distance": {"type": "distance", "between": scene["springs"]["k"]["between"], "length": 1.0}}
    still = scene | {"joints": {"s": scene["joints"]["s"] | {"q": 0.0}}, "constraints": rod}
    assert longest_step(still, **how) is None


def links(tension, **simulation):
    """A light body of 1 g between two links of 0.5 m along x that a force pulls: w^2 = 4 T / (m l), l = 1 m."""
    bodies = {
        "light": {"kind": "point", "mass": 1e-3, "position": [0.5, 0, 0]},
        "load": {"kind": "point", "mass": 1.0, "position": [1, 0, 0]},
    }
    rods = {
        "upper": {"type": "distance", "between": [{"body": "world"}, {"body": "light"}], "length": 0.5},
        "lower": {"type": "distance", "between": [{"body": "light"}, {"body": "load"}], "length": 0.5},
    }
    pull = {"pull": {"body": "load", "force": [tension, 0, 0]}}
    return longest_step({"gravity": [0, 0, 0], "bodies": bodies, "constraints": rods, "forces": pull}, **simulation)


def test_the_tension_of_constraints_stiffens():
    """No spring at all: the light body vibrates across the links, sqrt(4 T / (m l)) within the mass ratio of 1e-3."""
    assert links(1000.0, integrator="rk4", step=2e-3) == pytest.approx(math.sqrt(8.0) / 2000.0, rel=5e-3)
    assert links(1000.0, integrator="rk4", step=1e-3) is None
    assert links(-1000.0, integrator="rk4", step=2e-3) is None  # it buckles, which no step prevents


def test_a_fast_spin_shortens_the_step():
    """The axis of a free symmetric top turns about it at spin (I3/I1 - 1), which rk4 follows up to sqrt(8)."""
    spin = 2000.0
    inertia = {"principal": [1e-3, 1e-3, 2e-3]}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"top": {"mass": 1, "inertia": inertia, "velocity": {"angular": [0, 0, spin]}}},
    }
    limit = longest_step(scene, integrator="rk4", step=5e-3)
    assert 0.5 <= limit * spin / math.sqrt(8.0) <= 1.0
    assert longest_step(scene, integrator="rk4", step=5e-4) is None


FEEDBACK = {"semi_implicit_euler": 2.0 * (math.sqrt(2.0) - 1.0), "linearly_implicit_euler": 0.828427, "rk4": 2.785294}
"""Longest stable step times the rate of Baumgarte: 2 (sqrt 2 - 1), and the real limit of the polynomial of rk4."""


@pytest.mark.compiled  # longer runs than plain Python is for
@pytest.mark.parametrize("name", FEEDBACK)
def test_the_feedback_of_baumgarte_limits_the_step(name):
    """error'' + 2 r error' + r^2 error = 0 grows above the limit, with explicit and with implicit Euler steps."""
    body = {"kind": "point", "mass": 1, "position": [1, 0, 0], "velocity": {"linear": [0, 1, 0]}}
    ends = [{"body": "world"}, {"body": "m"}]
    scene = {"bodies": {"m": body}, "constraints": {"rod": {"type": "distance", "between": ends, "length": 1.0}}}
    for factor in (0.97, 1.03):
        options = {"stabilization": "baumgarte", "baumgarte_rate": factor * FEEDBACK[name] / 1e-3}
        found = compile_scene(loaded(scene, integrator=name, step=1e-3, options=options)).warnings
        assert any("baumgarte_rate" in text for text in found) == (factor > 1.0)
        run = start(scene, integrator=name, step=1e-3, duration=1.0, options=options)
        for k in range(1, 300):
            if run.method.advance(run.state, k * 1e-3).status.name != "OK":
                break
        distance = float(np.linalg.norm(run.state.q[:3]))
        assert (not abs(distance - 1.0) < 0.01) == (factor > 1.0)


# --- the formulas ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_stable_steps_agree_with_the_stability_polynomial(seed):
    rng = np.random.default_rng(seed)
    w = 10.0 ** rng.uniform(0, 4)
    c = rng.uniform(0, 1.9) * w if seed % 2 else rng.uniform(2.0, 10.0) * w

    def euler(h):  # x' = x + h v', v' = v - h (w^2 x + c v)
        return np.array([[1 - h * h * w * w, h * (1 - h * c)], [-h * w * w, 1 - h * c]])

    def rk4(h):
        z = h * np.array([[0.0, 1.0], [-w * w, -c]])
        return np.eye(2) + z @ (np.eye(2) + z @ (np.eye(2) + z @ (np.eye(2) + z / 4) / 3) / 2)

    given = np.array([c]), np.array([w])
    for step, matrix in ((semi_implicit_euler_step_limit, euler), (INTEGRATORS["rk4"].stable_step, rk4)):
        h = step(*given)[0]
        assert np.abs(np.linalg.eigvals(matrix(0.999 * h))).max() <= 1.0 + 1e-12
        assert np.abs(np.linalg.eigvals(matrix(1.001 * h))).max() > 1.0
    assert variational_step_limit(*given)[0] == pytest.approx(min(2.0 / w, 1.0 / c))


@pytest.mark.parametrize("damping", [1990.0, 2001.0, 3000.0, 1e4])
def test_overdamped_springs_are_included(damping):
    """The limit of h^2 w^2 + 2 h c = 4."""
    wanted = 4.0 / (damping + math.sqrt(damping**2 + 4.0 * K))
    for factor in (0.95, 1.5):
        h = factor * wanted
        scene = oscillator(damping=damping)
        found = longest_step(scene, integrator="semi_implicit_euler", step=h, duration=1000 * h)
        assert found == (pytest.approx(wanted, rel=5e-3) if factor > 1 else None)


def test_a_scene_without_degrees_of_freedom_is_not_warned_of():
    """A slider that is driven, with a constraint beside the spring that agrees with it."""
    scene = oscillator()
    ends = scene["springs"]["k"]["between"]
    slider = {"type": "prismatic", "child": "m", "axis": [1, 0, 0], "motion": {"position": 0.0}}
    rod = {"rod": {"type": "distance", "between": ends, "length": 1.0}}
    assert longest_step(scene | {"joints": {"s": slider}, "constraints": rod}, integrator="rk4", step=1e-3) is None


def test_linearized_forces_agree_with_finite_differences():
    """A spring out of balance on a ball joint, of which K is the derivative of the moment in axes that do not move.

    At rest and without gravity the moment in the axes of the body is M a.
    """
    anchor = {"body": "world", "point": [0.4, 0.3, -0.2]}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"b": {"mass": 1.0, "inertia": {"principal": [0.1, 0.2, 0.3]}}},
        "joints": {"j": {"type": "spherical", "child": "b"}},
        "springs": {
            "s": {
                **{"between": [anchor, {"body": "b", "point": [0.5, 0, 0.1]}], "stiffness": 90.0, "rest_length": 0.1},
                "damping": 7.0,
            }
        },
    }
    run = start(scene)
    model, state = run.compiled.model, run.state
    K, D = force_stiffness_and_damping(model, state, np.arange(3))

    def moment(shift, rates=0.0):
        moved = state._replace(q=state.q.copy(), v=state.v + rates)
        displace(model.system.tree, moved.q, shift, 1.0)
        _, _, a = acceleration_derivatives(model, moved, np.eye(3))
        return Rotation.from_rotvec(shift).apply(linearization_of(model, moved).M @ a)

    h = 1e-5
    differences = np.array([(moment(h * e) - moment(-h * e)) / (2.0 * h) for e in np.eye(3)]).T
    np.testing.assert_allclose(K, differences, rtol=1e-7, atol=1e-7)
    assert np.abs(K - K.T).max() > 1.0
    still = np.zeros(3)  # gyroscopic moments are even in the rates
    differences = np.array([(moment(still, h * e) - moment(still, -h * e)) / (2.0 * h) for e in np.eye(3)]).T
    np.testing.assert_allclose(D, differences, rtol=1e-7, atol=1e-7)
