"""Method `symbolic` against `aba`: states, reactions and energies, with all kinds of forces and constraints."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from loops import start
from machines import JointForces, Machine, constant, expression, observed, pack
from strategies import OBLIQUE, X, Y, machines, random_link
from test_loop_runs import spatial_four_bar

import mbsim
from multibody_cli.forces.body_drag import DragSpec
from multibody_cli.joints.contract import ball, exponential_ball, floating, sliding, turning
from multibody_cli.methods import METHODS

CHANNELS = (
    "coordinates", "velocity", "acceleration", "accounts", "reaction", "kinetic", "potential", "elastic", "position",
    "quaternion", "linear_velocity", "angular_velocity", "linear_momentum", "angular_momentum", "multiplier",
)  # fmt: skip


RECURSIONS = ("generated", "numeric")


def bush() -> list:
    """A floating body with branches of all kinds of joints."""
    rng = np.random.default_rng(8)
    runs = [(floating(),), (turning(OBLIQUE),), (ball(),), (turning(X), turning(Y)), (exponential_ball(),)]
    runs += [(sliding(OBLIQUE), turning(Y)), ()]
    parents = [0, 1, 1, 2, 2, 3, 4]
    return [random_link(rng, row, parent, runs[row - 1], row % 2 == 0) for row, parent in enumerate(parents, 1)]


WAYS = {
    "left alone": {},
    "actuators and springs": {
        "joint_forces": {
            2: JointForces(force=(constant(0.4),)),
            4: JointForces(stiffness=(3.0, 2.0), damping=(0.2, 0.1)),
        }
    },
    "pushed and driven": {
        "joint_forces": {4: JointForces(motion=("acceleration", (None, expression("0.3*sin(2*t)"))))},
        "drags": [(5, DragSpec(body="b", viscous={"linear": 0.3, "angular": 0.1}))],
    },
}


def assert_alike(found, expected, within: float) -> None:
    for channel in CHANNELS:
        one, other = getattr(found, channel), getattr(expected, channel)
        np.testing.assert_allclose(
            one, other, rtol=0, atol=within * (1 + np.abs(other).max(initial=0)), err_msg=channel
        )


def shown_by(packed, integrator: str, name: str, **options) -> list:
    """Observed quantities at the start and 20 ms later."""
    state, method = packed.fresh_state(), packed.method(integrator, 1e-3, name=name, **options)
    method.start(state)
    first = observed(packed, state, method.work)
    method.advance(state, 0.02)
    return [first, observed(packed, state, method.work)]


@pytest.mark.parametrize(
    ("integrator", "recursion"),
    [("semi_implicit_euler", "generated"), ("dop853", "generated"), ("semi_implicit_euler", "numeric")],
)
@pytest.mark.parametrize("way", WAYS)
def test_observed_quantities_agree_with_aba(way, integrator, recursion):
    packed = pack(Machine(bush(), **WAYS[way]))
    expected = shown_by(packed, integrator, "aba")
    shown = shown_by(packed, integrator, "symbolic", recursion=recursion)
    for found, other, within in zip(shown, expected, (1e-10, 1e-9), strict=True):
        assert_alike(found, other, within)


@given(machines())
@settings(max_examples=40)
def test_numbers_in_generated_joints_give_the_accelerations_of_aba(machine):
    packed = pack(machine)
    (expected, _), (found, _) = (
        shown_by(packed, "semi_implicit_euler", *way[:1], **way[1])
        for way in (("aba", {}), ("symbolic", {"recursion": "numeric"}))
    )
    assert_alike(found, expected, 1e-9)


def test_systems_without_forces_use_the_short_kernel():
    kind = METHODS["symbolic"]
    systems = {way: pack(Machine(bush(), **given)).model.system for way, given in WAYS.items()}
    for recursion in RECURSIONS:
        chosen = kind.variant_for(kind.Options(recursion=recursion), systems["left alone"])
        alone = chosen.direct.evaluate
        assert {way: chosen.dynamics(system).evaluate is alone for way, system in systems.items()} == {
            "left alone": True,
            "actuators and springs": True,
            "pushed and driven": False,
        }


@pytest.mark.parametrize("recursion", RECURSIONS)
def test_the_motion_of_a_closed_loop_agrees_with_aba(recursion):
    expected = start(spatial_four_bar(), "aba", step=1e-3).advance(0.05)
    found = start(spatial_four_bar(), "symbolic", step=1e-3, options={"recursion": recursion}).advance(0.05)
    assert_alike(found.observed(), expected.observed(), 1e-9)


@pytest.mark.parametrize("method", ["aba", "symbolic"])
@pytest.mark.parametrize(
    ("inertia", "joint"),
    [
        ("[0, 0, 0]", "type: revolute, child: a"),
        ("[1, 2, 2]", "type: composite, child: a, parts: [{type: revolute}, {type: revolute}]"),
    ],
)
def test_a_coordinate_without_inertia_is_reported_as_by_other_methods(inertia, joint, method):
    """Generated code knows before the run that the inertia of the coordinate is 0."""
    text = f"mbsim: 1\nbodies: {{a: {{mass: 1, inertia: {{principal: {inertia}}}}}}}\njoints: {{j: {{{joint}}}}}\n"
    run = mbsim.load(f"{text}simulation: {{duration: 1, step: 0.1, method: {method}}}\n").run(check=False)
    assert run.attrs["status"] == "diverged"
    assert re.search("joint j.* moves no mass or inertia, its axes coincide", run.attrs["message"])
