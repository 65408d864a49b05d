"""Machines that go wrong, each with the alarm that reports it, and the change after which it is right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Data = dict[str, Any]

UNIT = {"principal": [1.0, 1.0, 1.0]}
SMALL = {"principal": [1e-3, 1e-3, 1e-3]}


@dataclass(frozen=True)
class Machine:
    """A machine that goes wrong.

    Parameters
    ----------
    name, scene
        The machine, whose twin is the scene with the change.
    alarm
        Alarm that reports it: the name of one of the run, or a word of a warning at the start.
    channel, tolerance
        Channel whose values at the end are right, relative to its largest value, in the twin and wrong in the machine.
    change
        The change that the remedy describes, as values of `--set`; empty if the remedy is a setting with its value.
    described
        The change in words, as on the page about alarms.
    """

    name: str
    scene: Data
    alarm: str
    channel: str
    tolerance: float = 0.01
    change: tuple[str, ...] = ()
    described: str = ""


def scene(bodies: Data, joints: Data | None = None, gravity: float = 0.0, duration: float = 0.5, **more: Any) -> Data:
    """A scene with gravity along -z; `settings` are those of the simulation."""
    settings = {"duration": duration, "step": 1e-3, **more.pop("settings", {})}
    return {
        "mbsim": 1,
        "gravity": [0, 0, -gravity],
        "bodies": bodies,
        "joints": joints or {},
        "simulation": settings,
    } | more


def slider(**fields: Any) -> Data:
    return {"type": "prismatic", "child": "m", "axis": [1, 0, 0], **fields}


MASS = {"m": {"mass": 1, "inertia": UNIT}}
POINT = {"mass": 1, "kind": "point"}


def pendulum(**fields: Any) -> Data:
    arm = {"mass": 1, "com": [0, 0, -0.5], "inertia": {"principal": [0.01, 0.01, 0.01]}}
    joint = {"type": "revolute", "child": "arm", "axis": [0, 1, 0], "q": 1.0, **fields}
    return scene({"arm": arm}, {"hinge": joint}, 9.81)


def double_pendulum(duration: float, **settings: Any) -> Data:
    bar = {"mass": 1, "shapes": [{"type": "box", "size": [0.05, 0.05, 1]}]}
    hinge = {"type": "revolute", "axis": [0, 1, 0], "child_origin": {"position": [0, 0, 0.5]}}
    elbow = {**hinge, "parent": "upper", "child": "lower", "origin": {"position": [0, 0, -0.5]}}
    joints = {"shoulder": {**hinge, "child": "upper", "q": 2}, "elbow": elbow}
    return scene({"upper": bar, "lower": bar}, joints, 9.81, duration, settings=settings)


def links(light: float) -> Data:
    """Two links of 0.5 m in a line along x, with a light body between them and a load of 1 kg at the end."""
    return {
        "bodies": {
            "light": {**POINT, "mass": light, "position": [0.5, 0, 0]},
            "load": {**POINT, "position": [1, 0, 0]},
        },
        "constraints": {
            "upper": {"type": "distance", "between": [{"body": "world"}, {"body": "light"}], "length": 0.5},
            "lower": {"type": "distance", "between": [{"body": "light"}, {"body": "load"}], "length": 0.5},
        },
    }


def hanging(light: float) -> Data:
    """A load that swings from two links: their tension vibrates the light body at sqrt(4 g/light) rad/s."""
    machine = scene(gravity=9.81, **links(light)) | {"gravity": [9.81, 0, 0]}
    machine["bodies"]["load"]["velocity"] = {"linear": [0, 0.1, 0]}
    return machine


def whirling() -> Data:
    """A force drives the same links around, until their tension vibrates the light body."""
    whirl = {"whirl": {"body": "load", "force": ["-100*sin(40*t)", "100*cos(40*t)", 0]}}
    return scene(**links(1e-3), forces=whirl, duration=1.0)


def antagonists(strength: float) -> Data:
    """A light arm between two muscles that are activated after 0.1 s."""
    arm = {"mass": 0.01, "com": [0.1, 0, 0], "inertia": {"principal": [1e-5, 1e-5, 1e-5]}}
    active = "min(1, max(0.01, (t - 0.1)*10))"

    def muscle(y: float, length: float) -> Data:
        path = [{"body": "world", "point": [0, y, 0]}, {"body": "arm", "point": [0.05, 0, 0]}]
        return {"path": path, "max_isometric_force": strength, "optimal_length": length, "activation": active}

    joint = {"type": "revolute", "child": "arm", "q": 0.5}
    return scene({"arm": arm}, {"elbow": joint}, muscles={"flexor": muscle(0.3, 0.25), "extensor": muscle(-0.3, 0.3)})


def free_top(spin: float) -> Data:
    """A free symmetric top: its axis circles around the angular momentum."""
    top = {"mass": 1, "inertia": {"principal": [1e-3, 1e-3, 2e-3]}, "velocity": {"angular": [0.3 * spin, 0, spin]}}
    return scene({"top": top}, duration=0.1)


def rod_on_distance(integrator: str = "rk4", **options: Any) -> Data:
    body = {"mass": 1, "com": [0, 0, 0], "inertia": {"principal": [0.1, 0.1, 0.1]}, "position": [1, 0, 0]}
    ends = [{"body": "world"}, {"body": "m", "point": [0.1, 0.1, 0]}]
    rod = {"rod": {"type": "distance", "between": ends, "length": math.hypot(1.1, 0.1)}}
    return scene({"m": body}, gravity=9.81, constraints=rod, settings={"integrator": integrator, "options": options})


def slider_crank(motion: str) -> Data:
    """A slider with prescribed motion that turns a crank."""
    tilt = math.asin(0.1 * math.sin(1.0) / 0.3)
    body = {"mass": 1, "inertia": {"principal": [0.01, 0.01, 0.01]}}
    joints = {
        "bearing": {"type": "revolute", "child": "crank", "q": 1.0},
        "pin": {
            "type": "revolute",
            "parent": "crank",
            "child": "rod",
            "origin": {"position": [0.1, 0, 0]},
            "q": -1.0 - tilt,
        },
        "guide": {"type": "prismatic", "child": "slider", "axis": [1, 0, 0], "motion": {"position": motion}},
        "wrist": {"type": "revolute", "parent": "slider", "child": "rod", "child_origin": {"position": [0.3, 0, 0]}},
    }
    bodies = {"crank": {**body, "com": [0.05, 0, 0]}, "rod": {**body, "com": [0.15, 0, 0]}, "slider": body}
    return scene(bodies, joints)


START = 0.1 * math.cos(1.0) + 0.3 * math.cos(math.asin(0.1 * math.sin(1.0) / 0.3))
"""Position of the slider at the start; it reaches 0.4 m."""


def geared(second: str) -> Data:
    joint = {"type": "revolute", "child": "m", "motion": {"position": "0.5*sin(3*t)"}}
    joints = {"first": joint, "second": {**joint, "child": "n", "motion": {"position": second}}}
    gear = {"gear": {"type": "gear", "joints": ["first", "second"], "ratio": 2}}
    return scene(MASS | {"n": MASS["m"]}, joints, couplings=gear)


def carried_pendulum(position: Any) -> Data:
    arm = {"mass": 1, "inertia": {"principal": [0.1, 0.1, 0.1]}, "com": [0, 0, -1]}
    hinge = {"type": "revolute", "axis": [0, 1, 0], "parent": "m", "child": "arm"}
    return scene(MASS | {"arm": arm}, {"cart": slider(motion={"position": position}), "hinge": hinge}, 9.81)


def blade(**fields: Any) -> Data:
    """A blade that turns into a thin wall."""
    wall = {"type": "box", "size": [0.2, 2e-3, 0.2], "position": [0.9, 0.5, 0]}
    body = {"mass": 1, "shapes": [{"type": "box", "size": [1, 5e-3, 0.02], "position": [0.5, 0, 0]}]}
    hub = {"type": "revolute", "child": "blade", "axis": [0, 0, 1], **fields}
    return scene({"blade": body}, {"hub": hub}, duration=0.2, world={"shapes": [wall]}, contacts={})


def braked() -> Data:
    """A pendulum with dry friction in its bearing."""
    arm = {"mass": 1, "com": [0.5, 0, 0], "inertia": {"principal": [0.1, 0.1, 0.1]}}
    friction = {"coefficient": 0.3, "surface": {"type": "cylinder", "radius": 0.05, "length": 0.1}}
    hinge = {"type": "revolute", "child": "arm", "axis": [0, 1, 0], "friction": friction}
    return scene({"arm": arm}, {"hinge": hinge}, 9.81, 1.0, settings={"step": 0.05})


def circling(stiffness: float, **settings: Any) -> Data:
    """A mass that circles at 100 rad/s on a spring of 0.1 m."""
    body = {**POINT, "position": [0.1, 0, 0], "velocity": {"linear": [0, 10, 0]}}
    spring = {"between": [{"body": "world"}, {"body": "m"}], "stiffness": stiffness, "rest_length": 0.1}
    return scene({"m": body}, springs={"k": spring}, duration=0.05, settings=settings)


def sprung_box() -> Data:
    boxes = {
        "a": {"mass": 1, "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}], "position": [0, 0, 0.1]},
        "b": {"mass": 0.01, "shapes": [{"type": "box", "size": [0.1, 0.1, 0.1]}], "position": [0, 0, 0.5]},
    }
    spring = {"between": [{"body": "a"}, {"body": "b"}], "stiffness": 1e5, "rest_length": 0.39}
    ground = {"shapes": [{"type": "plane"}]}
    return scene(boxes, gravity=9.81, duration=0.1, world=ground, contacts={}, springs={"k": spring})


DRAG = {"drag": {"body": "m", "quadratic": 1.0}}
BULLET = {"m": {"mass": 1, "inertia": SMALL, "velocity": {"linear": [5000, 0, 0]}}}
PULSE = "1e5*exp(-((t - 0.25052)/2e-5)**2)"
HUM = "1000*sin(2*pi*1000*t)**2"

MACHINES = (
    Machine(
        "stiff spring", scene(MASS, {"s": slider(q=1, stiffness=1e7)}, duration=0.1), "stability limit", "joints/s/q"
    ),
    Machine("strong damper", pendulum(damping=1000.0), "stability limit", "joints/hinge/q"),
    Machine("fast body in drag", scene(BULLET, forces=DRAG), "stability limit", "bodies/m/position"),
    Machine("stiff spring on a light box in contact", sprung_box(), "stability limit", "bodies/b/position"),
    Machine("heavy load on a light link", hanging(1e-7), "stability limit", "bodies/load/position"),
    Machine("links that are whirled", whirling(), "ledger", "bodies/load/position", 0.05),
    Machine("strong muscles on a light arm", antagonists(2e4), "ledger", "joints/elbow/q"),
    Machine("spinning top, 900 rad/s", free_top(900.0), "ledger", "bodies/top/angular_velocity"),
    Machine("spinning top, 3000 rad/s", free_top(3000.0), "stability limit", "bodies/top/angular_velocity"),
    Machine(
        "feedback of Baumgarte, too stiff",
        rod_on_distance(stabilization="baumgarte", baumgarte_rate=4000.0),
        "stability limit",
        "bodies/m/position",
    ),
    Machine(
        "feedback of Baumgarte, too soft",
        rod_on_distance("semi_implicit_euler", stabilization="baumgarte", baumgarte_rate=1.0),
        "constraints",
        "constraints/rod/error",
        1e-6,
    ),
    Machine(
        "drives that contradict each other",
        geared("sin(3*t) + 0.1*t**3"),
        "constraints",
        "joints/second/q",
        change=("joints.second.motion.position=sin(3*t)",),
        described="a second motion that agrees with the gear",
    ),
    Machine(
        "drive beyond its reach",
        slider_crank(f"{START} + 0.2*t"),
        "constraints",
        "joints/bearing/q",
        change=(f"joints.guide.motion.position={START} + 0.1*t",),
        described="a motion within reach",
    ),
    Machine(
        "motion that jumps",
        carried_pendulum("0.5*floor(t + 0.74995)"),
        "jumps by",
        "joints/hinge/q",
        change=("joints.cart.motion.position=0.25 + 0.25*tanh((t - 0.25)/0.02)",),
        described="a continuous motion",
    ),
    Machine("pulse within a step", scene(MASS, {"s": slider(force=PULSE)}), "within a step", "joints/s/v"),
    Machine(
        "force of the frequency of the steps", scene(MASS, {"s": slider(force=HUM)}), "within a step", "joints/s/v"
    ),
    Machine(
        "blade that is driven through a wall",
        blade(motion={"velocity": 10.0}),
        "penetration",
        "joints/hub/q",
        change=("joints.hub.motion=null", "joints.hub.force=1"),
        described="a torque in place of the motion",
    ),
    Machine(
        "rotation with an implicit integrator",
        circling(1e6, integrator="linearly_implicit_euler"),
        "damping",
        "bodies/m/position",
        0.05,
    ),
    Machine("dry friction, with a long step", braked(), "ledger", "joints/hinge/q", 2e-3),
    Machine(
        "first order at high speed",
        circling(1e4, integrator="semi_implicit_euler", step=5e-3),
        "ledger",
        "bodies/m/position",
        2e-3,
    ),
    Machine(
        "long variational step",
        double_pendulum(2.0, step=0.1, method="variational", options={"adaptive": True}),
        "step_search",
        "joints/shoulder/q",
        0.02,
    ),
    Machine(
        "loose tolerance",
        double_pendulum(3.0, integrator="dop853", tolerance=1e-2),
        "ledger",
        "joints/elbow/q",
        1e-3,
    ),
)
