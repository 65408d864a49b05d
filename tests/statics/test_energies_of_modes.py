"""Shares of elements in the energy of modes, by closed forms and by the stiffness of all of them."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.studies.statics.study import OVERRIDES
from multibody_cli.studies.vibration.elements import energies_of_elements
from multibody_cli.studies.vibration.subject import subject_of

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

GALLERY = Path(__file__).parents[2] / "scenes/gallery"
SETTINGS = "simulation: {duration: 1 s, step: 1 ms}\n"


def test_two_masses_share_the_energy_of_their_springs() -> None:
    """With equal masses and springs, the amplitudes are 1 and the golden ratio, and its inverse."""
    rail, body = "type: prismatic, axis: [1, 0, 0]", "{mass: 1, inertia: {principal: [1, 1, 1]}}"
    found = mbsim.modes(f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {body}, b: {body}}}
joints: {{a: {{{rail}, child: a, stiffness: 9}}, b: {{{rail}, child: b, parent: a, stiffness: 9}}}}
{SETTINGS}""")
    golden = (1 + math.sqrt(5)) / 2
    for mode, stretch in zip(found.modes, (golden - 1, -1 / golden - 1), strict=True):
        exact = np.array([1.0, stretch**2]) / (1.0 + stretch**2)
        assert [mode.elements["joints.a"], mode.elements["joints.b"]] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("equilibrium", [False, True])
def test_gravity_has_a_negative_share_in_a_rod_upside_down(equilibrium: bool) -> None:
    """U'' = k - m g l: the spring has k/(k + m g l), gravity -m g l/(k + m g l)."""
    m, g, length, k = 2.0, 9.81, 0.7, 30.0
    [mode] = mbsim.modes(
        f"""mbsim: 1
bodies: {{rod: {{mass: {m}, com: [0, 0, {length}], inertia: {{principal: [0.1, 0.1, 0.1]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: rod, stiffness: {k}}}}}
{SETTINGS}""",
        equilibrium=equilibrium,
    ).modes
    total = k + m * g * length
    assert mode.elements == pytest.approx({"joints.hinge": k / total, "gravity": -m * g * length / total}, rel=1e-9)


@pytest.mark.parametrize("equilibrium", [False, True])
def test_a_string_under_tension_has_its_energy_in_a_constraint(equilibrium: bool) -> None:
    """A bead at the end of a thread of 1 m under a force of 20 N: the energy of the force is linear."""
    found = mbsim.modes(
        f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  bead: {{kind: point, mass: 1, position: [1, 0, 0]}}
forces: {{pull: {{body: bead, force: [20, 0, 0]}}}}
constraints:
  thread: {{type: distance, between: [{{body: world}}, {{body: bead}}], length: 1}}
{SETTINGS}""",
        equilibrium=equilibrium,
    )
    assert len(found.modes) == 2
    for mode in found.modes:
        assert mode.exponent == pytest.approx(1j * math.sqrt(20.0), rel=1e-8)
        assert mode.elements == {"constraints.thread": pytest.approx(1.0, rel=1e-9)}


def test_inertia_at_a_constant_rate_has_a_share() -> None:
    """A slider on a spring in a turning tube: U'' = k - m w^2."""
    k, m, w = 100.0, 2.0, 5.0
    found = mbsim.modes(
        f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  tube: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  slider: {{mass: {m}, inertia: {{principal: [0, 0, 0]}}}}
joints:
  spin: {{type: revolute, axis: [0, 0, 1], child: tube, motion: {{velocity: {w}}}}}
  rail: {{type: prismatic, axis: [1, 0, 0], parent: tube, child: slider, stiffness: {k}}}
{SETTINGS}""",
        steady={"spin": None},
    )
    total = k + m * w**2
    [mode] = found.modes
    assert mode.exponent.imag == pytest.approx(math.sqrt(k / m - w**2), rel=1e-9)
    assert mode.bodies == {"slider": pytest.approx(1.0, rel=1e-12)}
    assert mode.elements == pytest.approx({"joints.rail": k / total, "inertia": -m * w**2 / total}, rel=1e-9)


def sum_of_energies(source: object) -> None:
    """Compare the sums over all elements with half of the stiffness along its directions."""
    prepared = mbsim.load(source, list(OVERRIDES)).prepared  # type: ignore[arg-type]
    subject = subject_of(prepared, equilibrium=True)
    assert subject.statics is not None
    found = subject.statics.found
    energies = energies_of_elements(subject.model, subject.state, found.multipliers, found.directions.astype(complex))
    total = np.sum([*energies.values()], axis=0)
    np.testing.assert_allclose(total, 0.5 * found.stiffness, atol=1e-9 * np.abs(found.stiffness).max())


@pytest.mark.parametrize(
    "scene",
    ["bushing", "leg_muscles", "floating_ring", "elastic_ropes", "rolling_disc", "torus_chain", "elastic_tendon"],
)
def test_energies_add_up_to_the_stiffness(scene: str) -> None:
    sum_of_energies(GALLERY / f"{scene}.yaml")


def test_energies_of_a_loop_add_up_to_the_stiffness() -> None:
    sum_of_energies(runpy.run_path(str(Path(__file__).with_name("test_static_scenes.py")))["fourbar"](0.9))
