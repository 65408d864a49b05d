"""Pinocchio: the mechanism as a `Model`, one joint per primitive; only the last joint of a link has mass.

An evaluation is `aba` in the convention WORLD, or with closures `constraintDynamics`, called from Python; the time of
the same number of calls on an empty model is subtracted.  Pinocchio has no time stepping.

A closure is a 3D constraint of one point, or of two on the axis of a hinge that keeps its axes parallel.  Their rows
may depend on each other, so that the equations are solved by proximal iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import Closure, JointPrimitive, Mechanism, Peer, PeerKind, Piece, time_calls
from multibody_cli.peers.motion import pairs_of_points
from multibody_cli.spec.rotations import rotation_matrix

PROXIMAL = (1e-10, 1e-10, 20)
"""Accuracy, regularization and largest number of iterations of the proximal solver."""
_ALONG = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}


def build(mechanism: Mechanism) -> Peer:
    """Build a mechanism."""
    import pinocchio

    return _PinocchioPeer(pinocchio, mechanism)


def _joint(pin: Any, piece: Piece) -> Any:
    """Create the joint of a primitive: the specialized type if its axis is a coordinate axis."""
    if piece.kind is JointPrimitive.BALL:
        return pin.JointModelSpherical()
    if piece.kind is JointPrimitive.FREE:
        return pin.JointModelFreeFlyer()
    short, long = ("R", "Revolute") if piece.kind is JointPrimitive.HINGE else ("P", "Prismatic")
    axis = tuple(float(number) for number in piece.axis)
    if axis in _ALONG:
        return getattr(pin, f"JointModel{short}{_ALONG[axis]}")()
    return getattr(pin, f"JointModel{long}Unaligned")(piece.axis)


class _PinocchioPeer(Peer):
    def __init__(self, pin: Any, mechanism: Mechanism) -> None:
        self._pin, self._mechanism = pin, mechanism
        model = pin.Model()
        model.gravity.linear = mechanism.gravity
        self._pieces: list[tuple[Piece, int]] = []
        # last joint frame of each link: a joint of the model, and the placement relative to it
        frames = [(0, pin.SE3.Identity())]
        for number, link in enumerate(mechanism.links, start=1):
            joint, within = frames[link.parent]
            at = within * pin.SE3(link.rotation, link.position)
            for k, piece in enumerate(link.pieces):
                joint = model.addJoint(joint, _joint(pin, piece), at, f"{number}.{k}")
                at = pin.SE3.Identity()
                self._pieces.append((piece, joint))
            frames.append((joint, at))
            body = pin.Inertia(link.mass.mass, link.mass.com, link.mass.inertia)
            model.appendBodyToJoint(joint, body, at)
        self._model, self._data = model, model.createData()
        self._empty = pin.Model()
        self._empty_data = self._empty.createData()
        self._constraints = [
            pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *sides, pin.ReferenceFrame.LOCAL)
            for closure in mechanism.closures
            for sides in self._sides(closure, frames)
        ]
        self._q, self._v = pin.neutral(model), np.zeros(model.nv)
        for piece, joint in self._pieces:
            self._set_initial_state(piece, model.idx_qs[joint], model.idx_vs[joint])
        self._tau = np.zeros(model.nv)

    def accelerations(self) -> Floats:
        """Return dv/dt in the initial state, in the coordinates of this program."""
        compute = self._computation(self._model, self._data, self._constraints)
        found = compute(self._q, self._v, self._tau)
        a = np.zeros(len(self._mechanism.v))
        for piece, joint in self._pieces:
            iv = self._model.idx_vs[joint]
            if piece.kind is JointPrimitive.FREE:  # both parts in rotating body axes here
                R = rotation_matrix(self._mechanism.q[piece.iq + 3 : piece.iq + 7])
                linear = found[iv : iv + 3] + np.cross(self._v[iv + 3 : iv + 6], self._v[iv : iv + 3])
                a[piece.iv : piece.iv + 3], a[piece.iv + 3 : piece.iv + 6] = R @ linear, R @ found[iv + 3 : iv + 6]
            else:
                size = 3 if piece.kind is JointPrimitive.BALL else 1
                a[piece.iv : piece.iv + size] = found[iv : iv + size]
        return a

    def evaluate(self, count: int) -> float:
        """Time `aba`, or `constraintDynamics` with closures."""
        compute = self._computation(self._model, self._data, self._constraints)
        empty, nothing = self._computation(self._empty, self._empty_data, []), [np.zeros(0)] * 3
        return time_calls(count, compute, self._q, self._v, self._tau) - time_calls(count, empty, *nothing)

    def _computation(self, model: Any, data: Any, constraints: list[Any]) -> Callable[..., Floats]:
        """Return the accelerations as a function of q, v and tau, in the order of Pinocchio."""
        pin = self._pin
        if not self._constraints:
            aba, world = pin.aba, pin.Convention.WORLD
            return lambda q, v, tau: aba(model, data, q, v, tau, world)
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for constraint in constraints:
            models.append(constraint)
            datas.append(constraint.createData())
        pin.initConstraintDynamics(model, data, models, datas)
        settings, constrained = pin.ProximalSettings(*PROXIMAL), pin.constraintDynamics
        return lambda q, v, tau: constrained(model, data, q, v, tau, models, datas, settings)

    def _sides(self, closure: Closure, frames: list[tuple[int, Any]]) -> Iterator[tuple[int, Any, int, Any]]:
        """Yield joint and placement of both points of each pair of a closure."""
        (one, within), (other, within_other) = frames[closure.parent], frames[closure.child]
        for point, opposite in pairs_of_points(closure):
            placements = [
                place * self._pin.SE3(np.eye(3), at) for place, at in ((within, point), (within_other, opposite))
            ]
            yield one, placements[0], other, placements[1]

    def _set_initial_state(self, piece: Piece, iq: int, iv: int) -> None:
        """Set the initial state of a primitive; quaternions are (x, y, z, w) in Pinocchio."""
        q, v = self._mechanism.q, self._mechanism.v
        if piece.kind is JointPrimitive.BALL:
            self._q[iq : iq + 4] = np.roll(q[piece.iq : piece.iq + 4], -1)
            self._v[iv : iv + 3] = v[piece.iv : piece.iv + 3]
        elif piece.kind is JointPrimitive.FREE:
            turn = q[piece.iq + 3 : piece.iq + 7]
            R = rotation_matrix(turn)
            self._q[iq : iq + 3], self._q[iq + 3 : iq + 7] = q[piece.iq : piece.iq + 3], np.roll(turn, -1)
            self._v[iv : iv + 3] = R.T @ v[piece.iv : piece.iv + 3]
            self._v[iv + 3 : iv + 6] = R.T @ v[piece.iv + 3 : piece.iv + 6]
        else:
            self._q[iq], self._v[iv] = q[piece.iq], v[piece.iv]


PINOCCHIO = PeerKind(
    "pinocchio",
    "pin",
    "pinocchio",
    build,
    {},
    "aba, convention WORLD; constraintDynamics with closures",
    closures=frozenset({JointPrimitive.HINGE, JointPrimitive.BALL}),
)
