"""Drake: the mechanism as a discrete `MultibodyPlant` with the solver SAP, one body and one joint per primitive.

Only the last body of a link has mass.  Steps are taken in one call of `Simulator.AdvanceTo`; evaluations are not timed,
since a discrete plant has none.  Without closures, accelerations are those of the same plant in continuous time; with
closures, which only discrete plants support, they are differences over short steps.

A closure is the constraint `AddBallConstraint` of one point, or of two on the axis of a hinge that keeps its axes
parallel; SAP regularizes it.  Contacts are left out: a point contact has one point for a pair of boxes, and a box that
slides on hydroelastic contacts is not decelerated by the friction coefficient times gravity.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import (
    JointPrimitive,
    Mechanism,
    Peer,
    PeerKind,
    PeerLink,
    PeerMotion,
    PeerRefusal,
    Piece,
)
from multibody_cli.peers.motion import pairs_of_points
from multibody_cli.spec.rotations import rotation_matrix

SHORT_STEP = 1e-5
"""Step whose change of velocities is compared with accelerations with closures, s; SAP ignores changes below 1e-6."""
SETTLING = 10
"""Number of short steps before the change of velocities, in which loops settle, and of those in which it is taken."""
CLOSED_AGREEMENT = 1e-2
"""Agreement of these accelerations: SAP regularizes constraints, and a difference has an error of first order."""


def build(mechanism: Mechanism) -> Peer:
    """Build a mechanism."""
    import pydrake.all

    try:
        return _DrakePeer(pydrake.all, mechanism)
    except RuntimeError as error:
        raise PeerRefusal(f"Drake rejects the model: {' '.join(str(error).split())}") from None


class _Plant:
    """A mechanism as a plant with a time step, s; 0 is continuous time."""

    def __init__(self, drake: Any, mechanism: Mechanism, step: float) -> None:
        self._drake, self._mechanism = drake, mechanism
        builder = drake.DiagramBuilder()
        self.plant, _ = drake.AddMultibodyPlantSceneGraph(builder, time_step=step)
        self.plant.mutable_gravity_field().set_gravity_vector(mechanism.gravity)
        if step > 0.0:
            self.plant.set_discrete_contact_approximation(drake.DiscreteContactApproximation.kSap)
        self.bodies = [self.plant.world_body()]
        self.joints: list[tuple[Piece, Any]] = []
        for number, link in enumerate(mechanism.links, start=1):
            self._add(number, link)
        for closure in mechanism.closures if step > 0.0 else ():
            for one, other in pairs_of_points(closure):
                self.plant.AddBallConstraint(self.bodies[closure.parent], one, self.bodies[closure.child], other)
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.root = self.diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self.root)
        self._set_initial_state()

    def _add(self, number: int, link: PeerLink) -> None:
        """Add a link: one body for each primitive of its joint."""
        drake, plant = self._drake, self.plant
        at = drake.RigidTransform(drake.RotationMatrix(link.rotation), link.position)
        parent = plant.AddFrame(drake.FixedOffsetFrame(f"frame{number}", self.bodies[link.parent].body_frame(), at))
        J = link.mass.inertia
        moments = drake.RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        full = drake.SpatialInertia.MakeFromCentralInertia(link.mass.mass, link.mass.com, moments)
        for k, piece in enumerate(link.pieces or (None,)):
            last = k >= len(link.pieces) - 1
            body = plant.AddRigidBody(f"{number}.{k}", full if last else drake.SpatialInertia.Zero())
            joint = plant.AddJoint(self._joint(f"joint{number}.{k}", piece, parent, body.body_frame()))
            if piece is not None:
                self.joints.append((piece, joint))
            parent = body.body_frame()
        self.bodies.append(body)

    def _joint(self, name: str, piece: Piece | None, parent: Any, child: Any) -> Any:
        drake = self._drake
        if piece is None:
            return drake.WeldJoint(name, parent, child, drake.RigidTransform())
        if piece.kind is JointPrimitive.HINGE:
            return drake.RevoluteJoint(name, parent, child, piece.axis)
        if piece.kind is JointPrimitive.SLIDE:
            return drake.PrismaticJoint(name, parent, child, piece.axis)
        kind = drake.BallRpyJoint if piece.kind is JointPrimitive.BALL else drake.QuaternionFloatingJoint
        return kind(name, parent, child)

    def _set_initial_state(self) -> None:
        """Set the initial state; Drake has the velocities of balls and free joints in the frame before the joint."""
        drake, context = self._drake, self.context
        q, v = self._mechanism.q, self._mechanism.v
        for piece, joint in self.joints:
            if piece.kind is JointPrimitive.HINGE:
                joint.set_angle(context, q[piece.iq])
                joint.set_angular_rate(context, v[piece.iv])
            elif piece.kind is JointPrimitive.SLIDE:
                joint.set_translation(context, q[piece.iq])
                joint.set_translation_rate(context, v[piece.iv])
            elif piece.kind is JointPrimitive.BALL:
                R = rotation_matrix(q[piece.iq : piece.iq + 4])
                joint.set_angles(context, drake.RollPitchYaw(drake.RotationMatrix(R)).vector())
                joint.set_angular_velocity(context, R @ v[piece.iv : piece.iv + 3])
            else:
                R = rotation_matrix(q[piece.iq + 3 : piece.iq + 7])
                joint.SetPose(context, drake.RigidTransform(drake.RotationMatrix(R), q[piece.iq : piece.iq + 3]))
                joint.set_translational_velocity(context, v[piece.iv : piece.iv + 3])
                joint.set_angular_velocity(context, v[piece.iv + 3 : piece.iv + 6])


class _DrakePeer(Peer):
    def __init__(self, drake: Any, mechanism: Mechanism) -> None:
        self._drake, self._mechanism = drake, mechanism
        self._run = _Plant(drake, mechanism, mechanism.step)
        self._simulator = drake.Simulator(self._run.diagram, self._run.root)
        self._start = self._run.plant.GetPositionsAndVelocities(self._run.context).copy()

    def accelerations(self) -> Floats:
        """Return dv/dt in the initial state, in the coordinates of this program."""
        model = _Plant(self._drake, self._mechanism, SHORT_STEP if self._mechanism.closures else 0.0)
        if self._mechanism.closures:
            simulator, changes = self._drake.Simulator(model.diagram, model.root), []
            for steps in (SETTLING, 2 * SETTLING):
                simulator.AdvanceTo(steps * SHORT_STEP)
                changes.append(model.plant.GetVelocities(model.context).copy())
            found = (changes[1] - changes[0]) / (SETTLING * SHORT_STEP)
        else:
            derivatives = model.plant.EvalTimeDerivatives(model.context).CopyToVector()
            found = derivatives[model.plant.num_positions() :]
        a = np.zeros(len(self._mechanism.v))
        for columns, values in self._converted(model, found):
            a[columns] = values
        return a

    def _converted(self, model: _Plant, found: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield the columns of each primitive here, and their accelerations."""
        q = self._mechanism.q
        for piece, joint in model.joints:
            values = found[joint.velocity_start() : joint.velocity_start() + joint.num_velocities()]
            if piece.kind is JointPrimitive.FREE:
                values = np.concatenate([values[3:], values[:3]])
            elif piece.kind is JointPrimitive.BALL:
                values = rotation_matrix(q[piece.iq : piece.iq + 4]).T @ values
            yield slice(piece.iv, piece.iv + len(values)), values

    def advance(self, count: int) -> float:
        """Time `Simulator.AdvanceTo`."""
        self._run.root.SetTime(0.0)
        self._run.plant.SetPositionsAndVelocities(self._run.context, self._start)
        self._simulator.Initialize()
        began = time.perf_counter()
        try:
            self._simulator.AdvanceTo(count * self._mechanism.step)
        except RuntimeError:  # the solver of a step fails, or numbers are not finite
            return float("nan")
        return time.perf_counter() - began

    def motion(self) -> PeerMotion:
        """Return the motion after the last steps."""
        n, plant, context = len(self._mechanism.links), self._run.plant, self._run.context
        motion = PeerMotion(np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3)))
        for k, (link, body) in enumerate(zip(self._mechanism.links, self._run.bodies[1:], strict=True)):
            pose = plant.EvalBodyPoseInWorld(context, body)
            twist = plant.EvalBodySpatialVelocityInWorld(context, body)
            R = pose.rotation().matrix()
            motion.positions[k], motion.rotations[k], motion.spins[k] = pose.translation(), R, twist.rotational()
            motion.velocities[k] = twist.translational() + np.cross(twist.rotational(), R @ link.mass.com)
        return motion


DRAKE = PeerKind(
    "drake",
    "drake",
    "pydrake",
    build,
    {"semi_implicit_euler": "discrete"},
    "",
    motion=_DrakePeer.motion,
    closures=frozenset({JointPrimitive.HINGE, JointPrimitive.BALL}),
    closed_agreement=CLOSED_AGREEMENT,
)
