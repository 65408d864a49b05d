"""Exudyn: a mechanism of parallel hinges in maximal coordinates, one rigid body per link, with its sparse solver.

Bodies have rotation vectors on the Lie group, and every joint is a constraint in the initial pose.  A closure holds its
point within the plane only, since its other rows depend on those of the tree, and dependent rows are singular.  Steps
are those of the trapezoidal rule at index 2, of second order, in one call of `SolveDynamic`, including the start of the
solver; evaluations are not timed.  Accelerations are those with which the solver starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import Closure, JointPrimitive, Mechanism, Peer, PeerKind, PeerMotion, PeerRefusal
from multibody_cli.peers.mechanism import PARALLEL
from multibody_cli.peers.motion import motion_of


def build(mechanism: Mechanism) -> Peer:
    """Build a mechanism."""
    import exudyn

    if any(len(link.pieces) != 1 or link.pieces[0].kind is not JointPrimitive.HINGE for link in mechanism.links):
        raise PeerRefusal("exudyn is built only with joints that are one hinge")
    motion = motion_of(mechanism.links, mechanism.q, mechanism.v)
    axes = np.array([R @ link.pieces[0].axis for link, R in zip(mechanism.links, motion.rotations, strict=True)])
    if any(closure.holds_axis for closure in mechanism.closures) or np.abs(np.cross(axes, axes[0])).max() > PARALLEL:
        raise PeerRefusal("exudyn is built only with hinges that are all parallel")
    return _ExudynPeer(exudyn, mechanism, motion)


class _ExudynPeer(Peer):
    def __init__(self, exudyn: Any, mechanism: Mechanism, start: PeerMotion) -> None:
        from exudyn.rigidBodyUtilities import RigidBodyInertia

        self._exudyn, self._mechanism = exudyn, mechanism
        self._start = start
        self._container = exudyn.SystemContainer()
        self._system = self._container.AddSystem()
        self._bodies = [self._system.CreateGround()]
        for link, x, R, u, w in zip(mechanism.links, *self._start, strict=True):
            mass = link.mass
            self._bodies.append(
                self._system.CreateRigidBody(
                    inertia=RigidBodyInertia(mass.mass, mass.inertia, com=mass.com, inertiaTensorAtCOM=True),
                    nodeType=exudyn.NodeType.RotationRotationVector,
                    referencePosition=x,
                    referenceRotationMatrix=R,
                    initialVelocity=u - np.cross(w, R @ mass.com),
                    initialAngularVelocity=w,
                    gravity=mechanism.gravity,
                )
            )
        for k, link in enumerate(mechanism.links):
            axis = self._start.rotations[k] @ link.pieces[0].axis
            self._join(link.parent, k + 1, self._start.positions[k], axis, [1, 1, 1, 1, 1, 0])
        for closure in mechanism.closures:
            point, axis = self._placed(closure)
            self._join(closure.parent, closure.child, point, axis, [1, 1, 0, 0, 0, 0])
        self._system.Assemble()
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.verboseMode = 0
        settings.show.computationTime = False
        settings.solution.file.write = False
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
        self._settings = settings

    def _placed(self, closure: Closure) -> tuple[Floats, Floats]:
        """Return point and axis of a closure in the world, in the initial state."""
        if closure.parent == 0:
            return closure.parent_point, closure.parent_axis
        x, R = self._start.positions[closure.parent - 1], self._start.rotations[closure.parent - 1]
        return x + R @ closure.parent_point, R @ closure.parent_axis

    def _join(self, parent: int, child: int, point: Floats, axis: Floats, rows: list[int]) -> None:
        """Add a joint at a point with its z axis along the hinge; `rows` are the constrained directions."""
        bodies = [self._bodies[parent], self._bodies[child]]
        side = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
        side = side / np.linalg.norm(side)
        axes = np.column_stack([side, np.cross(axis, side), axis])
        self._system.CreateGenericJoint(
            itemNumbers=bodies, position=point, rotationMatrixAxes=axes, constrainedAxes=rows
        )

    def accelerations(self) -> Floats:
        """Return dv/dt in the initial state, in the coordinates of this program."""
        exudyn, links = self._exudyn, self._mechanism.links
        solver = exudyn.MainSolverImplicitSecondOrder()
        self._set_steps(1)
        solver.InitializeSolver(self._system, self._settings)
        angular = self._outputs(exudyn.OutputVariableType.AngularAcceleration)
        solver.FinalizeSolver(self._system, self._settings)
        a = np.zeros(len(self._mechanism.v))
        for k, link in enumerate(links):
            relative = angular[k] - (angular[link.parent - 1] if link.parent else 0.0)
            a[link.pieces[0].iv] = self._start.rotations[k] @ link.pieces[0].axis @ relative
        return a

    def _outputs(self, variable: Any, point: Callable[[int], Floats] = lambda _k: np.zeros(3)) -> Floats:
        """Return an output variable (n, ...) of all bodies, at a point of each in its own frame."""
        current = self._exudyn.ConfigurationType.Current
        return np.array(
            [
                self._system.GetObjectOutputBody(body, variable, list(point(k)), current)
                for k, body in enumerate(self._bodies[1:])
            ]
        )

    def _set_steps(self, count: int) -> None:
        self._settings.timeIntegration.numberOfSteps = count
        self._settings.timeIntegration.endTime = count * self._mechanism.step

    def advance(self, count: int) -> float:
        """Time `SolveDynamic`, which starts from the initial state."""
        self._set_steps(count)
        began = time.perf_counter()
        try:
            done = self._system.SolveDynamic(
                self._settings, solverType=self._exudyn.DynamicSolverType.TrapezoidalIndex2, showHints=False
            )
        except ValueError:  # a step does not converge
            return float("nan")
        return time.perf_counter() - began if done else float("nan")

    def motion(self) -> PeerMotion:
        """Return the motion after the last steps."""
        kinds, links = self._exudyn.OutputVariableType, self._mechanism.links
        n = len(links)
        return PeerMotion(
            self._outputs(kinds.Position),
            self._outputs(kinds.RotationMatrix).reshape(n, 3, 3),
            self._outputs(kinds.Velocity, lambda k: links[k].mass.com),
            self._outputs(kinds.AngularVelocity),
        )


EXUDYN = PeerKind(
    "exudyn",
    "exudyn",
    "exudyn",
    build,
    {"semi_implicit_euler": "trapezoidal rule"},
    "",
    motion=_ExudynPeer.motion,
    closures=frozenset({JointPrimitive.HINGE}),
)
