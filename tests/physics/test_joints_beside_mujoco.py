"""Armature, springs and dampers of joints beside MuJoCo: a free base, a hinge, a slider and a ball in a chain."""

from __future__ import annotations

import numpy as np
import pytest

import mbsim

BODIES = {
    "base": (3.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4)),
    "arm": (1.0, (0.0, 0.3, 0.1), (0.1, 0.2, 0.25)),
    "cart": (2.0, (0.0, 0.0, 0.2), (0.1, 0.1, 0.15)),
    "ball": (0.5, (0.1, 0.0, -0.5), (0.01, 0.02, 0.025)),
}
"""Mass, centre of mass and principal moments of each body."""

PLACES = {"arm": (0.0, 1.0, 0.0), "cart": (0.2, 0.0, 0.3), "ball": (0.0, 0.4, 0.0)}
TURN, TWIST, LEAN = np.array([0.3, -0.5, 0.2]), np.array([0.4, 0.2, -0.3]), np.array([-0.2, 0.6, 0.5])
POSITION, HINGE, SLIDE = np.array([0.1, 0.2, 0.3]), 0.7, -0.2
RATES = np.array([1.0, -2.0, 0.5, 0.7, -0.9, 1.1, 2.0, -0.6, 1.0, 2.0, -1.0])
"""Rates of the free base in the axes of the world, of the hinge, of the slider, and of the ball in its own axes."""


def scene(joints: dict[str, str]) -> str:
    """The chain, with further fields of its joints."""
    bodies = "".join(
        f"  {name}: {{mass: {m}, com: {list(com)}, inertia: {{principal: {list(J)}}}}}\n"
        for name, (m, com, J) in BODIES.items()
    )
    heads = {
        "base": f"type: free, q: {{position: {POSITION.tolist()}, rotation: {{rotvec: {TURN.tolist()}}}}}, "
        f"v: {{linear: {RATES[:3].tolist()}, angular: {RATES[3:6].tolist()}}}",
        "arm": f"type: revolute, parent: base, axis: [1, 0, 0], q: {HINGE}, v: {RATES[6]}",
        "cart": f"type: prismatic, parent: arm, axis: [0, 0, 1], q: {SLIDE}, v: {RATES[7]}",
        "ball": f"type: spherical, parent: cart, q: {{rotvec: {TWIST.tolist()}}}, v: {RATES[8:].tolist()}",
    }
    rows = "".join(
        f"  {name}: {{child: {name}, {head}, origin: {{position: {list(PLACES.get(name, (0, 0, 0)))}}}"
        f"{joints.get(name, '')}}}\n"
        for name, head in heads.items()
    )
    return f"mbsim: 1\ngravity: [1, -2, -9]\nbodies:\n{bodies}joints:\n{rows}simulation: {{duration: 1, step: 1 ms}}\n"


def accelerations(joints: dict[str, str], *settings: str) -> np.ndarray:
    """Those of the program (11,), in the order of `RATES`."""
    sim = mbsim.Simulation(mbsim.load(scene(joints), settings))
    return np.concatenate([sim.a[name] for name in BODIES])


def quaternion(vector: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(vector))
    return np.r_[np.cos(angle / 2), np.sin(angle / 2) * vector / angle]


def rotation(vector: np.ndarray) -> np.ndarray:
    import mujoco

    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quaternion(vector))
    return R.reshape(3, 3)


