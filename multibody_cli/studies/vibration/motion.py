"""The motion of a mode as a result file: a period, of a size that can be seen."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.statics.unbalanced_forces import displaced
from multibody_cli.studies.recording import channels_of, recording
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.vibration.modes import Modes
from multibody_cli.studies.vibration.subject import Subject

SIZE = 0.2
"""Largest displacement of the motion, rad or lengths of the mechanism."""

INSTANTS = 48

DURATION = 2.0
"""Duration that a period takes in the file, s."""

METHOD = "modes"


def record_mode(
    prepared: PreparedSimulation, subject: Subject, found: Modes, number: int, output: Path, force: bool
) -> None:
    """Write a mode as the motion q = q0 + SIZE Re(shape exp(i phase)), in DURATION for any frequency.

    Raises
    ------
    ArgumentError
        There is no such mode.
    """
    if number > len(found.modes):
        count = len(found.modes)
        raise ArgumentError(f"--mode {number}: the scene has {count} mode{'s' * (count != 1)}")
    model, shape, states = subject.model, found.modes[number - 1].shape, []
    for k in range(INSTANTS + 1):
        phase = 2.0 * math.pi * k / INSTANTS
        state = subject.state.copy()
        state.time[0] = DURATION * k / INSTANTS
        state.q[:] = displaced(model, subject.state.q, SIZE * (shape * np.exp(1j * phase)).real)
        state.v[:] = 0.0
        states.append(state)
    times = np.array([float(one.time[0]) for one in states])
    sink = Hdf5Sink(output, channels_of(model.names), force=force)
    with recording(prepared, model, subject.state, times, METHOD, sink) as record:
        for state in states:
            record(state)
