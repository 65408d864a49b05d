"""Random machines whose frequencies a step of 1 ms resolves: trees, and planar linkages with redundant rows."""

from __future__ import annotations

from typing import Any

import numpy as np

Data = dict[str, Any]

JOINTS = ("revolute", "prismatic", "universal", "spherical", "cylindrical", "planar")
AXES = ([1, 0, 0], [0, 1, 0], [0, 0, 1])


def random_machine(seed: int) -> Data:
    """Return a scene without `integrator`: two of three are trees, the others slider-cranks."""
    rng = np.random.default_rng(seed)
    scene = slider_crank(rng) if seed % 3 == 0 else tree(rng)
    return {"mbsim": 1, "name": f"machine-{seed}", **scene, "simulation": {"duration": 1.0}}


def tree(rng: np.random.Generator) -> Data:
    """Return a tree of boxes with springs and dampers in its joints, and a spring to the world."""
    bodies: Data = {}
    joints: Data = {}
    count = int(rng.integers(1, 7))
    for k in range(count):
        size = rng.uniform(0.1, 0.5, 3).round(3).tolist()
        bodies[f"b{k}"] = {"density": 500.0, "shapes": [{"type": "box", "size": size}]}
        kind = str(rng.choice(JOINTS))
        joint = {
            "type": kind,
            "parent": "world" if k == 0 else f"b{rng.integers(k)}",
            "child": f"b{k}",
            "origin": {"position": rng.uniform(-0.3, 0.3, 3).round(3).tolist()},
            "child_origin": {"position": rng.uniform(-0.3, 0.3, 3).round(3).tolist()},
        }
        if kind in ("revolute", "prismatic"):
            joint["axis"] = AXES[rng.integers(3)]
            joint["v"] = float(rng.uniform(-2.0, 2.0))
            joint["damping"] = float(rng.uniform(0.0, 0.5))
        joints[f"j{k}"] = joint
    spring = {"between": [{"body": "world", "point": [0, 0, 2]}, {"body": f"b{count - 1}"}]}
    springs = {"s": {**spring, "stiffness": float(rng.uniform(10.0, 1000.0)), "rest_length": 1.0}}
    return {"bodies": bodies, "joints": joints, "springs": springs}


def slider_crank(rng: np.random.Generator) -> Data:
    """Return a slider-crank of revolute joints in space, driven by a torque."""
    r, length, a = rng.uniform(0.05, 0.2), rng.uniform(0.4, 0.8), rng.uniform(0.1, 3.0)
    density = float(rng.uniform(500.0, 8000.0))

    def box(size: float) -> Data:
        return {
            "density": density,
            "shapes": [{"type": "box", "size": [size, 0.04, 0.04], "position": [size / 2, 0, 0]}],
        }

    tilt = np.arcsin(r / length * np.sin(a))
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {
            "crank": box(r),
            "rod": box(length),
            "slider": {"density": density, "shapes": [{"type": "box", "size": [0.1, 0.1, 0.1]}]},
        },
        "joints": {
            "bearing": {
                "type": "revolute",
                "child": "crank",
                "q": a,
                "force": float(rng.uniform(-2.0, 2.0)),
                "damping": 0.05,
            },
            "bigend": {
                "type": "revolute",
                "parent": "crank",
                "child": "rod",
                "origin": {"position": [r, 0, 0]},
                "q": -a - tilt,
            },
            "guide": {
                "type": "prismatic",
                "child": "slider",
                "axis": [1, 0, 0],
                "q": r * np.cos(a) + length * np.cos(tilt),
            },
            "pin": {
                "type": "revolute",
                "parent": "slider",
                "child": "rod",
                "child_origin": {"position": [length, 0, 0]},
            },
        },
    }
