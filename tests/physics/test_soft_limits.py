"""Soft limits of joints: bounces with closed forms, forces by expressions, derivatives, energy, and messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbsim
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
M, K, D, V, GAP = 2.0, 800.0, 4.0, 1.0, 0.1
SLIDER = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {{slider: {{mass: 2, inertia: {{principal: [0.2, 0.2, 0.2]}}}}}}
joints:
  rail:
    {{type: prismatic, axis: [1, 0, 0], child: slider, v: {v},
    limits: {{range: [{range}], stiffness: 800, damping: {d}}}}}
simulation: {{duration: 0.4, step: 0.1 ms}}
output: {{every: 1 ms}}
"""


def run(method: str, integrator: str = "", **fields: object) -> tuple[np.ndarray, ...]:
    """Time, coordinate, rate and largest residual of the ledger of a slider."""
    settings = [f"simulation.method={method}"]
    if not METHODS[method].own_integrator:
        settings += [f"simulation.integrator={integrator or 'rk4'}"]
        settings += ["simulation.tolerance=1e-12"] if integrator == "dop853" else []
    result = mbsim.load(SLIDER.format(**fields), settings).run(check=False)
    residual = np.abs(result["energy/ledger_residual"].to_numpy()).max()
    return result["time"].to_numpy(), *(np.ravel(result[f"joints/rail/{x}"]) for x in "qv"), residual


def bounce(t: np.ndarray, d: float) -> np.ndarray:
    """The excess after the slider meets the limit at V: both of the same force, then both their own, then none."""
    w, fast = math.sqrt(K / M), math.sqrt(2.0 * K / M)
    first = math.atan2(d * fast, K) / fast  # K s = d v
    s1, v1 = V * math.sin(fast * first) / fast, V * math.cos(fast * first)
    z = d / (2.0 * math.sqrt(K * M))
    wd = w * math.sqrt(1.0 - z * z)

    def damped(x: float, rate: float, t: np.ndarray | float) -> np.ndarray | float:
        return np.exp(-z * w * t) * (x * np.cos(wd * t) + (rate + z * w * x) / wd * np.sin(wd * t))

    if d == 0.0:
        s1, v1, first = 0.0, V, 0.0
    a1 = -(K * s1 + d * v1) / M
    jerk = -(K * v1 + d * a1) / M
    second = (math.atan2(-a1, (jerk + z * w * a1) / wd) % math.pi or math.pi) / wd  # the acceleration vanishes
    s2, v2 = damped(s1, v1, second), damped(v1, a1, second)
    own = damped(s1, v1, t - first)
    return np.where(
        t < first, V * np.sin(fast * t) / fast, np.where(t < first + second, own, s2 + v2 * (t - first - second))
    )


CASES = [(name, "") for name in METHODS if METHODS[name].own_integrator] + [
    *((name, "rk4") for name in METHODS if not METHODS[name].own_integrator),
    ("aba", "dop853"),
    ("redmax", "sdirk2"),
    ("baraff", "sdirk2"),
]


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("d", [0.0, D, 20.0])
@pytest.mark.parametrize(("method", "integrator"), CASES)
def test_a_bounce(method: str, integrator: str, d: float, side: float) -> None:
    """On either limit: without damping it returns at its speed, and else at that of the closed form."""
    limits = f"null, {GAP}" if side > 0.0 else f"{-GAP}, null"
    t, q, v, residual = run(method, integrator, v=side * V, range=limits, d=d)
    expected = np.where(t < GAP / V, V * t, GAP + bounce(t - GAP / V, d))
    error = {"dop853": 1e-9, "rk4": 2e-6, "sdirk2": 2e-6}.get(integrator, 1e-5)
    np.testing.assert_allclose(side * q, expected, rtol=0, atol=error)
    assert residual < (2e-3 if integrator == "dop853" else 1e-5)  # long steps where the body leaves the spring
    if d == 0.0:
        assert side * v[-1] == pytest.approx(-V, abs=1e-4)


