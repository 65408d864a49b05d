"""A rod on a hinge, and scenes of a text, for the tests of simulations."""

from __future__ import annotations

import warnings

import mbsim

SWING = """
mbsim: 1
name: swing
bodies:
  rod: {mass: 0.5, shapes: [{type: box, size: [0.05, 0.05, 1]}]}
joints:
  hinge: {type: revolute, child: rod, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}, q: 90 deg}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""


def load(source, overrides=()) -> mbsim.Scene:
    """A scene, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.load(source, overrides)
