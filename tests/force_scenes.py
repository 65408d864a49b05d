"""Scenes for tests of force elements: one element between three floating bodies."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from loops import loaded
from scipy.spatial.transform import Rotation
from strategies import random_rotation

from multibody_cli.cables.rope import mark
from multibody_cli.compile import compile_scene
from multibody_cli.forces.contract import ForceElement
from multibody_cli.forces.element_products import add_stiffness_damping_products, linearize_forces
from multibody_cli.forces.elements import ELEMENTS as CATALOGUE
from multibody_cli.forces.elements import apply_forces, elastic_energy
from multibody_cli.forces.quantities import write_directions
from multibody_cli.kernel import is_interpreted, records
from multibody_cli.model import System
from multibody_cli.tree.workspace import Work, workspace_for

AT = [[0.1, -0.2, 0.3], [-0.15, 0.25, 0.05], [0.2, 0.1, -0.3], [0.0, 0.3, 0.2]]


def end(body: str, k: int) -> dict[str, Any]:
    return {"body": body, "point": AT[k]}


def spring(*points: Any, **numbers: Any) -> dict[str, Any]:
    return {"springs": {"e": {"path": list(points), **numbers}}}


def muscle(optimal: float, activation: float | str = 0.7) -> dict[str, Any]:
    numbers = {"max_isometric_force": 80, "tendon_slack_length": 0.3, "max_velocity": 2, "activation": activation}
    return {
        "muscles": {"e": {"path": [end("world", 0), end("a", 1), end("b", 2)], "optimal_length": optimal, **numbers}}
    }


def pennate(curves: str, **numbers: Any) -> dict[str, Any]:
    """A muscle with an angle of its fibers."""
    scene = muscle(1.2, 0.6)
    scene["muscles"]["e"] |= {"curves": curves, "pennation_angle": 0.6, **numbers}
    return scene


SPHERE = {"wrap": {"type": "sphere", "body": "c", "position": AT[2], "radius": 0.5}, "side": [-1, 1, -1]}
CYLINDER = {
    "wrap": {
        "type": "cylinder",
        "body": "c",
        "position": AT[2],
        "rotation": {"axis": [1, -2, 3], "angle": 0.6},
        "radius": 0.3,
    },
    "side": [-1, 1, 1],
}
CYLINDER_ON_GROUND = {
    "wrap": {"type": "cylinder", "body": "world", "position": AT[1], "radius": 0.15},
    "side": [-1, 1, 0],
}
over_a_surface = {"stiffness": 30, "damping": 4, "rest_length": 0.4}


def disc(body: str, k: int, sense: int = 1, slides: bool = False) -> dict[str, Any]:
    return {**end(body, k), "radius": 0.05, "axis": AT[k - 1], "sense": sense, "slides": slides}


TURNING = {
    "ball": {"child": "a", "type": "spherical"},
    "hinge": {"child": "b", "type": "revolute", "parent": "a", "axis": AT[0]},
    "other": {"child": "c", "type": "revolute", "parent": "a", "axis": AT[2]},
}
"""Joints that count the turns of `b` and `c`."""


def elastic_rope(*over: Any, **numbers: Any) -> dict[str, Any]:
    return {"joints": TURNING, "springs": {"e": {"over": list(over), "stiffness": 40, "tension": 9, **numbers}}}


ELEMENTS: dict[str, dict[str, Any]] = {
    "elastic_rope": elastic_rope(end("a", 0), disc("c", 2, slides=True), end("world", 3), damping=7),
    "elastic_rope_on_a_pulley": elastic_rope(
        end("world", 0), disc("c", 3, -1, slides=True), disc("b", 1), end("a", 3), damping=7
    ),
    "elastic_rope_on_a_drum": elastic_rope(disc("b", 1, -1), end("c", 3)),
    "elastic_belt": elastic_rope(disc("b", 1), disc("c", 3, -1), damping=5, closed=True),
    "spring": spring(end("a", 0), end("b", 1), stiffness=50, damping=3, rest_length=0.7),
    "to_ground": spring(end("world", 3), end("b", 1), stiffness=50, rest_length=3.0),
    "without_length": spring(end("a", 2), end("c", 1), stiffness=20, rest_length=0),
    "cable": spring(
        end("a", 0), end("world", 1), end("b", 2), end("c", 3), relative=True, stiffness=40, damping=5, rest_length=0.9
    ),
    "branches": spring(
        end("a", 0),
        end("b", 1),
        {**end("world", 2), "divisor": 2.5},
        end("c", 0),
        stiffness=30,
        damping=4,
        rest_length=0.4,
    ),
    "stretched_rope": spring(end("a", 0), end("world", 1), end("b", 1), stiffness=50, damping=3, rest_length=[0, 0.1]),
    "slack_rope": spring(end("a", 0), end("b", 1), stiffness=50, damping=3, rest_length=[0.0, 50]),
    "bushing": {
        "springs": {
            "e": {
                "type": "bushing",
                "parent": "a",
                "child": "b",
                "origin": {"position": AT[0], "rotation": {"axis": [1, 2, 3], "angle": 0.7}},
                "child_origin": {"position": AT[1], "rotation": {"axis": [3, -1, 1], "angle": -0.4}},
                "stiffness": {"linear": [30, 40, 50], "angular": [3, 4, 5]},
                "damping": {"linear": [1, 2, 3], "angular": [0.1, 0.2, 0.3]},
            }
        }
    },
    "euler_bushing": {
        "springs": {
            "e": {
                "type": "euler_bushing",
                "parent": "a",
                "child": "b",
                "origin": {"position": AT[0], "rotation": {"axis": [1, 2, 3], "angle": 0.7}},
                "child_origin": {"position": AT[1], "rotation": {"axis": [3, -1, 1], "angle": -0.4}},
                "stiffness": {"linear": [30, 40, 50], "angular": [3, 4, 5]},
                "damping": {"linear": [1, 2, 3], "angular": [0.1, 0.2, 0.3]},
            }
        }
    },
    "muscle": muscle(2.0),
    "stretched_muscle": muscle(0.3),
    "pennate": pennate("millard2012"),
    "pennate_thelen": pennate("thelen2003", fiber_damping=0.05),
    "load": {"forces": {"e": {"body": "a", "point": AT[0], "force": [1, 2, 3], "torque": [1, 0, 2]}}},
    "body_load": {
        "forces": {"e": {"body": "a", "point": AT[0], "force": [1, 2, 3], "torque": [1, 0, 2], "frame": "body"}}
    },
    "load_by_state": {
        "forces": {
            "e": {
                "body": "a",
                "point": AT[0],
                "force": ["3*bodies.b.point(0.1, 0.2, -0.3).position.x", "-bodies.a.linear_velocity.y**2", "2"],
                "torque": ["bodies.a.angular_velocity.z*bodies.c.position.y", "sin(bodies.b.position.z)", 0],
            }
        }
    },
    "body_load_by_state": {
        "forces": {
            "e": {
                "body": "a",
                "point": AT[0],
                "force": ["3*bodies.b.position.x", 1, "exp(0.3*bodies.a.point(0, 0.4, 0.1).linear_velocity.z)"],
                "frame": "body",
            }
        }
    },
    **{
        f"moving_load_{frame}_{point_frame}": {
            "forces": {
                "e": {
                    "body": "a",
                    "moving_point": [0.1, "0.2 + t", "sin(t) - 0.3"],
                    "point_frame": point_frame,
                    "force": [1, "2*cos(t)", 3],
                    "torque": [1, 0, "2 - t"],
                    "frame": frame,
                }
            }
        }
        for frame in ("world", "body")
        for point_frame in ("world", "body")
    },
    "pennate_muscle_by_state": pennate("thelen2003", optimal_length=2.0, activation="0.5 + 0.05*bodies.c.position.x"),
    "muscle_by_state": muscle(0.3, "0.5 + 0.05*bodies.c.position.x + 0.02*bodies.a.angular_velocity.y"),
    "tension": {"forces": {"e": {"path": [end("a", 0), end("world", 1), end("b", 2)], "tension": 30}}},
    "tension_by_state": {
        "paths": {"other": {"path": [end("b", 1), end("world", 0), {**end("a", 3), "divisor": 0.5}, end("c", 2)]}},
        "forces": {
            "e": {
                "path": [end("a", 0), end("world", 1), end("b", 2)],
                "tension": "5 + 2*paths.other.length + 0.3*paths.other.rate*bodies.a.position.x",
            }
        },
    },
    "over_a_sphere": spring(end("a", 0), SPHERE, end("b", 1), **over_a_surface),
    "over_cylinders": spring(
        end("a", 0), CYLINDER, end("b", 1), CYLINDER_ON_GROUND, {**end("world", 2)}, stiffness=30, rest_length=0.4
    ),
    "drag": {"forces": {"e": {"body": "b", "viscous": {"linear": 2, "angular": 0.5}}}},
    "quadratic_drag": {"forces": {"e": {"body": "b", "quadratic": 2}}},
    "fluid": {
        "forces": {
            "e": {
                "body": "b",
                "box": [0.5, 0.3, 0.2],
                "rotation": {"axis": [1, -2, 3], "angle": 0.6},
                "fluid": {"density": 20, "viscosity": 0.3, "wind": [0.4, -0.2, 0.3]},
            }
        }
    },
    "fluid_on_ellipsoid": {
        "forces": {
            "e": {
                "body": "b",
                "ellipsoid": [0.5, 0.3, 0.2],
                "point": AT[2],
                "rotation": {"axis": [1, -2, 3], "angle": 0.6},
                "fluid": {"density": 20, "viscosity": 0.3, "wind": [0.4, -0.2, 0.3]},
            }
        }
    },
    "quadratic_drag_at_a_point": {"forces": {"e": {"body": "b", "quadratic": 2, "point": AT[1]}}},
}
"""Sections of a scene with one element each."""

INERTIA = {"mass": 2.0, "com": [0.1, 0.05, -0.1], "inertia": {"principal": [0.3, 0.4, 0.5]}}


Q = np.zeros(9)
"""Coordinates; those of joints are not those of the bodies."""


def floating(name: str) -> System:
    """Three bodies that float, with one element between them."""
    return _floating(name, is_interpreted())


@cache
def _floating(name: str, _interpreted: bool) -> System:  # records of plain Python are others
    scene = {"bodies": {body: INERTIA for body in "abc"}, **ELEMENTS[name]}
    return compile_scene(loaded(scene)).model.system


def thrown(system: System, rng: np.random.Generator) -> Work:
    """Work arrays with the bodies anywhere, at any velocity."""
    work = workspace_for(system)
    for row in range(1, len(system.tree.links)):
        body = work.bodies[row]
        body["R"] = random_rotation(rng).T.ravel()
        body["x"], body["v"], body["w"] = rng.normal(size=(3, 3))
    system.forces.spans["made"] = 0.0
    mark(
        system.forces.spans, work.bodies, Q, np.zeros(len(system.forces.spans))
    )  # ropes have the tension of their start there
    return work


def element_in(system: System) -> ForceElement:
    """The entry of the catalogue of the only element of a system."""
    [element] = [element for element in CATALOGUE if len(system.forces.table(element)) > 0]
    return element


def wrenches(system: System, work: Work) -> tuple[np.ndarray, np.ndarray]:
    """Wrenches (nb + 1, 6) on the bodies, [moment; force] about their joint frames, and powers of the accounts."""
    work.bodies["t"], work.bodies["f"] = 0.0, 0.0
    powers = np.zeros(1)
    apply_forces(system.forces, 0.0, Q, Q, work, powers)
    return -np.hstack([work.bodies["t"], work.bodies["f"]]), powers


def energy(system: System, work: Work) -> float:
    return float(elastic_energy(system.forces, Q, work.bodies))


def twists(work: Work) -> np.ndarray:
    """Twists (nb + 1, 6) of the bodies, [angular; linear]."""
    return np.hstack([work.bodies["w"], work.bodies["v"]])


def moved(work: Work, change: np.ndarray, s: float) -> Work:
    """The bodies after a displacement s times the change, (nb + 1, 6)."""
    bodies = np.array(work.bodies)
    for row in range(1, len(bodies)):
        turn = Rotation.from_rotvec(s * change[row, :3]).as_matrix()
        bodies["R"][row] = (turn @ bodies["R"][row].reshape(3, 3).T).T.ravel()
        bodies["x"][row] += s * change[row, 3:]
    return work._replace(bodies=records(bodies))


def varied(system: System, work: Work, change: np.ndarray, along: float, faster: float, exact: bool) -> np.ndarray:
    """The product of K and D with a change."""
    wrenches(system, work)  # signals of the state are evaluated at this state
    work.bodies["dw"], work.bodies["dv"] = change[:, :3], change[:, 3:]
    work.wrenches["t"], work.wrenches["f"] = 0.0, 0.0
    write_directions(
        system.forces.quantities, system.forces.points, system.forces.signals, np.zeros(0), work.bodies, along, faster
    )
    linearize_forces(system.forces, 0.0, work.bodies)
    add_stiffness_damping_products(system.forces, 0.0, work.bodies, along, faster, exact, work.wrenches)
    return np.hstack([work.wrenches["t"], work.wrenches["f"]])
