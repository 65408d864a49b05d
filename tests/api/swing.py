"""A rod on a hinge, a cart on a rail, and scenes of a text, for the tests of simulations."""

from __future__ import annotations

import warnings
from pathlib import Path

import mbsim

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"

SWING = """
mbsim: 1
name: swing
bodies:
  rod: {mass: 0.5, shapes: [{type: box, size: [0.05, 0.05, 1]}]}
joints:
  hinge: {type: revolute, child: rod, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}, q: 90 deg}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""

CART = """
mbsim: 1
name: cart
gravity: [0, 0, 0]
bodies:
  cart: {mass: 2.0, inertia: {principal: [1, 1, 1]}}
joints:
  rail: {type: prismatic, child: cart, axis: [1, 0, 0]}
simulation: {duration: 1 s, step: 10 ms, integrator: rk4}
"""


def load(source, overrides=()) -> mbsim.Scene:
    """A scene, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.load(source, overrides)
