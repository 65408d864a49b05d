"""MuJoCo: the mechanism as MJCF, with soft closures and contacts at the default softness.

An evaluation is `mj_forward`, called from Python.  The time of the same number of calls of a trivial function is
subtracted (not of `mj_forward` on an empty model, which takes a microsecond).  Steps are taken in one call of
`mj_step`.

Accelerations are compared at the largest impedance, without contacts.  A closure with impedance d removes about the
share d of the acceleration that violates it, so that they agree to about 1 - d, times the condition of the closures.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.model import Floats
from multibody_cli.peers.contract import (
    Closure,
    JointPrimitive,
    Mechanism,
    Peer,
    PeerKind,
    PeerLink,
    PeerMotion,
    PeerRefusal,
    PeerSolid,
    Piece,
    time_calls,
)
from multibody_cli.peers.motion import pairs_of_points
from multibody_cli.spec.rotations import rotation_matrix

LARGEST_IMPEDANCE = 0.9999
"""Largest share of a violation that MuJoCo removes."""
CLOSED_AGREEMENT = 1e-2
"""Agreement of accelerations with closures at this impedance."""

INTEGRATORS = {"semi_implicit_euler": "Euler", "rk4": "RK4"}
CONTACT_MODELS = {"elliptic": 'cone="elliptic" impratio="100"', "pyramidal": 'cone="pyramidal" impratio="1"'}
"""Friction cones: elliptic, with stiff friction against creep, and the default, which is the fastest."""
_JOINTS = {
    JointPrimitive.HINGE: "hinge",
    JointPrimitive.SLIDE: "slide",
    JointPrimitive.BALL: "ball",
    JointPrimitive.FREE: "free",
}
_SHAPES = {GeomKind.PLANE: "plane", GeomKind.SPHERE: "sphere", GeomKind.CAPSULE: "capsule", GeomKind.BOX: "box"}
_UNCONSTRAINED = 'constraint="disable" warmstart="disable"'
_MEMORY = '<size memory="1G"/>'
"""Upper limit of the memory of the solver; pages are used as needed."""


def build(mechanism: Mechanism) -> Peer:
    """Build a mechanism."""
    import mujoco

    for link in mechanism.links:
        if link.parent != 0 and any(piece.kind is JointPrimitive.FREE for piece in link.pieces):
            raise PeerRefusal("MuJoCo supports a free joint only between a body and the world")
    try:
        model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    except ValueError as error:
        raise PeerRefusal(f"MuJoCo rejects the model: {' '.join(str(error).split())}") from None
    # at coordinates of zero, from which MuJoCo computes the points of the second bodies, loops may be open
    pairs = [pair for closure in mechanism.closures for pair in pairs_of_points(closure)]
    for data, pair in zip(model.eq_data, pairs, strict=True):
        data[:6] = np.concatenate(pair)
    return _MujocoPeer(mujoco, model, mechanism)


class _MujocoPeer(Peer):
    def __init__(self, mujoco: Any, model: Any, mechanism: Mechanism) -> None:
        self._mujoco, self._model, self._mechanism = mujoco, model, mechanism
        self._data = mujoco.MjData(model)
        self._empty = mujoco.MjModel.from_xml_string("<mujoco/>")
        self._empty_data = mujoco.MjData(self._empty)
        self._pieces = [
            (piece, link, model.joint(f"{number}.{k}"))
            for number, link in enumerate(mechanism.links, start=1)
            for k, piece in enumerate(link.pieces)
        ]
        self._set_initial_state()
        self._q, self._v = self._data.qpos.copy(), self._data.qvel.copy()

    def accelerations(self) -> Floats:
        """Return dv/dt in the initial state, in the coordinates of this program."""
        self._reset()
        options, softness = self._model.opt, self._model.eq_solimp.copy()
        flags = options.disableflags
        disabled = self._mujoco.mjtDisableBit
        options.disableflags |= int(disabled.mjDSBL_CONTACT) | int(disabled.mjDSBL_FRICTIONLOSS)
        self._model.eq_solimp[:, :2] = LARGEST_IMPEDANCE
        self._mujoco.mj_forward(self._model, self._data)
        options.disableflags, self._model.eq_solimp[:] = flags, softness
        a = np.zeros(len(self._mechanism.v))
        for piece, link, joint in self._pieces:
            found = self._data.qacc[joint.dofadr[0] :]
            if piece.kind is JointPrimitive.FREE:
                R = rotation_matrix(self._mechanism.q[piece.iq + 3 : piece.iq + 7])
                a[piece.iv : piece.iv + 3] = link.rotation.T @ found[:3]
                a[piece.iv + 3 : piece.iv + 6] = R @ found[3:6]
            else:
                size = _width(piece)
                a[piece.iv : piece.iv + size] = found[:size]
        return a

    def evaluate(self, count: int) -> float:
        """Time `mj_forward`."""
        self._reset()
        full = time_calls(count, self._mujoco.mj_forward, self._model, self._data)
        return full - time_calls(count, self._mujoco.mj_checkPos, self._empty, self._empty_data)

    def advance(self, count: int) -> float:
        """Time `mj_step`."""
        self._reset()
        began = time.perf_counter()
        self._mujoco.mj_step(self._model, self._data, count)
        seconds = time.perf_counter() - began
        # MuJoCo resets a diverged run and only counts a warning
        valid = not any(warning.number for warning in self._data.warning)
        return seconds if valid else float("nan")

    def motion(self) -> PeerMotion:
        """Return the motion after the last steps."""
        model, data, n = self._model, self._data, len(self._mechanism.links)
        self._mujoco.mj_forward(model, data)  # poses are those before the last step otherwise
        twists, body = np.zeros((n, 6)), int(self._mujoco.mjtObj.mjOBJ_BODY)
        numbers = [model.body(str(k)).id for k in range(1, n + 1)]
        for twist, number in zip(twists, numbers, strict=True):
            self._mujoco.mj_objectVelocity(model, data, body, number, twist, 0)
        positions, rotations = data.xpos[numbers].copy(), data.xmat[numbers].reshape(n, 3, 3).copy()
        return PeerMotion(positions, rotations, twists[:, 3:], twists[:, :3])

    def roll_out(self, count: int, steps: int, threads: int) -> float:
        """Time `mujoco.rollout` from the initial state."""
        from mujoco import rollout

        start = np.tile(np.concatenate([[0.0], self._q, self._v]), (count, 1))
        data = [self._mujoco.MjData(self._model) for _ in range(threads)]
        began = time.perf_counter()
        rollout.rollout(self._model, data, start, nstep=steps)
        return time.perf_counter() - began

    def _reset(self) -> None:
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = self._q, self._v

    def _set_initial_state(self) -> None:
        """Set the initial state; MuJoCo has a free joint in world axes, with its angular velocity in body axes."""
        q, v = self._mechanism.q, self._mechanism.v
        for piece, link, joint in self._pieces:
            to_q, to_v = self._data.qpos[joint.qposadr[0] :], self._data.qvel[joint.dofadr[0] :]
            if piece.kind is JointPrimitive.FREE:
                turn = q[piece.iq + 3 : piece.iq + 7]
                to_q[:3] = link.position + link.rotation @ q[piece.iq : piece.iq + 3]
                self._mujoco.mju_mulQuat(to_q[3:7], _quaternion(self._mujoco, link.rotation), turn)
                to_v[:3] = link.rotation @ v[piece.iv : piece.iv + 3]
                to_v[3:6] = rotation_matrix(turn).T @ v[piece.iv + 3 : piece.iv + 6]
                continue
            size = _width(piece)
            numbers = size + (piece.kind is JointPrimitive.BALL)
            to_q[:numbers], to_v[:size] = q[piece.iq : piece.iq + numbers], v[piece.iv : piece.iv + size]


def _width(piece: Piece) -> int:
    return 3 if piece.kind is JointPrimitive.BALL else 1


def _quaternion(mujoco: Any, rotation: Floats) -> Floats:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return quaternion


def mjcf(mechanism: Mechanism) -> str:
    """Return a mechanism as MJCF; link k is the body `k`, and its primitives are the joints `k.0`, `k.1`, ...

    A closure is the soft constraint `connect` of one point, or of two on the axis of a hinge whose axes it keeps
    parallel.  Contacts have the default softness.  Without closures and contacts, the constraint solver is disabled.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for k, link in enumerate(mechanism.links, start=1):
        children[link.parent].append(k)
    shapes: dict[int, str] = defaultdict(str)
    for solid in mechanism.solids:
        shapes[solid.link] += _geom(solid, mechanism.friction)
    texts = [shapes[0]]
    # a stack instead of recursion, since a chain may be thousands of links deep
    waiting: list[int | None] = list(reversed(children[0]))
    while waiting:
        number = waiting.pop()
        if number is None:
            texts.append("</body>")
            continue
        texts += [_body(number, mechanism.links[number - 1]), shapes[number]]
        waiting += [None, *reversed(children[number])]
    closures = "".join(_connects(closure) for closure in mechanism.closures)
    excluded = "".join(f'<exclude body1="{_name(a)}" body2="{_name(b)}"/>' for a, b in mechanism.excluded)
    return (
        f"<mujoco>{_options(mechanism)}<worldbody>{''.join(texts)}</worldbody>"
        f"<equality>{closures}</equality><contact>{excluded}</contact></mujoco>"
    )