def accelerations_of_mujoco(joints: dict[str, str], rests: dict[str, np.ndarray] | None = None) -> np.ndarray:
    """Those of MuJoCo; `joints` are attributes of its joints, `rests` the positions at which their springs rest."""
    mujoco = pytest.importorskip("mujoco")
    types = {"base": "free", "arm": "hinge", "cart": "slide", "ball": "ball"}
    axes = {"arm": 'axis="1 0 0"', "cart": 'axis="0 0 1"'}
    text = ""
    for name, (mass, com, J) in BODIES.items():
        place = " ".join(map(str, PLACES.get(name, (0, 0, 0))))
        text += (
            f'<body pos="{place}"><joint name="{name}" type="{types[name]}" {axes.get(name, "")} '
            f'{joints.get(name, "")}/><inertial pos="{" ".join(map(str, com))}" mass="{mass}" '
            f'diaginertia="{" ".join(map(str, J))}"/>'
        )
    option = '<option gravity="1 -2 -9"><flag contact="disable"/></option>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>{text}{'</body>' * len(BODIES)}</worldbody></mujoco>"
    )
    for name, rest in (rests or {}).items():
        first = model.joint(name).qposadr[0]
        model.qpos_spring[first : first + len(rest)] = rest
    data, R = mujoco.MjData(model), rotation(TURN)
    data.qpos[:] = np.r_[POSITION, quaternion(TURN), HINGE, SLIDE, quaternion(TWIST)]
    data.qvel[:] = RATES
    data.qvel[3:6] = R.T @ RATES[3:6]
    mujoco.mj_forward(model, data)
    found = data.qacc.copy()
    found[3:6] = R @ found[3:6]  # the velocity and its derivative turn alike: w x w = 0
    return found


def test_armature() -> None:
    """Of every joint; MuJoCo has one number for all coordinates of a joint."""
    values = {"base": 0.7, "arm": 0.3, "cart": 1.1, "ball": 0.05}
    expected = accelerations_of_mujoco({name: f'armature="{value}"' for name, value in values.items()})
    for method in ("aba", "redmax", "symbolic"):
        found = accelerations(
            {name: f", armature: {value}" for name, value in values.items()}, f"simulation.method={method}"
        )
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_springs_and_dampers() -> None:
    """With springs of the rotations and of the position about other rests, and dampers."""
    values = {"base": (5.0, 0.3), "arm": (2.0, 0.1), "cart": (3.0, 0.4), "ball": (1.5, 0.2)}
    position = [0.3, -0.4, 0.5]
    rests = {
        "base": np.r_[position, quaternion(LEAN)],
        "arm": np.array([0.2]),
        "cart": np.array([0.3]),
        "ball": quaternion(-LEAN),
    }
    words = {
        "base": f"{{position: {position}, rotation: {{rotvec: {LEAN.tolist()}}}}}",
        "arm": "0.2",
        "cart": "0.3",
        "ball": f"{{rotvec: {(-LEAN).tolist()}}}",
    }
    expected = accelerations_of_mujoco(
        {name: f'stiffness="{k}" damping="{d}"' for name, (k, d) in values.items()}, rests
    )
    joints = {name: f", stiffness: {k}, damping: {d}, rest: {words[name]}" for name, (k, d) in values.items()}
    for method in ("aba", "redmax", "symbolic", "baraff"):
        np.testing.assert_allclose(accelerations(joints, f"simulation.method={method}"), expected, rtol=1e-9, atol=1e-9)


def test_brakes_that_slide() -> None:
    """Of every coordinate but those of the free base, whose angular velocity has other axes; all of them move."""
    values = {"arm": 0.8, "cart": 1.3, "ball": 0.03}
    expected = accelerations_of_mujoco({name: f'frictionloss="{value}"' for name, value in values.items()})
    names = {"arm": "torque", "cart": "force", "ball": "torque"}
    joints = {name: f", friction: {{{names[name]}: {value}}}" for name, value in values.items()}
    h = 1e-7  # the error of the mean acceleration of a step is of this order
    for method in ("aba", "redmax", "symbolic", "baraff"):
        sim = mbsim.Simulation(mbsim.load(scene(joints), [f"simulation.method={method}", f"simulation.step={h}"]))
        before = np.concatenate([sim.v[name] for name in BODIES])
        sim.step()
        after = np.concatenate([sim.v[name] for name in BODIES])
        np.testing.assert_allclose((after - before) / h, expected, rtol=0, atol=1e-5)
