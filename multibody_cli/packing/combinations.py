"""Combinations of coordinates as expressions of their coordinates, with forces along them.

The force of spring and damper is one signal, and so is that of each actuator: every coordinate of the combination has a
record of `forces.joint_control` with it and the coefficient.
"""

from __future__ import annotations

import ast

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.expressions import constant, with_values
from multibody_cli.model import Integers
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.packing.quantities import combination_of
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec.combination import CombinationSpec

_SPRING = "-stiffness*(max(q - upper, 0) + min(q - lower, 0)) - damping*v"


def add_combinations(scene: SceneSpec, packer: ForcePacker) -> Integers:
    """Add springs and dampers; return the signals (n, 3) of value, rate and force of each, -1 without a force."""
    return np.array([_add(name, spec, packer) for name, spec in scene.combinations.items()], np.int64).reshape(-1, 3)


def _add(name: str, spec: CombinationSpec, packer: ForcePacker) -> tuple[int, int, int]:
    own = combination_of(spec)
    values, quantities = packer.quantities.values_of(own)
    value, rate = (packer.expression(values[word], _read_by(values[word], quantities), {}) for word in ("q", "v"))
    if not spec.is_sprung:
        return value, rate, -1
    lower, upper = spec.rest
    numbers = {"stiffness": spec.stiffness, "damping": spec.damping, "lower": lower, "upper": upper}
    law = "-stiffness*(q - lower) - damping*v" if lower == upper else _SPRING
    body = with_values(ast.parse(law, mode="eval").body, {k: constant(x) for k, x in numbers.items()} | values)
    account = packer.account("dissipation", f"combinations/{path_component(name)}/damping")
    packer.add_combination_spring(own, spec, account)
    return value, rate, packer.add_control(-1, own, body, _read_by(body, quantities), {})


def _read_by(body: ast.expr, quantities: dict[str, int]) -> dict[str, int]:
    names = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    return {name: number for name, number in quantities.items() if name in names}
