"""Sensitivities of runs against the complex step through a dense formulation of the motion, and a closed form.

The oracle integrates M a + h = Q by the same Runge-Kutta method, in complex numbers, with the equations of
tests/oracle.py; the imaginary part of the result at an imaginary perturbation of 1e-30 is the exact derivative.
"""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import xarray

import mbsim
from multibody_cli.api import sensitivities as module
from multibody_cli.immutable import replace
from multibody_cli.kernel import is_interpreted
from multibody_cli.lanes.derivatives import Unsupported
from multibody_cli.packing.layout import joint_coordinate_layout

BODY = "{{mass: {m}, com: [{c}], inertia: {{principal: [{i}]}}}}"
TINY = 1e-30


def scene_of(bodies: str, joints: str, gravity: str = "[0, 0, -9.81]", duration: float = 0.4) -> str:
    return (
        f"mbsim: 1\nname: test\ngravity: {gravity}\nbodies: {{{bodies}}}\njoints: {{{joints}}}\n"
        f"simulation: {{duration: {duration}, step: 10 ms, integrator: rk4}}\n"
    )


def body(name: str, m: float, c: str, i: str) -> str:
    return f"{name}: {BODY.format(m=m, c=c, i=i)}"


A = body("a", 1.3, "0.1, 0.05, -0.4", "0.2, 0.3, 0.1")
B = body("b", 0.7, "0.2, 0.0, -0.3", "0.05, 0.08, 0.04")
C = body("c", 0.4, "0.0, 0.1, -0.2", "0.03, 0.02, 0.04")
HINGE = "type: revolute, axis: [0, 1, 0]"
AT = "origin: {position: [0.1, 0, -0.6]}"

SCENES = {
    "pendulum": (A, f"j: {{{HINGE}, child: a, q: 1.0, v: 0.5}}"),
    "damped": (A, f"j: {{{HINGE}, child: a, q: 1.0, v: 0.5, damping: 0.3}}"),
    "sprung": (A, "j: {type: prismatic, axis: [0, 0, 1], child: a, q: 0.2, stiffness: 30, damping: 1.5}"),
    "double": (
        f"{A}, {B}",
        f"j: {{{HINGE}, child: a, q: 1.2, v: 1}}, k: {{{HINGE}, parent: a, child: b, {AT}, v: -2}}",
    ),
    "crossed": (
        f"{A}, {B}",
        f"j: {{{HINGE}, child: a, q: 0.7}},"
        f" k: {{type: revolute, axis: [1, 0, 0], parent: a, child: b, {AT}, q: 0.4, v: 3}}",
    ),
    "universal": (A, "j: {type: universal, child: a, q: [0.5, 0.8], v: [1.0, -0.7]}"),
    "cylindrical": (
        A,
        "j: {type: cylindrical, axis: [0, 1, 0], child: a, q: [0.4, 0.1], v: [2.0, 0.3], stiffness: [1, 9]}",
    ),
    "crane": (
        f"{A}, {B}",
        f"j: {{type: prismatic, axis: [1, 0, 0], child: a, v: 0.4}}, k: {{{HINGE}, parent: a, child: b, {AT}, q: 0.9}}",
    ),
    "chain": (
        f"{A}, {B}, {C}",
        f"j: {{{HINGE}, child: a, q: 0.9}}, k: {{type: universal, parent: a, child: b, {AT}, q: [0.3, 0.1]}},"
        f" l: {{{HINGE}, parent: b, child: c, {AT}, v: 2.0, damping: 0.1}}",
    ),
    "branched": (
        f"{A}, {B}, {C}",
        f"j: {{{HINGE}, child: a, q: 0.9}}, k: {{{HINGE}, parent: a, child: b, {AT}, v: 1.0}},"
        f" l: {{type: screw, pitch: 0.2, axis: [1, 0, 0], parent: a, child: c, {AT}, q: 0.3}}",
    ),
}
BY_GENERATED_CODE = not is_interpreted()
TOLERANCE = 1e-10 if BY_GENERATED_CODE else 1e-8


