"""Optima that an independent formulation knows: a trebuchet, a camber curve, nine points, and a straight line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from command_result import Command, minimized

from multibody_cli.kernel import Floats

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


@pytest.mark.nightly
def test_the_throw_of_a_trebuchet_takes_a_third_of_the_runs_with_derivatives(mbsim: Command, folder: Path) -> None:
    """The optimum is where the derivatives of an independent formulation are zero, by Newton's method."""
    known = np.array([3.6, 0.85])
    for _ in range(5):
        hessian = np.array([slopes(known + 1e-4 * unit) - slopes(known - 1e-4 * unit) for unit in np.eye(2)]) / 2e-4
        known = known - np.linalg.solve(hessian, slopes(known))
    assert np.linalg.eigvalsh(hessian).max() < 0.0  # a maximum
    words = ("--minimize", THROWN, "--vary", "vars.sling=2.5,1.5,4", "--vary", "vars.lean=0.7,0.4,1.1")
    found, other = (minimized(mbsim, TREBUCHET, *words, "--algorithm", name) for name in ("slsqp", "cobyqa"))
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


@pytest.mark.nightly
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
    found = minimized(mbsim, scene, "--minimize", distance, *words)
    known = {"vars.a": 0.35, "vars.b": 0.2, "vars.c": 0.26, "vars.x": 0.06, "vars.z": 0.22, "vars.s": 0.1}
    assert found["derivatives"] == "exact derivatives"
    assert {key: found["best"][key] for key in known} == pytest.approx(known, abs=1e-6)


# --- paths of couplers ------------------------------------------------------------------------------------------------
NINE = np.array([0.25, 0.52 + 0.1j, 0.8 + 0.7j, 1.2 + 1j, 1.4 + 1.3j, 1.1 + 1.48j, 0.7 + 1.4j, 0.2 + 1j, 0.02 + 0.4j])
PATH = """\
mbsim: 1
name: nine-points
gravity: [0, 0, 0]
vars: {{ax: 0.7, ay: 0.41, bx: 1.34, by: 0.08, cx: 0.86, cy: -0.1, dx: 0.75, dy: 0.53,
       t1: 35 deg, t2: 55 deg, t3: 70 deg, t4: 110 deg, t5: 155 deg, t6: 200 deg, t7: 255 deg, t8: 315 deg}}
bodies:
  crank: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  coupler: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  rocker: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  pen: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  slide: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  mark: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
joints:
  A: {{type: revolute, axis: [0, 0, 1], child: crank, origin: {{position: ["${{ax}}", "${{ay}}", 0]}},
      motion: {{position: {{times: {times}, values: [0, {angles}]}}}}}}
  C: {{type: revolute, axis: [0, 0, 1], parent: crank, child: coupler,
      origin: {{position: ["${{cx - ax}}", "${{cy - ay}}", 0]}}}}
  B: {{type: revolute, axis: [0, 0, 1], child: rocker, origin: {{position: ["${{bx}}", "${{by}}", 0]}}}}
  D: {{type: revolute, axis: [0, 0, 1], parent: coupler, child: rocker,
      origin: {{position: ["${{dx - cx}}", "${{dy - cy}}", 0]}},
      child_origin: {{position: ["${{dx - bx}}", "${{dy - by}}", 0]}}}}
  P: {{type: fixed, parent: coupler, child: pen, origin: {{position: ["${{0.25 - cx}}", "${{-cy}}", 0]}}}}
  X: {{type: prismatic, axis: [1, 0, 0], child: slide, motion: {{position: {{times: {times}, values: {xs}}}}}}}
  Y: {{type: prismatic, axis: [0, 1, 0], parent: slide, child: mark,
      motion: {{position: {{times: {times}, values: {ys}}}}}}}
simulation: {{duration: 8, step: 50 ms, integrator: rk4}}
output: {{every: 1}}
"""


