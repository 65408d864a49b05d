"""Result files of instants that no steps computed: those of an equilibrium, of a mode, of a measured motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.immutable import replace
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.observers import observe
from multibody_cli.output.recorder import Recorder
from multibody_cli.output.series import series_of
from multibody_cli.output.sink import Outcome, Sink, block_rows
from multibody_cli.studies.simulation import PreparedSimulation

if TYPE_CHECKING:
    from multibody_cli.methods.contract import Report
    from multibody_cli.model import Floats, Model, SceneNames, State
    from multibody_cli.output.events import EventTable
    from multibody_cli.tree.workspace import Work

OF_STEPS = ("energy/work", "energy/dissipation", "energy/total", "energy/ledger_residual", "solver", "contacts")
"""Channels that depend on the steps of a run."""

OF_PLACES = (
    "state", "bodies", "accelerations", "joints", "constraints", "combinations", "paths", "springs", "sensors",
    "points", "moment_arms", "inputs",
)  # fmt: skip
"""Files of `observation` with quantities of the motion alone, among forces."""


def channels_of(names: SceneNames) -> list[str]:
    """Return the channels that instants without steps have."""
    return [one.path for one in series_of(names) if not one.path.startswith(OF_STEPS)]


def channels_of_motion(names: SceneNames) -> list[str]:
    """Return the channels of instants without steps on which neither masses nor forces have an effect."""
    every = (one for one in series_of(names) if not one.path.startswith(OF_STEPS))
    return [
        one.path
        for one in every
        if (callable(one.channel.reader) or one.channel.reader in OF_PLACES)
        and "N" not in one.channel.units.replace(",", "").split()
    ]


@contextmanager
def recording(
    prepared: PreparedSimulation,
    model: Model,
    state: State,
    times: Floats,
    word: str,
    sink: Sink,
    description: str | None = None,
) -> Iterator[Callable[..., None]]:
    """Write states to a sink; accelerations and wrenches are those that the forces of the model cause.

    Parameters
    ----------
    prepared, model, state
        The scene, the model whose forces act, and a state of it.
    times, word, sink, description
        As those of `writing`.

    Yields
    ------
    Callable
        Records a state; it is called at each instant.  Keywords are samples that steps alone compute.

    Raises
    ------
    OutputError
        The sink cannot write.
    """
    simulation, own = prepared.with_compiled(model=model, alarms=(), notes=()), state.copy()
    method = simulation.method_for(own)
    with np.errstate(over="ignore", invalid="ignore"):
        method.start(own)
        with writing(prepared, model, times, word, sink, description) as write:

            def record(given: State, **others: Floats) -> None:
                for mine, theirs in zip(own, given, strict=True):
                    mine[:] = theirs
                method.restart()
                report = method.advance(own, float(own.time[0]))
                write(own, method.work, report, **others)

            yield record


@contextmanager
def writing(
    prepared: PreparedSimulation,
    model: Model,
    times: Floats,
    word: str,
    sink: Sink,
    description: str | None = None,
    events: EventTable | None = None,
) -> Iterator[Callable[..., None]]:
    """Write states, with their accelerations and work arrays, to a sink.

    Parameters
    ----------
    prepared, model
        The scene, and the model of the states.
    times
        The instants (T,), s.
    word
        The method in the attributes of the file: no method of a run, so that the file is not repeated as one.
    sink
        The sink.
    description
        Description of the file; None for that of the scene.
    events
        The events of the file; None if it has none.

    Yields
    ------
    Callable
        Writes a state, with its work arrays and report; it is called at each instant.  Keywords are samples that steps
        alone compute.

    Raises
    ------
    OutputError
        The sink cannot write.
    """
    simulation = prepared.with_compiled(model=model, alarms=(), notes=())
    header, rows, outcome = simulation.header(), element_rows(model), None
    header = replace(
        header,
        method=word,
        integrator="",
        options={},
        duration=float(times[-1]),
        step=float(times[-1] - times[0]) / max(1, len(times) - 1) or simulation.scene.simulation.step,
        block_rows=block_rows(len(times), model.names),
        description=header.description if description is None else description,
    )
    recorder = Recorder(model, simulation.run_settings(), header.block_rows, sink)

    def write(state: State, work: Work, report: Report, **others: Floats) -> None:
        for name, values in others.items():
            getattr(recorder.samples, name)[recorder.filled] = values
        observe(model.system, state, work, rows, recorder.samples, recorder.filled)
        recorder.add(report)

    sink.open(header)
    try:
        yield write
        recorder.flush()
        outcome = Outcome("complete", steps=len(times), events=events)
    finally:
        sink.close(outcome)