def complex_step(scene: mbsim.Scene, parameter: str) -> np.ndarray:
    """Derivative of the final [q, v] with respect to a parameter."""
    prepared = scene.prepared
    layout = joint_coordinate_layout(prepared.scene, prepared.compiled.masses)
    links, state = list(layout.tree_links), prepared.fresh_state()
    q, v, gravity = state.q.astype(complex), state.v.astype(complex), np.array(prepared.scene.gravity, complex)
    step = 1j * TINY
    if parameter == "mass":
        links[0] = replace(links[0], mass=replace(links[0].mass, mass=links[0].mass.mass + step))
    elif parameter == "gravity":
        gravity[2] += step
    else:
        (q if parameter == "q" else v)[0] += step
    damping, stiffness = (joint_numbers(prepared, word) for word in ("damping", "stiffness"))

    def slope(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        M, h = oracle.equations(oracle.place(links, q, v, np.complex128), gravity)
        return oracle.solve(M, -h - damping * v - stiffness * q)

    h = scene.step
    for _ in range(round(scene.duration / h)):
        k1, l1 = v, slope(q, v)
        k2, l2 = v + h / 2 * l1, slope(q + h / 2 * k1, v + h / 2 * l1)
        k3, l3 = v + h / 2 * l2, slope(q + h / 2 * k2, v + h / 2 * l2)
        k4, l4 = v + h * l3, slope(q + h * k3, v + h * l3)
        q, v = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return np.concatenate([q, v]).imag / TINY


def joint_numbers(prepared, word: str) -> np.ndarray:
    """Dampings or stiffnesses of all coordinates."""
    found = np.zeros(prepared.compiled.model.nv)
    for joint in prepared.compiled.model.names.joints:
        given = getattr(prepared.scene.joints[joint.name], word)
        found[joint.columns] = 0.0 if given is None else given
    return found


@pytest.mark.parametrize("name", SCENES)
def test_sensitivities_of_the_final_state_are_those_of_the_complex_step(name):
    text = scene_of(*SCENES[name])
    scene = mbsim.load(text)
    first = scene.prepared.scene.joints["j"]
    several = len(first.q) > 1
    keys = {
        "mass": ("bodies.a.mass", 1.3),
        "q": ("joints.j.q[0]" if several else "joints.j.q", first.q[0]),
        "v": ("joints.j.v[0]" if several else "joints.j.v", first.v[0]),
        "gravity": ("gravity[2]", -9.81),
    }
    if first.q[0] == 0.0:
        del keys["q"]  # the scene omits it
    if first.v[0] == 0.0:
        del keys["v"]
    found = mbsim.sensitivities(text, dict(keys.values()))
    assert found.attrs["method"] == (
        "generated code" if BY_GENERATED_CODE else "differences of runs: interpreted kernels"
    )
    for place, parameter in enumerate(keys):
        expected = complex_step(scene, parameter)
        parts = [found[f"joints/{joint}/{x}"].values[-1, :, place] for x in "qv" for joint in scene.joints]
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=TOLERANCE * scale, err_msg=parameter)
        bounds = [found[f"error/joints/{joint}/{x}"].values[-1, :, place] for x in "qv" for joint in scene.joints]
        error = np.abs(np.concatenate(parts) - expected)
        assert (error <= np.concatenate(bounds) + 0.1 * TOLERANCE * scale).all()


