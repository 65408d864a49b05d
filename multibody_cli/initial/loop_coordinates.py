"""Given coordinates of loop joints: their distance from written values, and the least impulse that changes them.

An impulse along a coordinate of a loop joint acts on both bodies of the joint, and all rows respond to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.constraint_solver.constrained_bodies import accelerate
from multibody_cli.constraint_solver.projection import add_response_to_residuals
from multibody_cli.constraint_solver.solver import VELOCITY, clear_impulses, zero_rhs
from multibody_cli.kernel import Flags
from multibody_cli.model import Floats, Integers, Model, System
from multibody_cli.tree.configuration import displacement_between
from multibody_cli.tree.workspace import Work

DEPENDENT = 1e-9
"""Response of a coordinate of a loop joint to its impulse, relative to that without rows, that is round-off."""


class LoopCoordinates:
    """Some coordinates of the loop joints of a model.

    Parameters
    ----------
    model, work
        The model, and work arrays with the kinematics of the present state.
    numbers, sizes
        (n,) their indices in v, and the change of each that turns a body by 1 rad or moves it by the length.
    impulse_response, project
        The kernels `impulse_response` and `project`.
    """

    def __init__(
        self, model: Model, work: Work, numbers: Integers, sizes: Floats, impulse_response: Any, project: Any
    ) -> None:
        self.numbers, self.sizes = numbers, sizes
        self._work, self._impulse_response, self._project = work, impulse_response, project
        self._turns = np.isin(numbers, [*_turning(model)])
        plain = model.system.tree.plain
        self._tree, self._plain = model.system.tree, plain["iq"][np.isin(plain["iv"], numbers)]

    def distance(self, q: Floats, written: Floats) -> Floats:
        """Return the changes (n,) from one configuration (nq,) to another; angles by the shorter way."""
        change = displacement_between(self._tree, q, written)[self.numbers]
        change[self._turns] = np.pi - np.remainder(np.pi - change[self._turns], 2.0 * np.pi)
        return change

    def copy_turns(self, q: Floats, written: Floats) -> None:
        """Set the values in q (nq,) to written ones that describe the same pose."""
        q[self._plain] = written[self._plain]

    def response(self, change: Floats, system: System) -> Floats:
        """Return the response (nv,) to the least impulse along them that changes them by `change` (n,).

        Parts of the change that no impulse causes, since others determine them, are left out.
        """
        without, responses = np.array([self._responses(int(j), system) for j in self.numbers]).swapaxes(0, 1)
        squares = np.outer(self.sizes, self.sizes)
        own, axes = np.linalg.eigh(responses[:, self.numbers] / squares)
        effective = own > DEPENDENT * np.diag(without[:, self.numbers] / squares).max()
        own, axes = own[effective], axes[:, effective]
        return np.asarray((axes @ (axes.T @ (change / self.sizes) / own) / self.sizes) @ responses)

    def _responses(self, j: int, system: System) -> tuple[Floats, Floats]:
        """Return the changes of all rates (nv,) by a unit impulse along coordinate j, without and with the rows."""
        work = self._work
        accelerate(system, work, work.response)
        clear_impulses(work)
        work.impulse[j] = 1.0
        zero_rhs(work)
        self._impulse_response(system, work)
        change = work.response.copy()
        work.rows["residual"] = 0.0
        add_response_to_residuals(work)
        self._project(system, work, VELOCITY)
        return change, change + work.response


def rates_of_uncarried_bodies(model: Model) -> Flags:
    """Return the rates (nv,) of the bodies that are the child of a joint, but carry the parent of this joint."""
    links, closures = model.system.tree.links, model.system.tree.closures
    found, carried = np.zeros(model.nv, np.bool_), {joint.row for joint in model.names.joints}
    for body, child in closures[["parent", "child"]].tolist():
        while child < body < len(links):  # bodies are numbered outward
            body = links["parent"][body]
        if body == child and child not in carried:
            found[links["iv"][child] : links["iv"][child] + links["nv"][child]] = True
    return found


def _turning(model: Model) -> Iterator[int]:
    """Yield the coordinates, by their indices in v, that describe the same pose after a full turn."""
    for joint in model.names.joints:
        own = zip(range(model.nv)[joint.columns], joint.same, strict=True)
        yield from (j for j, same in own if same == "turn")
