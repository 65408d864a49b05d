"""Regularity of general joints: singular starts refused, singular positions reported, domains enforced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.errors import SceneError
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare

HEAD = """
mbsim: 1
name: shaped
bodies: {b: {mass: 1, inertia: {principal: [0.1, 0.2, 0.25]}}}
joints:
  j: {child: b, %s}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4, method: %s}
output: {every: 10 ms}
"""
BEZIER = "type: curve, curve: {type: bezier, points: [[0, 0, 1], [0.5, 0, 0], [1, 0, 0.5]]}, q: 0.1"
METHODS = ("aba", "redmax", "baraff", "variational", "variational_maximal")


def scene(folder: Path, joint: str, method: str = "aba", **settings):
    path = folder / "scene.yaml"
    text = HEAD % (joint, method)
    if "variational" in method:
        text = text.replace(", integrator: rk4", "")
    path.write_text(text)
    return prepare(path, [f"{key}={value}" for key, value in settings.items()])


SPHERE = (
    "type: symbolic, coordinates: [u, v], parameters: {r: 1}, "
    "translation: ['r*cos(u)*cos(v)', 'r*sin(u)*cos(v)', 'r*sin(v)']"
)
SINGULAR = {
    "cusp": ("type: curve, curve: {type: cycloid, radius: 1}", "full rank"),
    "square": ("type: symbolic, coordinates: [s], translation: ['s**2', 0, 0]", "full rank"),
    "alike": ("type: symbolic, coordinates: [a, b], translation: ['a + b', '2*a + 2*b', 0]", "full rank"),
    "pole": (f"{SPHERE}, q: [0, 90 deg]", "full rank"),
    "root": ("type: symbolic, coordinates: [s], translation: [s, 's**1.5', 0]", "is not finite"),
    "inflection": (
        "type: curve, orientation: frenet, q: 0.5, "
        "curve: {type: bezier, points: [[0, 0, 0], [1, 1, 0], [2, -1, 0], [3, 0, 0]]}",
        "is not finite",
    ),
    "straight": (
        "type: curve, orientation: frenet, curve: {type: bezier, points: [[0, 0, 0], [1, 0, 0]]}, q: 0.5",
        "not defined anywhere",
    ),
}


@pytest.mark.parametrize(("joint", "message"), SINGULAR.values(), ids=SINGULAR)
def test_a_motion_that_is_singular_at_the_start_is_refused(tmp_path, joint, message):
    with pytest.raises(SceneError, match=message) as refusal:
        scene(tmp_path, joint)
    assert "scene.yaml:6:3: joints.j: " in str(refusal.value)


POWERS = {
    "motion": "type: symbolic, coordinates: [s], parameters: {a: 1, n: 1}, translation: [s, 0, 'a*s**n']",
    "curve": (
        "type: curve, orientation: frenet, curve: {type: expression, parameters: {n: 2}, position: [s, 0, 's**n']}"
    ),
    "surface": (
        "type: surface_surface, child_surface: {type: sphere, radius: 0.1}, q: [0.2, 0, 0, 0], "
        "parent_surface: {type: expression, parameters: {a: 0.3, n: 2}, position: [u, v, 'a*(u**n + v**n)']}"
    ),
}


@pytest.mark.parametrize("joint", POWERS.values(), ids=POWERS)
def test_powers_of_zero_are_no_singularity(tmp_path, joint):
    assert scene(tmp_path, joint).run(MemorySink()).outcome.status == "complete"


def test_a_fixed_value_outside_the_domain_of_an_expression_is_refused(tmp_path):
    surface = "parent_surface: {type: expression, position: [u, v, 'sqrt(u)']}, child_surface: {type: plane}"
    with pytest.raises(SceneError, match=r"cannot be evaluated: sqrt\(-1\) is not a real number"):
        scene(tmp_path, f"type: surface_surface, {surface}, fixed: {{u1: -1, spin: 0}}")


@pytest.mark.parametrize("limits", ["[-5, 5]", "[0.05, null]"])
def test_the_domain_holds_beside_wide_limits(tmp_path, limits):
    sink = MemorySink()
    scene(tmp_path, f"{BEZIER}, ends: limit, limits: {limits}").run(sink)
    assert 0.99 < np.ravel(sink.trajectory().channel("joints/j/q").values).max() <= 1.0 + 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_leaving_the_domain_stops_the_run(tmp_path, method):
    sink = MemorySink()
    summary = scene(tmp_path, BEZIER, method).run(sink)
    assert summary.outcome.status == "diverged"
    assert "joint `j` left its domain before t = 0.5" in summary.outcome.message
    assert "the domain is 0 to 1" in summary.outcome.message
    q = np.ravel(sink.trajectory().channel("joints/j/q").values)
    assert 0.9 < q[-1] <= 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_holds_at_the_end_of_the_domain(tmp_path, method):
    sink = MemorySink()
    assert scene(tmp_path, f"{BEZIER}, ends: limit", method).run(sink).outcome.status == "complete"
    q = np.ravel(sink.trajectory().channel("joints/j/q").values)
    assert 0.99 < q.max() <= 1.0 + 1e-6
    assert np.ravel(sink.trajectory().channel("energy/dissipation/joints/j/limits").values)[-1] > 0.0


def test_formulas_extend_beyond_the_domain(tmp_path):
    sink = MemorySink()
    assert scene(tmp_path, f"{BEZIER}, ends: extend").run(sink).outcome.status == "complete"
    assert np.ravel(sink.trajectory().channel("joints/j/q").values).max() > 1.1


def test_limits_of_a_joint_must_lie_within_its_domain(tmp_path):
    sink = MemorySink()
    scene(tmp_path, f"{BEZIER}, ends: limit, limits: [null, 0.6]").run(sink)
    assert 0.59 < np.ravel(sink.trajectory().channel("joints/j/q").values).max() <= 0.6 + 1e-6


def test_approaching_a_singular_position_is_warned_of(tmp_path):
    summary = scene(tmp_path, f"{SPHERE}, q: [0, 1.5703], v: [0, -1]").run(MemorySink())
    assert summary.outcome.status == "complete"
    assert "joint `j` came near a singular position" in summary.outcome.message
    away = scene(tmp_path, f"{SPHERE}, q: [0, 0.5], v: [1, 0]", **{"simulation.duration": "0.3 s"}).run(MemorySink())
    assert away.outcome.message == ""


SIZES = pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3])


@SIZES
def test_a_pole_is_warned_of_at_any_size(tmp_path, size):
    joint = f"{SPHERE.replace('r: 1', f'r: {size}')}, q: [0, 1.5703], v: [0, -1]"
    message = scene(tmp_path, joint, gravity=[0, 0, 0]).run(MemorySink()).outcome.message
    assert "joint `j` came near a singular position" in message


BALLS = """
mbsim: 1
vars: {u: 1}
gravity: [0, 0, "${-9.81*u}"]
bodies: {ball: {mass: 2, shapes: [{type: sphere, radius: "${0.25*u}"}]}}
joints:
  touch: {type: surface_surface, child: ball, parent_surface: {type: sphere, radius: "${0.4*u}"},
          child_surface: {type: sphere, radius: "${0.25*u}"}, q: [0.3, -0.2, 0.1, 0.25], v: [0.5, 0.2, -0.4, 0.3]}