def test_sensitivities_over_time_have_the_closed_form():
    """x = q cos(w t) with w^2 = k/m: derivatives by q, and by k in N/mm, over the whole run."""
    text = scene_of(
        body("a", 2.0, "0, 0, 0", "1, 1, 1"),
        "j: {type: prismatic, axis: [1, 0, 0], child: a, q: 0.3, stiffness: 50}",
        duration=1.0,
    ).replace("step: 10 ms", "step: 1 ms")
    found = mbsim.sensitivities(text, {"joints.j.q": 0.3, "joints.j.stiffness": "0.05 N/mm"}, ["joints/j/q", "energy"])
    t, w = found["time"].values, 5.0
    x = found["joints/j/q"]
    assert x.dims == ("time", "coordinates_1", "parameter")
    np.testing.assert_allclose(x.sel(parameter="joints.j.q")[:, 0], np.cos(w * t), rtol=0, atol=1e-9)
    by_stiffness = -0.3 * t * np.sin(w * t) / (2.0 * 2.0 * w) * 1000.0
    np.testing.assert_allclose(x.sel(parameter="joints.j.stiffness")[:, 0], by_stiffness, rtol=0, atol=1e-6)
    assert x.attrs["units"] == "(m) per unit; (m) per N/mm"
    assert "energy/elastic" in found
    assert "error/energy/elastic" in found


def by_differences(monkeypatch: pytest.MonkeyPatch, *args) -> xarray.Dataset:
    """The sensitivities by differences of whole runs."""

    def refuse(*_args):
        raise Unsupported("a test")

    with monkeypatch.context() as patched:
        patched.setattr(module, "differentiate", refuse)
        found = mbsim.sensitivities(*args)
    assert found.attrs["method"] == "differences of runs: a test"
    return found


@pytest.mark.parametrize("name", ["double", "chain"])
def test_differences_of_runs_are_those_of_the_complex_step(name, monkeypatch):
    text = scene_of(*SCENES[name])
    scene = mbsim.load(text)
    found = by_differences(monkeypatch, text, {"bodies.a.mass": 1.3})
    expected = complex_step(scene, "mass")
    parts = [found[f"joints/{joint}/{x}"].values[-1, :, 0] for x in "qv" for joint in scene.joints]
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=1e-8 * max(1.0, np.abs(expected).max()))


MACHINE = """\
mbsim: 1
name: machine
gravity: [0.3, 0, -9.81]
vars: {k: 12, amplitude: 3, frequency: 2.5, length: 0.8, tilt: 0.3, lever: 0.5, gain: 4, rate: 1.1, cable: 9,
  rotor: 0.05}
bodies:
  a: {mass: 1.2, shapes: [{type: box, size: [0.1, "${length}", 0.3]}]}
  b: {mass: 0.7, com: [0.1, 0, "${-lever/2}"], inertia: {principal: [0.05, 0.08, 0.04]}}
  c: {mass: 0.5, com: [0, 0.1, -0.2], inertia: {principal: [0.03, 0.02, 0.04]}}
joints:
  i: {type: spherical, child: a, v: [1, 0.5, "${rate}"], stiffness: "${k}", damping: 0.2}
  j: {type: revolute, axis: ["${sin(tilt)}", 0, "${cos(tilt)}"], parent: a, child: b, q: 0.4,
      origin: {position: [0.1, 0, "${-lever}"]}, force: "amplitude*sin(frequency*t)", damping: 0.1}
  k: {type: universal, parent: b, child: c, origin: {position: [0, 0.2, -0.3]}, q: [0.3, 0.1],
      force: ["-gain*q - 0.3*joints.j.v*v", "cos(frequency*t)"]}
springs:
  s: {between: [{body: world, point: [1, 0.2, 0]}, {body: c, point: [0, 0.1, "${-lever/3}"]}], stiffness: "${cable}",
      damping: 0.7, rest_length: "${length/2}"}
  u: {type: bushing, parent: a, child: c, origin: {position: [0.1, 0, 0], rotation: {axis: [0, 1, 1], angle: 2.5}},
      stiffness: {linear: [5, "${cable}", 7], angular: [1, 2, "${k/10}"]}, damping: {angular: [0.1, 0.2, 0]}}
actuators:
  m: {type: motor, joint: j, command: 0.3, stall_torque: 1 N m, no_load_speed: 20, rotor_inertia: "${rotor}"}
simulation: {duration: 0.5, step: 5 ms, integrator: INTEGRATOR}
output: {every: 50 ms}
"""


