"""Mechanisms of other sizes, masses and paces have the same results and the same messages.

Units of length, mass and time are powers of two, so that scaled numbers have the same digits: a result may differ only
where a decision depends on a size, or where numbers of several units are added.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from multibody_cli import MemorySink, prepare
from multibody_cli.document.source import SceneText
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS
from multibody_cli.spec import units

HEAD = """
mbsim: 1
vars: {kg: 1, m: 1, s: 1, N: "${kg*m/s**2}", step: "${2e-3*s}"}
gravity: [0, 0, "${-9.81*m/s**2}"]
output: {every: "${20*step}"}
"""


def simulation(more: str = "") -> str:
    return f'simulation: {{duration: "${{200*step}}", step: "${{step}}"{more}}}\n'


ASSEMBLED = simulation(', assembly_tolerance: "${3*m}"')

BAR = """{{mass: "${{{mass}*kg}}", com: ["${{{half}*m}}", 0, 0],
    inertia: {{principal: ["${{0.002*kg*m**2}}", "${{0.03*kg*m**2}}", "${{0.031*kg*m**2}}"]}}}}"""


def four_bar(crank: str, rocker: str) -> str:
    """Text of a four-bar, not quite closed, with further fields of two joints."""
    a, b, c = (BAR.format(mass=mass, half=half) for mass, half in ((1.1, 0.27), (2.3, 0.6), (1.5, 0.45)))
    return f"""
bodies: {{a: {a}, b: {b}, c: {c}}}
joints:
  ja: {{type: revolute, axis: [0, 1, 0], child: a, q: -0.9, {crank}}}
  jb: {{type: revolute, axis: [0, 1, 0], parent: a, child: b, origin: {{position: ["${{0.5*m}}", 0, 0]}}, q: 0.7}}
  jc: {{type: revolute, axis: [0, 1, 0], child: c, origin: {{position: ["${{1.3*m}}", 0, 0]}}, q: -1.6, {rocker}}}
  close:
    type: revolute
    axis: [0, 1, 0]
    parent: b
    child: c
    origin: {{position: ["${{1.2*m}}", 0, 0]}}
    child_origin: {{position: ["${{0.9*m}}", 0, 0]}}
"""


DRIVEN = four_bar('motion: {velocity: "${4/s}"}', "damping: 0")
PENDULUM = """
bodies:
  bob:
    kind: point
    mass: "${0.57*kg}"
    position: ["${0.4*m}", 0, "${-0.1*m}"]
    velocity: {linear: [0, "${0.3*m/s}", 0]}
  rod: {mass: "${0.57*kg}", shapes: [{type: box, size: ["${0.06*m}", "${0.08*m}", "${0.5*m}"]}]}
joints:
  ball: {type: spherical, child: rod, child_origin: {position: [0, 0, "${0.25*m}"]}, v: ["${3/s}", "${1/s}", 0]}
springs:
  cord:
    between: [{body: rod, point: [0, 0, "${-0.25*m}"]}, {body: bob}]
    stiffness: "${80*N/m}"
    damping: "${0.4*N*s/m}"
    rest_length: "${0.3*m}"
"""
CRANK = f"""
bodies:
  crank: {BAR.format(mass=1.1, half=0.11)}
  rod: {BAR.format(mass=2.3, half=0.3)}
  piston: {{mass: "${{0.7*kg}}", shapes: [{{type: box, size: ["${{0.1*m}}", "${{0.08*m}}", "${{0.06*m}}"]}}]}}
joints:
  main: {{type: revolute, axis: [0, 1, 0], child: crank, q: 0.4, v: "${{9/s}}"}}
  middle: {{type: revolute, axis: [0, 1, 0], parent: crank, child: rod, origin: {{position: ["${{0.2*m}}", 0, 0]}}}}
  rail: {{type: prismatic, axis: [1, 0, 0], child: piston, q: "${{0.78*m}}", %s}}
  pin: {{type: revolute, axis: [0, 1, 0], parent: rod, child: piston, origin: {{position: ["${{0.6*m}}", 0, 0]}}}}
"""
SCENES = {
    "four bar with a drive": DRIVEN + ASSEMBLED,
    "four bar that is refused": DRIVEN + simulation(),
    "four bar with limits": four_bar('force: "${0.5*N*m}*sin(${20/s}*t)"', "limits: [-1.75, -1.5], restitution: 0.6")
    + ASSEMBLED,
    "slider crank": CRANK % 'damping: "${3*N*s/m}"' + ASSEMBLED,
    "parallelogram with a third crank": f"""
bodies:
  a: {BAR.format(mass=1.1, half=0.27)}
  b: {BAR.format(mass=2.3, half=0.5)}
  c: {BAR.format(mass=1.1, half=0.27)}
  d: {BAR.format(mass=1.1, half=0.27)}
