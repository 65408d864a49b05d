"""Alarms, the settings that they depend on, and the messages and remedies that they raise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.immutable import Immutable, asdict
from multibody_cli.kernel import Floats
from multibody_cli.methods.contract import Integrator

Level = Literal["note", "warning", "failed"]


class Remedy(Immutable):
    """Advice with a number.

    Parameters
    ----------
    step
        Longest step with which the error is small enough, s; infinite if a shorter step does not help.
    integrator
        Integrator of higher order to use with that step; empty for that of the run.
    change
        Another change, in words; it is an alternative if there is a step.
    """

    step: float = math.inf
    integrator: str = ""
    change: str = ""

    def __str__(self) -> str:
        settings = ""
        if self.integrator:
            settings = f"use `simulation.integrator: {self.integrator}` with the step of {self.step:.6g} s"
        elif math.isfinite(self.step):
            settings = f"reduce `simulation.step` to {self.step:.6g} s"
        return ", or ".join(filter(None, (settings, self.change)))


NONE = Remedy()
"""No advice."""


class Raised(Immutable):
    """An alarm that was raised.

    Parameters
    ----------
    name, level
        Name of the alarm, and its level. A run with an alarm of the level `failed` is untrusted.
    message
        Place and cause.
    remedy
        Advice with a number, the same for all alarms of a run that a shorter step or another integrator removes.
    channel
        The channel that shows the error; empty if there is none.
    time
        When the value first exceeded the threshold, to a factor of 1.5, s.
    value, threshold
        Largest value of the run and the threshold, both relative to the scale of the alarm.
    at_start
        Whether it was reported before the first step.
    """

    name: str
    level: Level
    message: str
    remedy: Remedy = NONE
    channel: str = ""
    time: float | None = None
    value: float | None = None
    threshold: float | None = None
    at_start: bool = False

    def __str__(self) -> str:
        start = "" if self.time is None else f"from t = {self.time:.4g} s"
        channel = f"`{self.channel}`" if self.channel else ""
        place = ", ".join(filter(None, [start, channel]))
        advice = str(self.remedy)
        return self.message + (f" ({place})" if place else "") + (f": {advice}" if advice else "")

    def as_data(self) -> dict[str, Any]:
        """Return the alarm for a result file or JSON, with the remedy as text."""
        return asdict(self) | {"remedy": str(self.remedy)}


class Oscillations(NamedTuple):
    """Oscillations of m modes of implicit forces: exponents (m,), 1/s, and energies (m,), J, at the start.

    `places` are the coordinates that move most, and `duration` is that of the run, s.
    """

    exponents: NDArray[np.complex128]
    energies: Floats
    places: tuple[str, ...]
    duration: float


class RunSettings(Immutable):
    """Settings of a run that alarms depend on.

    Parameters
    ----------
    integrator, step, rtol
        Integrator, its step, s, and its relative tolerance, if it is adaptive.
    order
        Order of accuracy: that of the integrator, or 1 with limits, contacts or dry friction, of variational steps too.
    one_motion
        Whether all energy is that of one body or of one degree of freedom.
    options
        Options of the method, as in the scene.
    driven
        Whether motions are prescribed beside closed loops, couplings or constraints, which may not permit them.
    staggered
        Whether staggered projections solve for the impulses of contacts and friction.
    alternative
        Integrator of higher order that the scene permits; empty if there is none.
    has_springs
        Whether springs, dampers or muscles act, which may be stiff.
    coordinates
        Advice of a run that failed near a singular position of the coordinates of a joint, in words; empty without.
    position
        The same near a singular position of a loop, where no step is short enough.
    thresholds
        Thresholds from the scene, by name of the alarm; infinity turns an alarm off.
    stable_step
        Longest stable step at the start, s; infinite if there is none or it is not known.
    oscillations
        Those of the implicit forces at the start; None if there are none.
    at_start
        The alarms that were raised before the first step.
    notes
        Those that depend on the start as well, but are reported at the end of the run.
    describe
        Returns place, name and formulas of an element of the scene, given its section and name.
    """

    integrator: Integrator
    step: float
    order: int
    one_motion: bool
    rtol: float = 1e-9
    options: Mapping[str, Any] = {}
    driven: bool = False
    staggered: bool = False
    alternative: str = ""
    has_springs: bool = False
    coordinates: str = ""
    position: str = ""
    thresholds: Mapping[str, float] = {}
    stable_step: float = math.inf
    oscillations: Oscillations | None = None
    at_start: tuple[Raised, ...] = ()
    notes: tuple[Raised, ...] = ()
    describe: Callable[[str, str], str] = "{}.{}".format


class AlarmReport(NamedTuple):
    """Report of an alarm whose value exceeds the threshold: time of the first value above one, channel and message.

    `remedy` replaces that of the alarm, if it depends on the cause.
    """

    time: Callable[[float], float]
    channel: str
    message: str
    remedy: Remedy | None = None


class Alarm(Immutable):
    """An entry of the catalogue of alarms.

    Parameters
    ----------
    name, description
        Key in `simulation.alarms`, and one line for lists.
    threshold
        Default threshold; infinity if the alarm does not apply.
    value
        Returns the value from the record of a run, relative to its scale; of the values of `LargestOfRuns`, one for
        each run.
    read
        Reads the reported values from the record of a run, a `RunRecord`.
    remedy
        Returns advice for a value and the threshold.
    failed
        Value above which the run fails; never below the threshold. Infinity if it does not fail.
    level
        Level below `failed`.
    """

    name: str
    description: str
    threshold: Callable[[RunSettings], float]
    value: Callable[[Any, RunSettings], Any]
    read: Callable[[Any, RunSettings], AlarmReport]
    remedy: Callable[[RunSettings, float, float], Remedy]
    failed: Callable[[RunSettings], float] = lambda _: math.inf
    level: Level = "warning"
