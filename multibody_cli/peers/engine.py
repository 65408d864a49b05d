"""Interface of an engine: another program with a model file of its own, for comparison with the imported scene.

An engine has the joints of its file by name, each a hinge, a slide, a ball or a free joint.  The values of all engines
have one form: a quaternion is (w, x, y, z); the velocity of a ball is in the axes of the child; a free joint has the
position of the origin of its body and a quaternion, and the velocity [linear; angular] in world axes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import JointPrimitive

CONTROL = 1.0
"""Control of all actuators whose forces are compared."""

SIZES = {
    JointPrimitive.HINGE: (1, 1),
    JointPrimitive.SLIDE: (1, 1),
    JointPrimitive.BALL: (4, 3),
    JointPrimitive.FREE: (7, 6),
}
"""Numbers of coordinates and of velocities by kind."""


class EngineJoint(NamedTuple):
    """A joint of a model: its name, its kind, its first velocity in M and b, and its body, for a free joint."""

    name: str
    kind: JointPrimitive
    velocity: int
    body: str = ""

    @property
    def columns(self) -> slice:
        """Its velocities in M and b."""
        return slice(self.velocity, self.velocity + SIZES[self.kind][1])


class Quantities(NamedTuple):
    """Quantities of a model at values by joint, each by a routine of its own.

    Parameters
    ----------
    forces
        (n,) inverse dynamics: the forces of given accelerations, M a + b.
    gravity
        (n,) forces against gravity alone.
    mass_moment
        (3,) mass times center of mass of all bodies, kg m; bodies that do not move may count.
    linear_momentum, angular_momentum
        (3,) momenta of all bodies, N s and N m s; the angular one is about the origin of the world.
    kinetic_energy
        Kinetic energy, J.
    potential_energy
        Potential energy of gravity and springs, up to a constant, J.
    """

    forces: Floats
    gravity: Floats
    mass_moment: Floats
    linear_momentum: Floats
    angular_momentum: Floats
    kinetic_energy: float
    potential_energy: float


class Engine(ABC):
    """A model in another program.

    Attributes
    ----------
    title
        Its name in messages.
    has_dampers
        Whether b has the dampers of the joints.
    joints
        The joints, in the order of M and b.
    leaves_out
        Sections of the scene whose forces are in neither program.
    """

    title: str
    has_dampers: bool
    leaves_out: tuple[str, ...] = ()
    joints: tuple[EngineJoint, ...]

    @classmethod
    @abstractmethod
    def read(cls, path: Path) -> Engine:
        """Read a model; an exception of the program if it cannot."""

    @abstractmethod
    def equations(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return the mass matrix M (n, n) and the bias b (n,) at values by joint.

        M a + b are the forces without those of contacts and constraints, so that b has the Coriolis and centrifugal
        forces, gravity, springs, dampers and actuators with the sign that they have on this side of the equation.
        """

    @abstractmethod
    def quantities(self, q: Mapping[str, Floats], v: Mapping[str, Floats], a: Mapping[str, Floats]) -> Quantities:
        """Return other quantities at values and accelerations by joint; forces have the parts and the sign of b."""

    @property
    def elements(self) -> tuple[str, ...]:
        """Names of the elements whose forces `element_forces` computes."""
        return ()

    def element_forces(
        self, q: Mapping[str, Floats], v: Mapping[str, Floats], names: Iterable[str]
    ) -> dict[str, Floats]:
        """Return the generalized forces (n,) of elements with controls of `CONTROL`; NaN without an equilibrium."""
        return {}

    def equality_jacobian(self, q: Mapping[str, Floats]) -> Floats:
        """Return the Jacobian (m, n) of loops and couplings at values by joint; without rows if the model has none."""
        return np.zeros((0, sum(SIZES[joint.kind][1] for joint in self.joints)))
