"""MuJoCo: the mechanism as MJCF, one body per link, one joint per primitive.

An evaluation is `mj_forward`, called from Python.  The time of the same number of calls of a trivial function is
subtracted (not of `mj_forward` on an empty model, which takes a microsecond).  Steps are taken in one call of
`mj_step`.  Contacts, constraints and implicit damping are disabled, since they are not needed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import Kind, Link, Mechanism, Peer, PeerKind, PeerRefusal, Piece
from multibody_cli.peers.mechanism import rotation_of

_JOINTS = {Kind.HINGE: "hinge", Kind.SLIDE: "slide", Kind.BALL: "ball", Kind.FREE: "free"}
_INTEGRATORS = {"semi_implicit_euler": "Euler", "rk4": "RK4"}
_FLAGS = '<flag contact="disable" constraint="disable" warmstart="disable" eulerdamp="disable"/>'


def build(mechanism: Mechanism) -> Peer:
    """Build a mechanism."""
    import mujoco

    for link in mechanism.links:
        if link.parent != 0 and any(piece.kind is Kind.FREE for piece in link.pieces):
            raise PeerRefusal("MuJoCo supports a free joint only between a body and the world")
    try:
        model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    except ValueError as error:
        raise PeerRefusal(f"MuJoCo rejects the model: {' '.join(str(error).split())}") from None
    return _MujocoPeer(mujoco, model, mechanism)


def mjcf(mechanism: Mechanism) -> str:
    """Return a mechanism as MJCF; link k is the body `k`, and its primitives are the joints `k.0`, `k.1`, ..."""
    children: dict[int, list[int]] = defaultdict(list)
    for k, link in enumerate(mechanism.links, start=1):
        children[link.parent].append(k)
    texts: list[str] = []
    # a stack instead of recursion, since a chain may be thousands of links deep
    waiting: list[int | None] = list(reversed(children[0]))
    while waiting:
        number = waiting.pop()
        if number is None:
            texts.append("</body>")
            continue
        texts.append(_body(number, mechanism.links[number - 1]))
        waiting += [None, *reversed(children[number])]
    integrator = _INTEGRATORS.get(mechanism.integrator, "Euler")
    option = f'<option timestep="{mechanism.step!r}" integrator="{integrator}" gravity="{_row(mechanism.gravity)}">'
    return f"<mujoco>{option}{_FLAGS}</option><worldbody>{''.join(texts)}</worldbody></mujoco>"


def _body(number: int, link: Link) -> str:
    J = link.mass.inertia
    inertia = _row([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    axes = _row([*link.rotation[:, 0], *link.rotation[:, 1]])
    joints = "".join(
        f'<joint name="{number}.{k}" type="{_JOINTS[piece.kind]}"'
        + (f' axis="{_row(piece.axis)}"/>' if piece.kind in (Kind.HINGE, Kind.SLIDE) else "/>")
        for k, piece in enumerate(link.pieces)
    )
    return (
        f'<body name="{number}" pos="{_row(link.position)}" xyaxes="{axes}">{joints}'
        f'<inertial pos="{_row(link.mass.com)}" mass="{link.mass.mass!r}" fullinertia="{inertia}"/>'
    )


def _row(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


class _MujocoPeer:
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
        self._mujoco.mj_forward(self._model, self._data)
        a = np.zeros(len(self._mechanism.v))
        for piece, link, joint in self._pieces:
            found = self._data.qacc[joint.dofadr[0] :]
            if piece.kind is Kind.FREE:
                R = rotation_of(self._mechanism.q[piece.iq + 3 : piece.iq + 7])
                a[piece.iv : piece.iv + 3] = link.rotation.T @ found[:3]
                a[piece.iv + 3 : piece.iv + 6] = R @ found[3:6]
            else:
                size = _width(piece)
                a[piece.iv : piece.iv + size] = found[:size]
        return a

    def evaluate(self, count: int) -> float:
        """Time `mj_forward`."""
        self._reset()

        def repeated(function: Any, model: Any, data: Any) -> float:
            began = time.perf_counter()
            for _ in range(count):
                function(model, data)
            return time.perf_counter() - began

        full = repeated(self._mujoco.mj_forward, self._model, self._data)
        return full - repeated(self._mujoco.mj_checkPos, self._empty, self._empty_data)

    def advance(self, count: int) -> float:
        """Time `mj_step`."""
        self._reset()
        began = time.perf_counter()
        self._mujoco.mj_step(self._model, self._data, count)
        seconds = time.perf_counter() - began
        # MuJoCo resets a diverged run and only counts a warning
        valid = not any(warning.number for warning in self._data.warning)
        return seconds if valid else float("nan")

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
            if piece.kind is Kind.FREE:
                turn = q[piece.iq + 3 : piece.iq + 7]
                to_q[:3] = link.position + link.rotation @ q[piece.iq : piece.iq + 3]
                self._mujoco.mju_mulQuat(to_q[3:7], _quaternion(self._mujoco, link.rotation), turn)
                to_v[:3] = link.rotation @ v[piece.iv : piece.iv + 3]
                to_v[3:6] = rotation_of(turn).T @ v[piece.iv + 3 : piece.iv + 6]
                continue
            size = _width(piece)
            numbers = size + (piece.kind is Kind.BALL)
            to_q[:numbers], to_v[:size] = q[piece.iq : piece.iq + numbers], v[piece.iv : piece.iv + size]


def _width(piece: Piece) -> int:
    return 3 if piece.kind is Kind.BALL else 1


def _quaternion(mujoco: Any, rotation: Floats) -> Floats:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return quaternion


MUJOCO = PeerKind("mujoco", "mujoco", "mujoco", build, _INTEGRATORS, "mj_forward", _MujocoPeer.roll_out)
