"""The equations of motion of a simulation at its present instant."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from multibody_cli.api.scene import Scene, warn_of
from multibody_cli.errors import ArgumentError
from multibody_cli.methods import METHODS
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.linearization import LinearModel, inputs_of_forces, linearize, remarks_of

if TYPE_CHECKING:
    from multibody_cli.methods.contract import Report


class Equations:
    """The part of a `Simulation` that evaluates its equations of motion."""

    scene: Scene
    _model: Model
    _state: State
    _forces: Floats
    _force_columns: Integers

    def _begin_afresh(self) -> None:
        raise NotImplementedError

    def _evaluate(self) -> Report:
        raise NotImplementedError

    @cached_property
    def equations(self) -> EquationsOfMotion:
        """The equations of motion; they are compiled on first use.

        Raises
        ------
        ArgumentError
            The method of the scene uses maximal coordinates.
        """
        method = self.scene.prepared.scene.simulation.method
        if METHODS[method].maximal:
            raise ArgumentError(
                f"method `{method}` uses maximal coordinates, without a mass matrix of the joints: load the scene "
                'with the override {"simulation.method": "aba"}'
            )
        return EquationsOfMotion(self._model)

    def mass_matrix(self) -> Floats:
        """Return the mass matrix M (n, n) of the present state.

        n is the number of velocities of the joints of the tree and of the bodies that move freely; those of joints
        that close loops follow in `v[...]`.  Units follow from those of v: an entry of two angles is in kg m^2.
        """
        return self.equations.mass_matrix(self._state)

    def bias(self) -> Floats:
        """Return the applied forces (n,) at which all accelerations are zero, N or N m.

        They balance Coriolis and centrifugal forces, gravity, and all forces of the scene; `force` does not count:
        M a + bias = force.  Forces of loops, constraints and contacts do not count either, nor do those of actuators
        with computed torque, which depend on all other forces.
        """
        return self.inverse_dynamics(np.zeros(self.equations.n))

    def inverse_dynamics(self, a: ArrayLike, on: list[str] | tuple[str, ...] = (), *, contacts: bool = False) -> Floats:
        """Return the applied forces, N or N m, that cause the accelerations a (n,), rad/s^2 or m/s^2.

        They are M a + bias (n,), in O(n).  With `on`, forces act on these joints alone, through loops and constraints,
        and the result (nv,) is in the order of `v[...]`: joints that close loops may have forces too.  More forces than
        degrees of freedom have the least sum of squares.

        With `contacts`, the forces of contacts and of dry friction in the last step act as well, with those of the
        constraints, which have no effect on the forces `on` joints: M (a - b) + f, with the accelerations b of this
        step and the applied forces f.

        Raises
        ------
        ArgumentError
            Accelerations have another shape, or a joint does not exist.
        """
        wanted = np.asarray(a, np.float64)
        if wanted.shape != (self.equations.n,):
            raise ArgumentError(f"expected accelerations of shape ({self.equations.n},), found {wanted.shape}")
        found = self._forces_with_contacts(wanted) if contacts else self._forces_alone(wanted)
        return self.equations.through_constraints(self._state, found, on) if on else found

    def _forces_alone(self, a: Floats) -> Floats:
        """Return M a + bias (n,)."""
        self._begin_afresh()
        given = self._forces.copy()
        self._forces[:] = 0.0
        try:
            return self.equations.inverse_dynamics(self._state, a)
        finally:
            self._forces[:] = given

    def _forces_with_contacts(self, a: Floats) -> Floats:
        """Return M (a - b) + f (n,), with the present accelerations b and applied forces f."""
        self._evaluate()
        applied = np.zeros(self._model.nv)
        applied[self._force_columns] = self._forces
        through = self.equations.of_coordinates(self._state, applied)
        return self.mass_matrix() @ (a - self._state.a[: self.equations.n]) + through

    def jacobian(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Floats:
        """Return the Jacobian J (6, n) of a point of a body, m, in its body frame.

        J v is [angular velocity of the body; velocity of the point] in world axes, rad/s and m/s; J^T maps a wrench
        [moment; force] at the point to generalized forces.
        """
        place = np.asarray(point, np.float64)
        if place.shape != (3,):
            raise ArgumentError(f"expected a point of shape (3,), found {place.shape}")
        return self.equations.jacobian(self._state, body, place)

    def linearize(self) -> LinearModel:
        """Linearize the motion at the present state and applied forces: dx/dt = A x + B u.

        The state may move.  See `LinearModel`; in maximal coordinates its components are those of bodies.  Contacts and
        dry friction do not count.  Limits and flanks that are pressed stay closed; open ones do not count.

        Warns
        -----
        SceneWarning
            The scene has contacts or dry friction; or a joint or gear is at a limit or flank.

        Raises
        ------
        ArgumentError
            Bodies without inertia can move, or an acceleration is not finite.
        """
        self._begin_afresh()
        found = linearize(self._model, self._state, inputs_of_forces(self._model, self._forces, self._force_columns))
        warn_of(remarks_of(self._model, found))
        return found
