"""Method `aba`: recursive forward and hybrid dynamics in O(n) by articulated bodies.

Each evaluation places the bodies, lets everything push, and eliminates the joints from the leaves to the ground
(`dynamics.kinematics`, `forces`, `dynamics.articulated`).  Prescribed coordinates keep their given acceleration, and
the force that this takes is read from the joint's wrench.

Sources: Featherstone 1983; Sueda, notes 2.9 and 2.12, Alg. 9-10.  Cost: about 65 ns a hinge on a machine of 2023.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from multibody_cli.dynamics.articulated import accelerate
from multibody_cli.dynamics.kinematics import place_all
from multibody_cli.dynamics.workspace import workspace_for
from multibody_cli.dynamics.wrenches import book_motions, transmit_all
from multibody_cli.forces.elements import push_all
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import kernel
from multibody_cli.methods.contract import Integrator, Report, StepControl
from multibody_cli.model import Model, State
from multibody_cli.spec import Spec


class AbaOptions(Spec):
    """The method has no options of its own."""


@kernel
def evaluate(system, work, t, q, v, a, powers):
    """dv/dt of every coordinate at (t, q, v) into `a`, and the power of every account (na,), W."""
    tree, motions = system.tree, system.motions
    prescribe(motions, t, q, v, a)
    place_all(tree, q, v, a, work)
    push_all(system.forces, t, q, v, work.bodies, work.tau, powers)
    accelerate(tree, work.tau, a, work)
    if len(motions.rows) > 0:
        transmit_all(tree, work)
        book_motions(motions, work.tau, v, work, powers)


@kernel
def evaluate_repeatedly(system, work, t, q, v, a, powers, count):
    """`evaluate`, `count` times over."""
    for _ in range(count):
        evaluate(system, work, t, q, v, a, powers)


class Aba:
    """Articulated bodies, with any integrator."""

    name: ClassVar[str] = "aba"
    description: ClassVar[str] = "articulated bodies: recursive forward and hybrid dynamics, O(n)"
    Options: ClassVar[type[Spec]] = AbaOptions

    def __init__(self, model: Model, integrator: Integrator, control: StepControl, state: State) -> None:
        self.work = workspace_for(model.system.tree)
        self._system = model.system
        self._stepper = integrator.bind(self.name, evaluate, model.system, self.work, state, control)

    def start(self, state: State) -> Report:
        """Make the state whole at its time."""
        return self._stepper.advance(state, float(state.time[0]))

    def advance(self, state: State, until: float) -> Report:
        """Bring the whole state to the time `until`."""
        return self._stepper.advance(state, until)

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Work out the accelerations of a whole state `count` times, for timing."""
        powers = np.zeros_like(state.ledger)
        evaluate_repeatedly(self._system, self.work, state.time[0], state.q, state.v, state.a, powers, count)