@pytest.mark.skipif(is_interpreted(), reason="nothing is generated")
@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_generated_code_agrees_with_differences_of_runs(integrator, monkeypatch):
    """Constants of springs, expressions, shapes, axes, frames and gravity; an initial velocity; many channels."""
    text = MACHINE.replace("INTEGRATOR", integrator)
    values = {
        "k": 12,
        "amplitude": 3,
        "frequency": 2.5,
        "length": 0.8,
        "tilt": 0.3,
        "lever": 0.5,
        "gain": 4,
        "rate": 1.1,
        "cable": 9,
        "rotor": 0.05,
    }
    keys = {f"vars.{name}": value for name, value in values.items()} | {"gravity[0]": 0.3}
    channels = [
        "joints/*/q",
        "joints/*/v",
        "bodies/position",
        "bodies/angular_velocity",
        "energy",
        "joints/*/force",
    ]
    found = mbsim.sensitivities(text, keys, channels)
    assert found.attrs["method"] == "generated code"
    other = by_differences(monkeypatch, text, keys, channels)
    assert set(found) == set(other)
    for path in found:
        if not path.startswith("error/"):
            scale = max(1.0, float(np.abs(other[path]).max()))
            np.testing.assert_allclose(found[path], other[path], rtol=0.0, atol=2e-9 * scale, err_msg=path)
    moved = np.abs(found["joints/k/v"][-1]).max(axis=0)
    assert (moved > 1e-5).all()


@pytest.mark.skipif(is_interpreted(), reason="nothing is generated")
def test_sensitivities_of_a_chaotic_run_are_exact_where_differences_of_runs_are_not(monkeypatch):
    text = scene_of(*SCENES["double"], duration=6.0).replace("q: 1.2, v: 1", "q: 3.0, v: 4")
    keys = {"joints.j.v": 4.0}
    found, other = mbsim.sensitivities(text, keys), by_differences(monkeypatch, text, keys)
    expected = complex_step(mbsim.load(text), "v")
    scale = np.abs(expected).max()
    last, rough = ([one[f"joints/{j}/{x}"].values[-1, 0, 0] for x in "qv" for j in "jk"] for one in (found, other))
    np.testing.assert_allclose(last, expected, rtol=0.0, atol=1e-9 * scale)
    assert np.abs(rough - expected).max() > 1e-4 * scale


def test_scenes_that_the_generated_code_does_not_support_say_so():
    text = scene_of(A, f"j: {{{HINGE}, child: a, q: 0.4, limits: [-1, 0.5], v: 2}}")
    found = mbsim.sensitivities(text, {"gravity[2]": -9.81})
    limits_or_spring = "limits of joints that act, or points of a spring that coincide"
    reason = limits_or_spring if BY_GENERATED_CODE else "interpreted kernels"
    assert found.attrs["method"] == f"differences of runs: {reason}"
    text = scene_of(A, f"j: {{{HINGE}, child: a, q: 0.4}}").replace("rk4", "linearly_implicit_euler")
    found = mbsim.sensitivities(text, {"gravity[2]": -9.81})
    assert found.attrs["method"].startswith("differences of runs: lanes do not support integrators")
    text = scene_of(*SCENES["pendulum"]).replace("duration: 0.4, step: 10 ms", "duration: '${T}', step: '${T/40}'")
    found = mbsim.sensitivities(f"{text}vars: {{T: 0.4}}\n", {"vars.T": 0.4})
    assert found.attrs["method"].endswith("the time steps or the output instants depend on a parameter")


def test_parameters_without_a_place_or_a_number_are_refused():
    text = scene_of(*SCENES["pendulum"])
    with pytest.raises(mbsim.SceneError, match="unknown key `jj`"):
        mbsim.sensitivities(text, {"joints.jj.q": 1.0})
    with pytest.raises(mbsim.ArgumentError, match="expected a number with or without a unit, found `fast`"):
        mbsim.sensitivities(text, {"joints.j.q": "fast"})
    with pytest.raises(mbsim.ArgumentError, match="expected parameters with their values"):
        mbsim.sensitivities(text, {})
