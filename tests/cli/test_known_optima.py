"""Optima of machines that an independent formulation knows: a trebuchet, and a suspension with its camber curve."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from command_result import Command

from multibody_cli.kernel import Floats


def searched(mbsim: Command, scene: str, *words: str) -> dict:
    """Optimize a scene; return the result."""
    Path("scene.yaml").write_text(scene)
    ending = mbsim("optimize", "scene.yaml", *words, "--force", "--json", "--jobs", "1")
    assert ending.code == 0, ending.stderr
    return json.loads(ending.stdout)


# --- trebuchet --------------------------------------------------------------------------------------------------------
TREBUCHET = """mbsim: 1
name: trebuchet
vars: {sling: 2.5, lean: 0.7}
bodies:
  arm: {mass: 40, com: [0, 0, 1.5], inertia: {principal: [100, 100, 1]}}
  weight: {mass: 1500, com: [0, 0, -0.5], inertia: {principal: [100, 100, 100]}}
  stone: {mass: 10, inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  axle: {type: revolute, child: arm, axis: [0, 1, 0], origin: {position: [0, 0, 4]}, q: "${lean - pi}"}
  hanger: {type: revolute, parent: arm, child: weight, axis: [0, 1, 0], origin: {position: [0, 0, -1]},
    q: "${pi - lean}"}
  sling: {type: revolute, parent: arm, child: stone, axis: [0, 1, 0], origin: {position: [0, 0, 4]},
    child_origin: {position: [0, 0, "${-sling}"]}, q: "${1.5*pi - lean}"}
simulation: {duration: 0.78 s, step: 2 ms, integrator: rk4}
"""
THROWN = (
    "-bodies.stone.position.x - bodies.stone.linear_velocity.x/9.81*(bodies.stone.linear_velocity.z"
    " + sqrt(bodies.stone.linear_velocity.z**2 + 19.62*bodies.stone.position.z))"
)


def thrown(sling: complex, lean: complex) -> complex:
    """Return the range, by the equations of Lagrange in the angles of arm, weight and sling to the vertical.

    sum_k A_jk (cos(x_j - x_k) x_k'' + sin(x_j - x_k) x_k'^2) = g B_j sin x_j
    """
    A = np.array([[40 * 2.25 + 1610 + 16 * 10 - 10, 750, 40 * sling], [750, 475, 0], [40 * sling, 0, 10 * sling**2]])
    A[2, 2] += 0.1
    B = np.array([60 - 1500 + 40, -750, 10 * sling])

    def rates(y: Floats) -> Floats:
        x, v = y
        turns = x[:, None] - x
        return np.array([v, np.linalg.solve(A * np.cos(turns), 9.81 * B * np.sin(x) - A * np.sin(turns) @ (v * v))])

    y, h = np.array([[lean - math.pi, 0, math.pi / 2], [0, 0, 0]], complex), 0.002
    for _ in range(390):
        k1 = rates(y)
        k2 = rates(y + h / 2 * k1)
        k3 = rates(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * (k2 + k3) + rates(y + h * k3))
    (arm, _, own), (arm_rate, _, rate) = y
    x, z = 4 * np.sin(arm) + sling * np.sin(own), 4 + 4 * np.cos(arm) + sling * np.cos(own)
    vx = 4 * arm_rate * np.cos(arm) + sling * rate * np.cos(own)
    vz = -4 * arm_rate * np.sin(arm) - sling * rate * np.sin(own)
    return x + vx / 9.81 * (vz + np.sqrt(vz * vz + 19.62 * z))


def slopes(at: Floats) -> Floats:
    """Return the derivatives of the range by sling and lean, by complex steps."""
    return np.array([thrown(*(at + 1e-30j * unit)).imag / 1e-30 for unit in np.eye(2)])


def test_the_throw_of_a_trebuchet_takes_a_third_of_the_runs_with_derivatives(mbsim: Command, folder: Path) -> None:
    """The optimum is where the derivatives of an independent formulation are zero, by Newton's method."""
    known = np.array([3.6, 0.85])
    for _ in range(5):
        hessian = np.array([slopes(known + 1e-4 * unit) - slopes(known - 1e-4 * unit) for unit in np.eye(2)]) / 2e-4
        known = known - np.linalg.solve(hessian, slopes(known))
    assert np.linalg.eigvalsh(hessian).max() < 0.0  # a maximum
    words = ("--minimize", THROWN, "--vary", "vars.sling=2.5,1.5,4", "--vary", "vars.lean=0.7,0.4,1.1")
    found, other = (searched(mbsim, TREBUCHET, *words, "--algorithm", name) for name in ("slsqp", "cobyqa"))
    assert found["derivatives"] == "exact derivatives"
    for one in (found, other):
        assert [one["best"]["vars.sling"], one["best"]["vars.lean"]] == pytest.approx(known, rel=1e-6)
        assert one["best"][f"{THROWN} final"] == pytest.approx(-thrown(*known).real, rel=1e-9)
    assert 3 * found["runs"] <= other["runs"]


# --- suspension -------------------------------------------------------------------------------------------------------
WISHBONE = """mbsim: 1
name: camber
gravity: [0, 0, 0]
vars: {{a: 0.35, b: 0.2, c: 0.26, x: 0.06, z: 0.22, s: 0.1}}
bodies:
  lower: {{mass: 3, inertia: {{principal: [0.01, 0.04, 0.04]}}}}
  knuckle: {{mass: 12, inertia: {{principal: [0.2, 0.2, 0.2]}}, points: {{wheel: ["${{s}}", 0, 0.08]}}}}
  upper: {{mass: 2, inertia: {{principal: [0.01, 0.02, 0.02]}}}}
  camber: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  travel: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
joints:
  lower: {{type: revolute, axis: [0, -1, 0], child: lower, motion: {{position: "-0.24 + 0.06*t"}}}}
  ball: {{type: revolute, axis: [0, -1, 0], parent: lower, child: knuckle, origin: {{position: ["${{a}}", 0, 0]}},
    q: {ball}}}
  upper: {{type: revolute, axis: [0, -1, 0], child: upper, origin: {{position: ["${{x}}", 0, "${{z}}"]}}, q: {upper}}}
  top: {{type: revolute, axis: [0, -1, 0], parent: knuckle, child: upper, origin: {{position: [0, 0, "${{b}}"]}},
    child_origin: {{position: ["${{c}}", 0, 0]}}}}
  camber: {{type: revolute, axis: [0, -1, 0], child: camber,
    motion: {{position: {{times: {times}, values: {cambers}}}}}}}
  travel: {{type: prismatic, axis: [0, 0, 1], child: travel,
    motion: {{position: {{times: {times}, values: {travels}}}}}}}
simulation: {{duration: 8 s, step: 100 ms, integrator: rk4}}
output: {{every: 1 s}}
"""


def wishbone(angle: float) -> tuple[float, float, float]:
    """Return the camber, the height of the wheel and the angle of the upper arm, by the intersection of two circles."""
    a, b, c, s = 0.35, 0.2, 0.26, 0.1
    ball, pivot = a * np.array([math.cos(angle), math.sin(angle)]), np.array([0.06, 0.22])
    r = float(np.hypot(*(pivot - ball)))
    e = (pivot - ball) / r
    along = (b**2 - c**2 + r**2) / (2.0 * r)
    kingpin = (along * e + math.sqrt(b**2 - along**2) * np.array([e[1], -e[0]])) / b
    camber = math.atan2(-kingpin[0], kingpin[1])
    wheel = ball[1] + s * math.sin(camber) + 0.08 * kingpin[1]
    return camber, float(wheel), math.atan2(*(ball + b * kingpin - pivot)[::-1])


def test_a_wishbone_has_the_dimensions_that_made_its_camber_curve(mbsim: Command, folder: Path) -> None:
    """Camber and travel of the wheel at nine angles, of six dimensions, from others that are up to a fifth away."""
    angles = -0.24 + 0.06 * np.arange(9)
    cambers, travels, uppers = zip(*map(wishbone, angles.tolist()), strict=True)
    times = list(map(float, range(9)))
    scene = WISHBONE.format(
        ball=cambers[0] - angles[0], upper=uppers[0], times=times, cambers=list(cambers), travels=list(travels)
    )
    starts = {"a": (0.36, 0.3, 0.4), "b": (0.21, 0.15, 0.3), "c": (0.25, 0.2, 0.35), "x": (0.07, 0, 0.12)}
    starts |= {"z": (0.21, 0.15, 0.3), "s": (0.08, 0, 0.2)}
    words = [word for key, own in starts.items() for word in ("--vary", f"vars.{key}={','.join(map(str, own))}")]
    distance = "(joints.lower.q + joints.ball.q - joints.camber.q)**2"
    distance += " + (points.knuckle.wheel.position.z - joints.travel.q)**2@mean"
    found = searched(mbsim, scene, "--minimize", distance, *words)
    known = {"vars.a": 0.35, "vars.b": 0.2, "vars.c": 0.26, "vars.x": 0.06, "vars.z": 0.22, "vars.s": 0.1}
    assert found["derivatives"] == "exact derivatives"
    assert {key: found["best"][key] for key in known} == pytest.approx(known, abs=1e-6)