simulation: {duration: 20 ms, step: 1 ms}
"""


@SIZES
def test_a_small_joint_is_not_singular(tmp_path, size):
    """Of two balls that roll and slide on each other, turns and slides have the same share at any size."""
    (tmp_path / "scene.yaml").write_text(BALLS)
    assert prepare(tmp_path / "scene.yaml", [f"vars.u={size}"]).run(MemorySink()).outcome.message == ""


GIMBALS = {
    "euler": "type: spherical, parametrization: euler_xzx, q: {axis: [0, 0, 1], angle: 60 deg}, v: [1e-3, 2e-4, -3]",
    "composite": "type: composite, parts: [{type: revolute, axis: [1, 0, 0]}, {type: revolute, axis: [0, 0, 1]}, "
    "{type: revolute, axis: [1, 0, 0]}], q: [0, 60 deg, 0], v: [1e-3, -3, 2e-4]",
}


@pytest.mark.parametrize("gimbal", GIMBALS)
def test_a_run_that_diverges_in_a_gimbal_names_its_parametrization(tmp_path, gimbal):
    """The middle angle falls to 0 at 0.35 s, where the outer axes coincide; as a quaternion the joint has no axes."""
    outcome = scene(tmp_path, GIMBALS[gimbal]).run(MemorySink()).outcome
    assert outcome.status == "diverged"
    assert "joint `j` came near a singular position of its parametrization at t = 0.34 s" in outcome.message
    assert "`parametrization: quaternion`" in outcome.message
    free = GIMBALS["euler"].replace("euler_xzx", "quaternion")
    assert scene(tmp_path, free).run(MemorySink()).outcome.message == ""


TOP = """
mbsim: 1
bodies: {b: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.05]}}}
joints: {j: {child: b, %s}}
simulation: {duration: 1 s, step: 1 ms, integrator: %s}
"""
START = "q: {rotvec: [0.1, 0.001, 0.002]}, v: [0.5, 2, 3]"


def test_a_failed_run_names_the_gimbal_that_is_nearly_singular(tmp_path):
    """The middle angle is asin(hypot(0.001, 0.002)) at first; the other coordinates that the remedy names suffice."""

    def outcome_of(joint, integrator):
        (tmp_path / "scene.yaml").write_text(TOP % (joint, integrator))
        return prepare(tmp_path / "scene.yaml").run(MemorySink()).outcome

    for integrator, status in (("rk4", "untrusted"), ("sdirk2", "diverged"), ("semi_implicit_euler", "untrusted")):
        outcome = outcome_of(f"type: spherical, parametrization: euler_xzx, {START}", integrator)
        assert outcome.status == status
        assert (
            "make `j` a `spherical` joint with `parametrization: quaternion`, or choose another seq" in outcome.message
        )
        assert (
            "singular position of its parametrization at t = 0 s, where its angle 2 is 0.00224 rad" in outcome.message
        )
    assert outcome_of(f"type: spherical, {START}", "rk4").message == ""
    turns = ", ".join(f"{{type: revolute, axis: [{axis}]}}" for axis in ("1, 0, 0", "0, 1, 0", "0, 0, 1"))
    assert outcome_of(f"type: composite, parts: [{turns}], q: [0.1, 0.001, 0.002], v: [0.5, 2, 3]", "rk4").message == ""


JUMPS = {
    "a Frenet frame where its curve is straight": (
        "type: curve, orientation: frenet, curve: {type: expression, position: [s, 0, 's**3 - s']}, q: -0.5, v: 3"
    ),
    "a surface by expressions at its pole": (
        "type: surface_surface, child_surface: {type: sphere, radius: 0.1}, fixed: {spin: 0}, v: [0, 3, 0, 0], "
        "q: [0, 1, 0.3, 0.2], parent_surface: "
        "{type: expression, position: ['cos(u)*cos(v)', 'sin(u)*cos(v)', 'sin(v)']}"
    ),
}


@pytest.mark.parametrize("case", JUMPS)
def test_a_discontinuous_frame_is_warned_of(tmp_path, case):
    summary = scene(tmp_path, JUMPS[case], **{"simulation.duration": "0.4 s"}).run(MemorySink())
    assert "the frame of joint `j` jumped between t = " in summary.outcome.message


SMOOTH = {
    "far between two looks": "type: curve, curve: {type: helix, radius: 1, pitch: 0.5}, orientation: tangent, v: 150",
    "across the pole of an ellipsoid": (
        "type: surface_surface, child_surface: {type: sphere, radius: 0.1}, fixed: {spin: 0}, v: [0, 3, 0, 0], "
        "q: [0, 1, 0.3, 0.2], parent_surface: {type: ellipsoid, radii: [1, 1.2, 0.9]}"
    ),
}


@pytest.mark.parametrize("case", SMOOTH)
def test_a_continuous_frame_is_not_warned_of(tmp_path, case):
    summary = scene(tmp_path, SMOOTH[case], **{"simulation.duration": "0.4 s"}).run(MemorySink())
    assert "jumped" not in summary.outcome.message


def test_a_run_that_diverges_near_a_singular_position_reports_the_position(tmp_path):
    """An egg in a tube that is narrower than itself: its curvature and that of the tube become equal."""
    tube = "{type: torus, major_radius: 0.5, minor_radius: 0.02, inside: true}"
    egg = "{type: ellipsoid, radii: [0.03, 0.02, 0.02]}"
    joint = f"type: surface_surface, parent_surface: {tube}, child_surface: {egg}, q: [0, -60 deg, 0, 0]"
    outcome = scene(tmp_path, joint).run(MemorySink()).outcome
    assert outcome.status == "diverged"
    assert "joint `j` came near a singular position" in outcome.message


def test_a_prescribed_coordinate_may_be_constant(tmp_path):
    """A piston at its dead centre, which a crank drives through it."""
    piston = "type: symbolic, coordinates: {a: rad}, translation: [0, 0, '0.1*cos(a) + sqrt(0.09 - (0.1*sin(a))**2)']"
    sink = MemorySink()
    summary = scene(tmp_path, f"{piston}, motion: {{velocity: 20}}").run(sink)
    assert (summary.outcome.status, summary.outcome.message) == ("complete", "")


def test_a_prescribed_coordinate_that_leaves_its_domain_stops_the_run_too(tmp_path):
    driven = BEZIER.replace("q: 0.1", "q: 0.1, motion: {velocity: 2}")
    summary = scene(tmp_path, driven).run(MemorySink())
    assert summary.outcome.status == "diverged"
    assert "left its domain before t = 0.46" in summary.outcome.message
