"""Errors measured by `mbsim bench --accuracy` against closed forms and orders of convergence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.errors import RunFailed
from multibody_cli.studies.bench.accuracy import ReferenceComparison, common_instants
from multibody_cli.studies.bench.options import setup_of
from multibody_cli.studies.simulation import PreparedSimulation, prepare

SLIDER = """\
mbsim: 1
bodies: {cart: {mass: 2, inertia: {principal: [1, 1, 1]}}}
joints: {slide: {type: prismatic, child: cart, axis: [1, 0, 0], q: 1, stiffness: 50}}
simulation: {duration: 2, step: 10 ms, integrator: semi_implicit_euler}
"""
"""An oscillator with angular frequency 5 rad/s and amplitude 1 m."""

STOP = """\
mbsim: 1
bodies: {cart: {mass: 2, inertia: {principal: [1, 1, 1]}}}
joints: {slide: {type: prismatic, child: cart, axis: [1, 0, 0], q: 1, stiffness: 62, limits: [-0.5, 2]}}
simulation: {duration: 1, step: 10 ms, integrator: rk4}
"""
"""One that loses its velocity at a stop, at the end of the step in which it passes it: 0.37625, 0.3775 or 0.38 s."""

DOUBLE = """\
mbsim: 1
bodies:
  upper: {mass: 1, shapes: [{type: box, size: [1, 0.1, 0.1]}]}
  lower: {mass: 1, shapes: [{type: box, size: [1, 0.1, 0.1]}]}
joints:
  shoulder: {type: revolute, child: upper, axis: [0, 1, 0], child_origin: {position: [-0.5, 0, 0]}}
  elbow: {type: revolute, parent: upper, child: lower, axis: [0, 1, 0],
          origin: {position: [0.5, 0, 0]}, child_origin: {position: [-0.5, 0, 0]}}
simulation: {duration: 1, step: 10 ms, integrator: semi_implicit_euler}
"""


@pytest.fixture
def write(tmp_path: Path):
    """Write a scene, and return the function that prepares it."""

    def written(text: str):
        path = tmp_path / "scene.yaml"
        path.write_text(text)
        return lambda settings=(): prepare(path, [*settings])

    return written


def errors(ready, settings: Sequence[tuple[str, ...]]) -> tuple[ReferenceComparison, list[float]]:
    """Give the errors of several settings of a scene against one reference."""
    simulations: list[PreparedSimulation] = [ready(one) for one in settings]
    comparison = ReferenceComparison(simulations, ready)
    return comparison, [comparison.error_of(simulation) or 0.0 for simulation in simulations]


@pytest.mark.parametrize(("integrator", "order"), [("semi_implicit_euler", 1), ("rk4", 4)])
def test_the_error_decreases_with_the_order_of_the_integrator(write, integrator: str, order: int) -> None:
    steps = [(f"simulation.integrator={integrator}", f"simulation.step={h}") for h in (0.01, 0.005, 0.0025)]
    comparison, found = errors(write(DOUBLE), steps)
    assert comparison.reference.integrator == "dop853"
    assert comparison.reference.error < 1e-10
    ratios = np.array(found[:-1]) / np.array(found[1:])
    np.testing.assert_allclose(ratios, 2.0**order, rtol=0.1)


def test_the_error_is_that_of_the_closed_form(write) -> None:
    """x = cos(5 t); of semi-implicit Euler, x_k from its own recurrence."""
    h, steps = 0.01, 200
    x, v, worst = 1.0, 0.0, 0.0
    for k in range(1, steps + 1):
        v -= h * 25.0 * x
        x += h * v
        if k % 2 == 0:  # at 100 instants
            worst = max(worst, abs(x - np.cos(5.0 * h * k)))
    ready = write(SLIDER)
    comparison, [found] = errors(ready, [()])
    assert comparison.instants == 100
    np.testing.assert_allclose(found, worst, rtol=1e-9)


def test_without_an_adaptive_integrator_the_reference_is_a_fine_step(write) -> None:
    comparison, [found] = errors(write(STOP), [()])
    assert (comparison.reference.method, comparison.reference.integrator) == ("aba", "rk4")
    assert comparison.reference.settings == ("simulation.step=0.00125",)
    # an impact is met to a step, so that this reference is of first order, and says so of itself
    assert 1e-4 < comparison.reference.error < found


BLOCK = """\
mbsim: 1
gravity: [4.905, 0, -9.81]
world: {shapes: [{type: plane}]}
contacts: {friction: 0.2}
bodies: {block: {mass: 1, shapes: [{type: box, size: [1, 1, 0.2]}], position: [0, 0, 0.1]}}
simulation: {duration: 0.1, step: 10 ms, method: variational}
"""
"""A block that slides with an acceleration of 2.943 m/s^2, so that steps of h displace it by 0.0147 (1 + h / 0.1) m."""


@pytest.mark.parametrize("method", ["variational", "aba"])
def test_contacts_have_a_reference_of_an_integrator_for_impacts(write, method: str) -> None:
    comparison, [found] = errors(write(BLOCK), [(f"simulation.method={method}",)])
    assert (comparison.reference.method, comparison.reference.integrator) == ("aba", "semi_implicit_euler")
    assert comparison.reference.settings == ("simulation.step=0.0003125",)
    assert found == pytest.approx((0.1 - 0.003125) * 0.5 * 2.943 * 0.1**2, rel=1e-6)
    assert comparison.reference.error == pytest.approx(0.003125 * 0.5 * 2.943 * 0.1**2, rel=1e-6)


def test_affine_bodies_are_measured_with_another_method(write) -> None:
    affine = SLIDER.replace("cart: {mass", "cart: {kind: affine, mass").replace(
        "joints: {slide: {type: prismatic, child: cart, axis: [1, 0, 0], q: 1, stiffness: 50}}\n", ""
    )
    ready = write(affine.replace("step:", "method: baraff, step:"))
    comparison, _ = errors(ready, [()])
    assert comparison.reference.method == "aba"


def test_a_run_that_diverges_has_no_error(write) -> None:
    ready = write(SLIDER)
    comparison, _ = errors(ready, [()])
    stiff = ready(("joints.slide.stiffness=1e14",))
    assert comparison.error_of(stiff) is None
    judged = comparison.judge(stiff, 1, setup_of(stiff))
    assert (judged.status, judged.error, judged.cost) == ("diverged", None, None)


def test_without_a_reference_nothing_is_compared(write) -> None:
    ready = write(SLIDER.replace("stiffness: 50", 'force: "50*q**3"'))
    with pytest.raises(RunFailed, match="no reference run for the errors"):
        errors(ready, [()])


@pytest.mark.parametrize(
    ("steps", "instants"), [(("0.01",), 100), (("0.01", "0.02"), 100), (("0.02", "0.05"), 20), (("0.01", "2"), 1)]
)
def test_instants_are_whole_steps_of_every_run(write, steps: tuple[str, ...], instants: int) -> None:
    ready = write(SLIDER)
    assert common_instants([ready((f"simulation.step={step}",)) for step in steps]) == instants


def test_an_adaptive_integrator_takes_any_instants(write) -> None:
    ready = write(SLIDER)
    adaptive = ready(("simulation.integrator=dop853", "simulation.step=0.7"))
    assert common_instants([adaptive]) == 100
    assert common_instants([adaptive, ready(("simulation.step=0.05",))]) == 40