joints:
  ja: {{type: revolute, axis: [0, 1, 0], child: a, q: -0.4, v: "${{6/s}}"}}
  jb: {{type: revolute, axis: [0, 1, 0], parent: a, child: b, origin: {{position: ["${{0.5*m}}", 0, 0]}}, q: 0.4}}
  jc: {{type: revolute, axis: [0, 1, 0], child: c, origin: {{position: ["${{1*m}}", 0, 0]}}, q: -0.4}}
  jd: {{type: revolute, axis: [0, 1, 0], child: d, origin: {{position: ["${{0.5*m}}", 0, 0]}}, q: -0.4}}
  kc: {{type: revolute, axis: [0, 1, 0], parent: b, child: c, origin: {{position: ["${{1*m}}", 0, 0]}},
    child_origin: {{position: ["${{0.5*m}}", 0, 0]}}}}
  kd: {{type: revolute, axis: [0, 1, 0], parent: b, child: d, origin: {{position: ["${{0.5*m}}", 0, 0]}},
    child_origin: {{position: ["${{0.5*m}}", 0, 0]}}}}
"""
    + simulation(),
    "loop of a ball joint": f"""
bodies:
  a: {BAR.format(mass=1.1, half=0.27)}
  b: {BAR.format(mass=2.3, half=0.6)}
  c: {BAR.format(mass=1.5, half=0.45)}
joints:
  ja: {{type: revolute, axis: [0, 1, 0], child: a, q: -0.9, v: "${{2/s}}"}}
  jb: {{type: universal, parent: a, child: b, origin: {{position: ["${{0.5*m}}", 0, 0]}}, q: [0.2, 0.6]}}
  jc: {{type: universal, child: c, origin: {{position: ["${{1.3*m}}", "${{0.2*m}}", 0]}}, q: [0.1, -1.6]}}
  close:
    type: spherical
    parent: b
    child: c
    origin: {{position: ["${{1.2*m}}", 0, 0]}}
    child_origin: {{position: ["${{0.9*m}}", 0, 0]}}
"""
    + ASSEMBLED,
    "screw": """
bodies:
  nut: {mass: "${0.57*kg}", shapes: [{type: box, size: ["${0.06*m}", "${0.08*m}", "${0.03*m}"]}]}
  wheel: {mass: "${0.57*kg}", shapes: [{type: box, size: ["${0.06*m}", "${0.08*m}", "${0.03*m}"]}]}
joints:
  bolt: {type: screw, child: nut, axis: [0, 0, 1], pitch: "${0.1*m}", origin: {position: [0, 0, "${5*m}"]}, v: "${3/s}"}
  rail: {type: prismatic, child: wheel, axis: [0, 0, 1], origin: {position: ["${0.3*m}", 0, "${5*m}"]}}
  arm: {type: cylindrical, parent: nut, child: wheel, axis: [0, 0, 1], child_origin: {position: ["${-0.3*m}", 0, 0]}}
"""
    + simulation(),
    "spring pendulum": PENDULUM + simulation(),
    "rolling disc": """
bodies:
  disc:
    mass: "${0.57*kg}"
    shapes: [{type: cylinder, radius: "${0.1*m}", length: "${0.002*m}"}]
    position: [0, 0, "${0.1*sin(0.7)*m}"]
    rotation: {axis: [0, 1, 0], angle: 0.7}
constraints: {rim: {type: rolling, body: disc, radius: "${0.1*m}", axis: [0, 0, 1]}}
"""
    + simulation(),
    "chain on the ground": """
world: {shapes: [{type: plane}]}
contacts: {friction: 0.4}
bodies:
  a:
    mass: "${1.1*kg}"
    shapes:
      - {type: capsule, radius: "${0.05*m}", length: "${0.3*m}", rotation: {axis: [0, 1, 0], angle: 90 deg}}
  b: {mass: "${1.1*kg}", shapes: [{type: box, size: ["${0.3*m}", "${0.1*m}", "${0.1*m}"]}]}
joints:
  free:
    type: free
    child: a
    q: {position: [0, 0, "${0.3*m}"], rotation: {axis: [0, 1, 0], angle: 0.3}}
    v: {linear: ["${1*m/s}", 0, 0], angular: ["${1/s}", 0, "${2/s}"]}
  ball:
    type: universal
    parent: a
    child: b
    origin: {position: ["${0.2*m}", 0, 0]}
    child_origin: {position: ["${-0.2*m}", 0, 0]}
    q: [0.3, 0.2]
"""
    + simulation(),
    "bodies that rebound": """
world: {shapes: [{type: plane}]}
contacts: {friction: 0.3, restitution: 0.6}
bodies:
  box:
    mass: "${2.3*kg}"
    shapes: [{type: box, size: ["${0.3*m}", "${0.2*m}", "${0.1*m}"]}]
    position: [0, 0, "${0.3*m}"]
    rotation: {axis: [1, 2, 0], angle: 0.3}
    velocity: {linear: ["${2*m/s}", 0, 0]}
  ball:
    mass: "${1.1*kg}"
    shapes: [{type: sphere, radius: "${0.1*m}"}]
    position: ["${1*m}", 0, "${0.2*m}"]
    velocity: {linear: ["${-1*m/s}", 0, 0]}
