"""Scenes of several tests of alarms, and a run of a text."""

from __future__ import annotations

from pathlib import Path

from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.simulation import prepare

ENGINE = """
mbsim: 1
vars: {r: 40 mm, l: 140 mm, a: 30 deg}
gravity: [0, -9.81, 0]
bodies:
  crank: {shapes: [{type: box, size: ["${r}", 20 mm, 10 mm], position: ["${r/2}", 0, 0], density: 7850},
                   {type: cylinder, radius: 90 mm, length: 20 mm, density: 7850}]}
  rod: {mass: 0.4 kg, shapes: [{type: box, size: ["${l}", 15 mm, 10 mm], position: ["${l/2}", 0, 0]}]}
  piston: {mass: 0.6 kg, shapes: [{type: cylinder, radius: 35 mm, length: 50 mm,
                                   rotation: {axis: [0, 1, 0], angle: 90 deg}}]}
joints:
  bearing: {type: revolute, child: crank, q: "${a}", force: "20*(1 - exp(-t/0.1))", damping: 0.05}
  bigend: {type: revolute, parent: crank, child: rod, origin: {position: ["${r}", 0, 0]}, q: "${-a - asin(r/l*sin(a))}"}
  bore: {type: prismatic, child: piston, axis: [1, 0, 0], q: "${r*cos(a)+sqrt(l**2-(r*sin(a))**2)}"}
  wristpin: {type: revolute, parent: piston, child: rod, child_origin: {position: ["${l}", 0, 0]}}
springs:
  return: {between: [{body: world, point: [0.3, 0, 0]}, {body: piston}], stiffness: 2 kN/m, rest_length: 120 mm}
simulation: {duration: 1 s}
"""
"""A planar slider-crank of revolute joints in space, with redundant rows, driven to 364 rad/s."""

OSCILLATOR = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {m: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {s: {type: prismatic, child: m, axis: [1, 0, 0], q: 1, stiffness: 1e6, origin: {position: [1, 0, 0]}}}
simulation: {duration: 0.2 s, integrator: semi_implicit_euler, step: 1 ms}
"""
"""An oscillator of 1000 rad/s."""

TOP = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {top: {mass: 1, inertia: {principal: [1, 1, 1]}, position: [1, 0, 0], velocity: {angular: [0, 0, 2000]}}}
simulation: {duration: 0.01 s, step: 1 ms}
"""


def run(text: str, folder: Path, *overrides: str) -> tuple[Outcome, Trajectory]:
    scene = folder / "scene.yaml"
    scene.write_text(text, encoding="utf-8")
    sink = MemorySink()
    return prepare(scene, overrides).run(sink).outcome, sink.trajectory()