def test_nine_published_points_without_timing_are_passed_by_a_linkage_of_the_loop_equations(
    mbsim: Command, folder: Path
) -> None:
    """Pivots, pins and eight angles of the crank, for nine points of an example to Wampler, Morgan and Sommese 1992.

    The linkage satisfies their equations: with the pivots a and b and the pins x and y relative to the first point, the
    coupler has turned by the phase 1 + g at each other point, where g solves the two linear equations of the links.
    """
    scene = PATH.format(
        times=[*map(float, range(9))],
        angles=", ".join(f'"${{t{k}}}"' for k in range(1, 9)),
        xs=NINE.real.tolist(),
        ys=NINE.imag.tolist(),
    )
    starts = {"ax": 0.7, "ay": 0.41, "bx": 1.34, "by": 0.08, "cx": 0.86, "cy": -0.1, "dx": 0.75, "dy": 0.53}
    angles = dict(zip((f"t{k}" for k in range(1, 9)), (35, 55, 70, 110, 155, 200, 255, 315), strict=True))
    bounds = [f"vars.{key}={x},{x - 0.6},{x + 0.6}" for key, x in starts.items()]
    bounds += [f"vars.{key}={x} deg,{x - 30},{x + 30}" for key, x in angles.items()]
    goals = [f"bodies.pen.position.{axis} - bodies.mark.position.{axis}" for axis in "xy"]
    words = [word for text in goals for word in ("--least-squares", text)]
    words += [word for text in bounds for word in ("--vary", text)]
    best = minimized(mbsim, scene, *words, "--derivatives", "differences")["best"]
    a, b, x, y = (best[f"vars.{one}x"] + 1j * best[f"vars.{one}y"] - NINE[0] for one in "abcd")
    for d in NINE[1:] - NINE[0]:
        matrix = [[np.conj(pivot - d) * pin, (pivot - d) * np.conj(pin)] for pivot, pin in ((a, x), (b, y))]
        constants = [abs(d) ** 2 - 2.0 * (np.conj(pivot - pin) * d).real for pivot, pin in ((a, x), (b, y))]
        g, _ = np.linalg.solve(matrix, constants)
        assert abs(1.0 + g) == pytest.approx(1.0, abs=1e-9)


CHEBYSHEV = """mbsim: 1
name: chebyshev
gravity: [0, 0, 0]
vars: {r: 4.6, c: 2.3, half: "${c/2}"}
bodies:
  across: {mass: 1, inertia: {principal: [1, 1, 1]}}
  up: {mass: 1, inertia: {principal: [1, 1, 1]}}
  coupler: {mass: 1, inertia: {principal: [1, 1, 1]}}
  left: {mass: 1, inertia: {principal: [1, 1, 1]}}
  right: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  X: {type: prismatic, child: across, axis: [1, 0, 0], q: 2}
  Y: {type: prismatic, parent: across, child: up, axis: [0, 1, 0], q: 4}
  turn: {type: revolute, parent: up, child: coupler, axis: [0, 0, 1], motion: {position: "pi/2*(t - 1)"}}
  A: {type: revolute, parent: coupler, child: left, axis: [0, 0, 1], origin: {position: ["${half}", 0, 0]}, q: -0.927}
  B: {type: revolute, parent: coupler, child: right, axis: [0, 0, 1], origin: {position: ["${-half}", 0, 0]}, q: 0}
  C: {type: revolute, child: left, axis: [0, 0, 1], origin: {position: [-2, 0, 0]},
    child_origin: {position: ["${r}", 0, 0]}}
  D: {type: revolute, child: right, axis: [0, 0, 1], origin: {position: [2, 0, 0]},
    child_origin: {position: ["${r}", 0, 0]}}
simulation: {duration: 2, step: 100 ms, assembly_tolerance: 10}
output: {every: 1 s}
"""


def test_the_proportions_of_chebyshev_in_a_third_of_the_runs_with_derivatives(mbsim: Command, folder: Path) -> None:
    """Chebyshev's approximate straight line: cranks of 5 and a coupler of 2 on a frame of 4.

    The midpoint of the coupler is at the height 4 in the middle and above both ends of the frame, where the coupler is
    upright: (r - c/2)^2 = r^2 - (2 + c/2)^2 and 16 + (r - c)^2 = r^2, which c = 2 and r = 5 alone satisfy.
    """
    distance = "(bodies.coupler.position.x - 2*(1 - t))**2 + (bodies.coupler.position.y - 4)**2@mean"
    words = ("--minimize", distance, "--vary", "vars.r=4.6,3.5,7", "--vary", "vars.c=2.3,1,3")
    found, other = (minimized(mbsim, CHEBYSHEV, *words, "--algorithm", name) for name in ("slsqp", "cobyqa"))
    assert found["derivatives"] == "exact derivatives"
    for one in (found, other):
        assert (one["best"]["vars.r"], one["best"]["vars.c"]) == pytest.approx((5.0, 2.0), abs=1e-6)
    assert 3 * found["runs"] <= other["runs"]


def test_the_proportions_of_chebyshev_by_least_squares(mbsim: Command, folder: Path) -> None:
    """With exact derivatives of each residual, the sum of squares falls to the square of round-off."""
    goals = (
        "--least-squares",
        "bodies.coupler.position.x - 2*(1 - t)",
        "--least-squares",
        "bodies.coupler.position.y - 4",
    )
    words = (*goals, "--vary", "vars.r=4.6,3.5,7", "--vary", "vars.c=2.3,1,3")
    found, other = (minimized(mbsim, CHEBYSHEV, *words, "--derivatives", how) for how in ("exact", "differences"))
    assert (found["algorithm"], found["derivatives"]) == ("trf", "exact derivatives")
    for one in (found, other):
        assert (one["best"]["vars.r"], one["best"]["vars.c"]) == pytest.approx((5.0, 2.0), abs=1e-12)
    assert 3 * found["runs"] <= other["runs"]
