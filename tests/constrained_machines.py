"""A machine for each kind of constraint, and one with all of them."""

from __future__ import annotations

from typing import Any

from multibody_cli.constraints import COUPLINGS

ARM = {"mass": 1.3, "com": [0.3, 0, 0.1], "inertia": {"principal": [0.02, 0.05, 0.04]}}
BALL = {"mass": 2.0, "inertia": {"principal": [0.1, 0.1, 0.1]}, "position": [0, 0, 0.4]}
FORCES = {"pull": {"body": "ball", "force": ["3*cos(2*t)", "1 + t", 0.5], "point": [0.1, 0.2, 0.1]}}

CASES = {
    "distance": {
        "between": [{"body": "world", "point": [0.2, 0, -1]}, {"body": "ball", "point": [0.1, 0, 0]}],
        "length": 1.5,
    },
    "rope": {
        "over": [
            {"body": "world", "point": [-1, 0, 1.5]},
            {"body": "world", "point": [0, 0, 2], "radius": 0.1, "axis": [0, 1, 0], "slides": True},
            {"body": "ball", "point": [0.1, 0, 0]},
        ]
    },
    "belt": {
        "over": [
            {"body": "arm", "radius": 0.1, "axis": [0, 1, 0]},
            {"body": "forearm", "radius": 0.2, "axis": [0, 1, 0]},
        ]
    },
    "point_on_plane": {
        "point": {"body": "ball", "point": [0.1, 0, 0]},
        "plane": {"normal": [0.2, 0.1, 1], "position": [0, 0, 0.4]},
    },
    "rolling": {"body": "ball", "radius": 0.4, "plane": {"normal": [0, 0, 1]}},
    "knife_edge": {"body": "ball", "edge": [1, 0.2, 0], "normal": [0, 0, 1]},
    "velocity": {
        "terms": [{"body": "ball", "linear": [0, 0.3, 1]}, {"body": "arm", "angular": [0, 0.2, 0]}],
        "value": "1 + sin(3*t)",
    },
    "expression": {
        "inputs": {"d": {"distance": [{"body": "world"}, {"body": "ball", "point": [0.1, 0, 0]}]}},
        "value": "d - 0.6 - 0.1*sin(3*t)",
    },
    "gear": {"joints": ["shoulder", "elbow"], "ratio": -2.0},
    "equal": {"joints": ["shoulder", "elbow"]},
    "linear": {"terms": {"shoulder": 1.0, "elbow": -0.7}, "value": 0.0},
    "function": {
        "output": "elbow",
        "inputs": {"a": "shoulder", "d": "slide"},
        "functions": {"f": {"x": [-3, -1, 0, 1, 3], "y": [-1, 0.6, 0, 0.5, 2]}},
        "value": "f(a) + 0.3*d**2",
    },
    "rack_pinion": {"rack": "slide", "pinion": "elbow", "radius": 0.2},
}


def machine(kind):
    """Return a driven double pendulum with a slide at its end and a loaded free ball, under one constraint."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    entry = {"type": kind, **CASES[kind]}
    return {
        "bodies": {"arm": ARM, "forearm": ARM, "slider": ARM, "ball": BALL},
        "joints": {
            "shoulder": {**hinge, "child": "arm", "force": "4*sin(3*t)"},
            "elbow": {**hinge, "parent": "arm", "child": "forearm", "origin": {"position": [0.6, 0, 0]}},
            "slide": {"type": "prismatic", "parent": "forearm", "child": "slider", "axis": [1, 0, 0], "stiffness": 40},
        },
        "forces": FORCES,
        "couplings" if kind in COUPLINGS else "constraints": {"it": entry},
        "simulation": {"assembly_tolerance": 2.0},
    }


def all_machines():
    """Return a scene with the machines of all kinds beside one another."""
    scene: dict[str, Any] = {}
    for kind in CASES:
        for section, content in machine(kind).items():
            scene.setdefault(section, {}).update(_named(content, kind) if section != "simulation" else content)
    return scene


NAMES = ("arm", "forearm", "slider", "ball", "shoulder", "elbow", "slide", "pull", "it")


def _named(content, kind):
    """Return content of a scene with the kind in front of all names."""
    if isinstance(content, dict):
        return {_named(key, kind): _named(value, kind) for key, value in content.items()}
    if isinstance(content, list):
        return [_named(value, kind) for value in content]
    return f"{kind}_{content}" if content in NAMES else content
