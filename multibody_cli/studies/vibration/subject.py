"""The state about which small motions are studied: the start, an instant of the run, or an equilibrium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from multibody_cli.errors import ArgumentError, QuantityError, RunFailed
from multibody_cli.methods.contract import Status
from multibody_cli.model import Model, State
from multibody_cli.scene.timing import integer_multiple
from multibody_cli.studies.phases import require_unchanged
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.statics.study import StaticProblem, Statics, require_instant


class Subject(NamedTuple):
    """A model in joint coordinates, a state, and the equilibrium that it is.

    That is None for any other state, and for a steady motion whose rates may change: only those of prescribed motions
    are held.  `remarks` are on actuators with other laws in the model than in a run.
    """

    model: Model
    state: State
    statics: Statics | None
    remarks: tuple[str, ...] = ()


def subject_of(
    prepared: PreparedSimulation,
    at: float | None = None,
    equilibrium: bool = False,
    steady: Mapping[str, float | str | None] | None = None,
) -> Subject:
    """Return the state of a scene, prepared with `statics.study.OVERRIDES`.

    Parameters
    ----------
    prepared
        The scene.
    at
        Time of a run, s, or the instant of the equilibrium; None for the start.
    equilibrium, steady
        Whether it is the equilibrium, or the steady motion with these rates.

    Raises
    ------
    ArgumentError
        The time is negative or no whole number of steps, or an event of the run changes the scene.
    RunFailed
        The run diverged, or there is no equilibrium.
    """
    if equilibrium or steady:
        problem = StaticProblem(prepared, at, steady)
        statics = problem.solve()
        lagging = ", ".join(f"`actuators.{one.name}`" for one in prepared.compiled.model.controllers)
        remarks = (f"sampled, delayed and filtered actuators act as continuous ones, without lag: {lagging}",)
        own = None if problem.has_free_rates else statics
        return Subject(problem.model, statics.found.state.copy(), own, remarks if lagging else ())
    state = prepared.fresh_state()
    method = prepared.method_for(state)
    with np.errstate(over="ignore", invalid="ignore"):
        method.start(state)
        if at:
            require_unchanged(prepared)
            require_instant(at)
            try:
                integer_multiple(at, prepared.scene.simulation.step, "--at", "simulation.step")
            except QuantityError as error:
                raise ArgumentError(str(error)) from None
            report = method.advance(state, at)
            if report.status is not Status.OK or not np.isfinite(state.q).all():
                raise RunFailed(f"the run fails before --at {at:g} s: `mbsim run` reports why")
    return Subject(prepared.compiled.model, state, None)