def _options(mechanism: Mechanism) -> str:
    """Return integrator, gravity, friction cone and enabled features; implicit damping is not needed."""
    flags = 'eulerdamp="disable" filterparent="disable"'
    flags += "" if mechanism.solids else ' contact="disable"'
    flags += "" if mechanism.is_constrained else f" {_UNCONSTRAINED}"
    cone = CONTACT_MODELS[mechanism.contact_model] if mechanism.solids else ""
    integrator = INTEGRATORS.get(mechanism.integrator, "Euler")
    return (
        f'<option timestep="{mechanism.step!r}" integrator="{integrator}" gravity="{_row(mechanism.gravity)}" {cone}>'
        f"<flag {flags}/></option>{_MEMORY if mechanism.is_constrained else ''}"
    )


def _body(number: int, link: PeerLink) -> str:
    J = link.mass.inertia
    inertia = _row([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    joints = "".join(
        f'<joint name="{number}.{k}" type="{_JOINTS[piece.kind]}"'
        + (f' axis="{_row(piece.axis)}"' if piece.kind in (JointPrimitive.HINGE, JointPrimitive.SLIDE) else "")
        + (f' frictionloss="{piece.brake!r}"/>' if piece.brake > 0.0 else "/>")
        for k, piece in enumerate(link.pieces)
    )
    return (
        f'<body name="{number}" pos="{_row(link.position)}" xyaxes="{_axes(link.rotation)}">{joints}'
        f'<inertial pos="{_row(link.mass.com)}" mass="{link.mass.mass!r}" fullinertia="{inertia}"/>'
    )


def _row(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def _geom(solid: PeerSolid, friction: float) -> str:
    size: tuple[float, ...] = (0.0, 0.0, 1.0) if solid.kind is GeomKind.PLANE else solid.size
    return (
        f'<geom type="{_SHAPES[solid.kind]}" size="{_row(size)}" pos="{_row(solid.position)}" '
        f'xyaxes="{_axes(solid.rotation)}" condim="{3 if friction > 0.0 else 1}" friction="{friction!r} 0 0"/>'
    )


def _connects(closure: Closure) -> str:
    """Return the soft constraints of a closure; the point of the second body is that of the compiled model."""
    bodies = f'body1="{_name(closure.parent)}" body2="{_name(closure.child)}"'
    return "".join(f'<connect {bodies} anchor="{_row(point)}"/>' for point, _ in pairs_of_points(closure))


def _name(link: int) -> str:
    return str(link) if link else "world"


def _axes(rotation: Floats) -> str:
    return _row(np.concatenate([rotation[:, 0], rotation[:, 1]]))


MUJOCO = PeerKind(
    "mujoco",
    "mujoco",
    "mujoco",
    build,
    INTEGRATORS,
    "mj_forward",
    _MujocoPeer.roll_out,
    _MujocoPeer.motion,
    frozenset({JointPrimitive.HINGE, JointPrimitive.BALL}),
    CLOSED_AGREEMENT,
    tuple(CONTACT_MODELS),
    True,
)
