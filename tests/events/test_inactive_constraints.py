"""Constraints with `active: false`: the motion is that without them, by all methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from multibody_cli.document.source import SceneText
from multibody_cli.errors import SceneError
from multibody_cli.studies.simulation import prepare

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")

SCENE = """
mbsim: 1
bodies:
  a: {mass: 1, com: [0, 0, -0.4], inertia: {principal: [0.1, 0.2, 0.3]}}
  b: {mass: 2, com: [0, 0.1, -0.4], inertia: {principal: [0.3, 0.2, 0.1]}}
  c: {mass: 1, position: [0, 0, 2], inertia: {principal: [0.3, 0.2, 0.1]}}
joints:
  first: {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.5}
  second: {type: revolute, parent: a, child: b, axis: [1, 0, 0], origin: {position: [0, 0, -0.8]}, v: 1}
simulation: {duration: 0.2, step: 2 ms}
"""

BETWEEN = "type: distance, between: [{body: a}, {body: c}]"
TERMS = "[{body: a, angular: [0, 1, 0]}, {body: b, angular: [1, 0, 0]}]"
ELEMENTS = {
    "velocity": ("constraints", f"{{type: velocity, terms: {TERMS}}}"),
    "distance": ("constraints", f"{{{BETWEEN}, length: 0.5}}"),
    "limits": ("constraints", f"{{{BETWEEN}, limits: [null, 0.5]}}"),
    "expression": ("constraints", "{type: expression, inputs: {x: first}, value: x - 0.1}"),
    "rope": ("constraints", "{type: rope, over: [{body: a}, {body: c}]}"),
    "gear": ("couplings", "{type: gear, joints: [first, second], ratio: 2}"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_an_inactive_constraint_has_no_effect(element, method):
    section, text = ELEMENTS[element]
    spec = yaml.safe_load(text) | {"active": False}
    written = f"{SCENE}\n{section}: {{one: {yaml.safe_dump(spec, default_flow_style=True).strip()}}}\n"
    (_, without), (_, inactive) = (
        prepare(SceneText(one, Path("scene.yaml")), [f"simulation.method={method}"]).run_in_memory()
        for one in (SCENE, written)
    )
    for channel in ("joints/first/q", "joints/second/q", "bodies/position", "energy/total", "joints/first/force"):
        found, wanted = (run.channel(channel).values for run in (inactive, without))
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=channel)
    error, multiplier = (inactive.channel(f"{section}/one/{name}").values for name in ("error", "multiplier"))
    assert not error.any()
    assert not multiplier.any()


@pytest.mark.parametrize("method", ["aba", "variational"])
def test_an_inactive_constraint_removes_no_degree_of_freedom(method):
    for active, count in ((True, 7), (False, 8)):
        element = (
            f"constraints: {{one: {{type: velocity, active: {active}, terms: [{{body: a, angular: [0, 1, 0]}}]}}}}"
        )
        scene = SceneText(f"{SCENE}\n{element}\n", Path("scene.yaml"))
        assert prepare(scene, [f"simulation.method={method}"]).compiled.n_dofs == count


def test_what_always_acts_is_refused():
    gear = "couplings: {one: {type: gear, joints: [first, second], ratio: 2, reduce: true, active: false}}"
    rope = "constraints: {one: {type: rope, over: [{body: a}, {body: world, friction: 0.1}, {body: c}], active: false}}"
    with pytest.raises(SceneError) as error:
        prepare(SceneText(f"{SCENE}\n{gear}\n{rope}\n", Path("scene.yaml")))
    assert "couplings.one.active: a coupling with `reduce: true` is a change of coordinates" in str(error.value)
    assert "constraints.one.active: a rope or belt with `friction` always acts" in str(error.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "joint", ["type: fixed", "type: revolute, axis: [0, 1, 0], stiffness: 5, q: 0.3", "type: spherical"]
)
def test_an_inactive_joint_has_no_effect(joint, method):
    written = SCENE.replace("simulation:", f"  third: {{{joint}, parent: a, child: c, active: false}}\nsimulation:")
    (_, without), (_, inactive) = (
        prepare(SceneText(one, Path("scene.yaml")), [f"simulation.method={method}"]).run_in_memory()
        for one in (SCENE, written)
    )
    for channel in ("joints/first/q", "joints/second/q", "bodies/position", "energy/total", "joints/first/force"):
        found, wanted = (run.channel(channel).values for run in (inactive, without))
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=channel)
    np.testing.assert_allclose(inactive.channel("joints/third/constraint_error").values, 0.0, atol=1e-15)
    np.testing.assert_allclose(inactive.channel("joints/third/force").values, 0.0, atol=1e-12)


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff", "variational"])
def test_an_inactive_joint_has_no_effect_beside_contacts(method):
    scene = """
mbsim: 1
bodies:
  a: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.12], velocity: {linear: [1, 0.2, 0]}}
  b: {mass: 1, shapes: [{type: sphere, radius: 0.1}], position: [0.5, 0, 0.12]}
world: {shapes: [{type: plane}]}
contacts: {friction: 0.3}
simulation: {duration: 0.3, step: 2 ms}
"""
    written = scene + "joints: {latch: {type: fixed, parent: a, child: b, active: false}}\n"
    (_, without), (_, inactive) = (
        prepare(SceneText(one, Path("scene.yaml")), [f"simulation.method={method}"]).run_in_memory()
        for one in (scene, written)
    )
    for channel in ("bodies/position", "bodies/angular_velocity", "energy/total"):
        found, wanted = (run.channel(channel).values for run in (inactive, without))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=channel)