"""
    + simulation(),
}

INTEGRATORS = {
    f"{name} by {integrator}": text.replace('"${step}"', f'"${{step}}", integrator: {integrator}')
    for name, text in {
        "spring pendulum": SCENES["spring pendulum"],
        "slider crank": SCENES["slider crank"],
        "stiff pendulum": PENDULUM.replace("80*N/m", "8e6*N/m") + simulation(),
    }.items()
    for integrator in ("rk4", "dop853", "sdirk2", "linearly_implicit_euler")
    if (name, integrator) != ("slider crank", "sdirk2")
}
"""One of them exceeds its stability limit, and warns and diverges in the same step."""

ULPS = {"screw": 1024.0}
"""Units in the last place of the largest value of a channel by which it may differ; 0 by default.

The constraint axis of a screw is a unit vector of lengths and angles together: its rounding depends on units.
"""

SIZES = {"small": (2.0**-30, 2.0**-90, 2.0**-15), "large": (2.0**20, 2.0**60, 2.0**10)}
"""Units of length, mass and time: a nanometre, with the same density and gravity, and 1000 km."""

MORE_SIZES = {
    **{f"length {k}": (2.0**k, 1.0, 1.0) for k in (-30, -20, -10, 10, 20)},
    **{f"mass {k}": (1.0, 2.0**k, 1.0) for k in (-40, 30)},
    **{f"time {k}": (1.0, 1.0, 2.0**k) for k in (-20, -10, 10)},
}

NUMBER = re.compile(
    r"(?<![\w.])([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)( (?:rad/s|m/s|rad|m|s|kg|J|N m|N|Hz))?(?!\w)"
)


def result(text: str, method: str, unit: tuple[float, float, float]):
    """Channels with their units, and messages, of a run."""
    overrides = [f"vars.{name}={value!r}" for name, value in zip(("m", "kg", "s"), unit, strict=True)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = prepare(SceneText(HEAD + text, Path("scene.yaml")), [*overrides, f"simulation.method={method}"])
    except SceneError as error:
        return {}, [str(error)]
    sink = MemorySink()
    outcome = prepared.run(sink).outcome
    run = sink.trajectory()
    messages = [*prepared.compiled.warnings, f"{outcome.status} {outcome.message}", *map(str, outcome.alarms)]
    channels = {name: run.channel(name) for name in run.paths}
    return {
        name: ([word.strip() for word in one.units.split(",")], one.values) for name, one in channels.items()
    }, messages


def factor(word: str, unit: tuple[float, float, float]) -> float:
    """Factor of a quantity with the SI unit `word`; NaN where this depends on the coordinate."""
    if " or " in word:
        return float("nan")
    dimension = units.parse_unit(word).dimension if word not in ("", "1") else units.Dimension()
    return unit[0] ** dimension.length * unit[1] ** dimension.mass * unit[2] ** dimension.time


def assert_same(text: str, method: str, unit: tuple[float, float, float], ulps: float) -> None:
    channels, messages = result(text, method, (1.0, 1.0, 1.0))
    scaled, found = result(text, method, unit)
    assert [NUMBER.sub("#", message) for message in found] == [NUMBER.sub("#", message) for message in messages]
    for own, other in zip(messages, found, strict=True):
        for (value, word), (number, _) in zip(NUMBER.findall(own), NUMBER.findall(other), strict=True):
            assert float(number) / factor(word.strip(), unit) == pytest.approx(float(value), rel=0.02), other
    assert channels.keys() == scaled.keys()
    for name, (words, values) in channels.items():
        factors = np.array([factor(word, unit) for word in words])
        if np.isnan(factors).any() or (ulps and ("residual" in name or "error" in name)):
            continue
        number = scaled[name][1] / (factors if len(factors) > 1 else factors[0])
        tolerance = ulps * np.finfo(float).eps * np.abs(values).max(initial=0.0)
        np.testing.assert_allclose(number, values, rtol=0.0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SCENES)
def test_size_mass_and_pace_have_no_effect(name: str, method: str, size: str) -> None:
    assert_same(SCENES[name], method, SIZES[size], ULPS.get(name, 0.0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", INTEGRATORS)
def test_integrators_do_not_depend_on_units(name: str, size: str) -> None:
    assert_same(INTEGRATORS[name], "aba", SIZES[size], 0.0)


@pytest.mark.nightly
@pytest.mark.parametrize("size", MORE_SIZES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SCENES)
def test_each_unit_alone_has_no_effect(name: str, method: str, size: str) -> None:
    assert_same(SCENES[name], method, MORE_SIZES[size], ULPS.get(name, 0.0))