def test_linearly_implicit_steps_hold_stiff_limits() -> None:
    """A period of 0.3 ms with a step of 10 ms: the body stays at the limit."""
    scene = SLIDER.format(v=1, range="null, 0.1", d=1e4).replace("stiffness: 800", "stiffness: 1e9")
    settings = ["simulation.integrator=linearly_implicit_euler", "simulation.step=10 ms", "output.every=10 ms"]
    q = np.ravel(mbsim.load(scene, settings).run(check=False)["joints/rail/q"])
    assert q.max() < 0.1 + 0.01 * 1.01
    assert q[-1] < 0.1 + 1e-6


STATES = {
    "between the limits": (0.05, 3.0, 0.0, 0.0),
    "beyond, slow": (0.2, 1.0, K, D),
    "beyond, fast inward": (0.12, 30.0, 2.0 * K, 0.0),
    "beyond, fast outward": (0.12, -30.0, 0.0, 0.0),
    "below, slow": (-0.2, 1.0, K, D),
    "below, fast inward": (-0.12, -30.0, 2.0 * K, 0.0),
}
"""Coordinate and rate, and the derivatives of the force there."""


@pytest.mark.parametrize("name", STATES)
def test_derivatives(name: str) -> None:
    """The exact derivatives of a linearization, also by differences of the acceleration."""
    q, v, stiffness, damping = STATES[name]
    sim = mbsim.Simulation(mbsim.load(SLIDER.format(v=0, range="-0.1, 0.1", d=D)))

    def acceleration(q: float, v: float) -> float:
        sim.q["rail"][:], sim.v["rail"][:] = q, v
        sim.channel("time")
        return float(sim.a["rail"][0])

    h = 1e-6
    differences = [
        -M * (acceleration(q + h, v) - acceleration(q - h, v)) / (2 * h),
        -M * (acceleration(q, v + h) - acceleration(q, v - h)) / (2 * h),
    ]
    np.testing.assert_allclose(differences, [stiffness, damping], rtol=1e-6, atol=1e-5)
    acceleration(q, v)
    np.testing.assert_allclose(sim.linearize().A[-1, -2:], [-stiffness / M, -damping / M], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", STATES)
def test_a_linearly_implicit_step_has_these_derivatives(name: str) -> None:
    """M dv = h (F - k h (v + dv) - c dv), with F, k and c of the state."""
    q, v, stiffness, damping = STATES[name]
    h = 1e-3
    scene = SLIDER.format(v=v, range="-0.1, 0.1", d=D).replace("child: slider,", f"child: slider, q: {q},")
    sim = mbsim.Simulation(mbsim.load(scene, ["simulation.integrator=linearly_implicit_euler", f"simulation.step={h}"]))
    excess = max(q - 0.1, 0.0) + min(q + 0.1, 0.0)
    force = -K * excess - min(max(D * v, -K * abs(excess)), K * abs(excess))
    sim.step(1)
    expected = v + h * (force - stiffness * h * v) / (M + h * damping + h * h * stiffness)
    np.testing.assert_allclose(sim.v["rail"], expected, rtol=1e-13)


CHAIN = """
mbsim: 1
bodies:
  a: {{mass: 1, com: [0.1, 0, -0.2], inertia: {{principal: [0.02, 0.03, 0.04]}}}}
  b: {{mass: 2, com: [0, 0.1, -0.1], inertia: {{principal: [0.03, 0.03, 0.05]}}}}
  c: {{mass: 1, com: [0.1, 0.1, 0], inertia: {{principal: [0.02, 0.02, 0.03]}}}}
joints:
  a: {{type: universal, child: a, q: [0.3, -0.2], {a}}}
  b: {{type: composite, parent: a, child: b, origin: {{position: [0, 0, -0.4]}}, {b},
    parts: [{{type: revolute, axis: [1, 0, 1]}}, {{type: prismatic, axis: [0, 1, 0]}}]}}
  c: {{type: revolute, parent: b, child: c, axis: [0, 1, 0], origin: {{position: [0, 0.2, 0]}}, {c}}}
  d: {{type: cylindrical, parent: world, child: c, origin: {{position: [0.1, 0.3, -0.3]}}, {d}}}
simulation: {{duration: 0.5, step: 0.5 ms, assembly_tolerance: 10}}
output: {{every: 10 ms}}
"""
LIMITS = {
    "a": [(-0.02, 0.02, 30.0, 0.3), None],
    "b": [(-0.1, 0.2, 40.0, 0.2), (-0.02, math.inf, 200.0, 5.0)],
    "c": [(-0.02, 0.03, 10.0, 0.1)],
    "d": [(-0.03, 0.01, 10.0, 0.2), (-0.01, 0.005, 100.0, 3.0)],
}


def written(limits: list, forces: bool) -> str:
    """Limits, or the same law as expressions of the coordinates."""
    if not forces:
        soft = [
            (
                one
                and f"{{range: [{one[0]}, {'.inf' if one[1] == math.inf else one[1]}], stiffness: {one[2]}, "
                f"damping: {one[3]}}}"
            )
            or "null"
            for one in limits
        ]
        return f"limits: {soft[0] if len(soft) == 1 else '[' + ', '.join(soft) + ']'}"
    laws = []
    for k, one in enumerate(limits):
        if one is None:
            laws.append("0")
            continue
        q, v = (f"joints.X.{x}" + (f"[{k}]" if len(limits) > 1 else "") for x in "qv")
        s = f"(max({q} - {min(one[1], 1e9)}, 0) + min({q} - ({one[0]}), 0))"
        laws.append(f'"-({one[2]}*{s} + min(max({one[3]}*{v}, -{one[2]}*abs({s})), {one[2]}*abs({s})))"')
    return f"force: {laws[0] if len(laws) == 1 else '[' + ', '.join(laws) + ']'}"


@pytest.mark.filterwarnings("ignore:.*the initial state was assembled")
@every_method
def test_limits_are_forces_by_expressions(method: str) -> None:
    """Of joints of several coordinates, of a composite joint, and of one that closes a loop."""
    ends = []
    for forces in (False, True):
        fields = {
            name: written(limits, forces).replace("joints.X", f"joints.{name}") for name, limits in LIMITS.items()
        }
        own = [] if METHODS[method].own_integrator else ["simulation.integrator=rk4"]
        result = mbsim.load(CHAIN.format(**fields), [f"simulation.method={method}", *own]).run(check=False)
        ends.append(np.concatenate([np.ravel(result[f"joints/{name}/q"]) for name in LIMITS]))
        if not forces:
            residual = np.abs(result["energy/ledger_residual"].to_numpy()).max()
            assert residual < (1e-2 if "variational" in method else 1e-4)
            assert min(float(result[f"energy/dissipation/joints/{name}/soft_limits"][-1]) for name in LIMITS) > 1e-3
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9)


@pytest.mark.parametrize("d", [10, 100, 1000])
def test_the_ledger_has_the_tolerance_where_the_motion_has_no_kink(d: int) -> None:
    """A body leaves a limit whose damper cancels its spring: the force is zero on both sides, the loss has a kink."""
    text = f"""
    mbsim: 1
    bodies: {{ball: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
    joints:
      drop:
        {{type: prismatic, child: ball, q: 1, limits: {{range: [0, null], stiffness: 1e4, damping: {d}}}}}
    simulation: {{duration: 2 s, step: 1 ms, integrator: dop853}}
    output: {{every: 10 ms}}
    """
    for tolerance in (1e-6, 1e-9, 1e-12):
        result = mbsim.load(text, [f"simulation.tolerance={tolerance}"]).run(check=False)
        assert np.abs(result["energy/ledger_residual"].to_numpy()).max() < 100 * tolerance * 9.81
