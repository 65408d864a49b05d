"""The alarms.

Thresholds lie above the largest value of the gallery, the validation scenes and random machines with their integrators:
by a factor of 1.7 for the energy ledger of first order, and of at least 2.5 otherwise.  `mbsim doctor` reports the same
alarms of its trial run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import NONE, Alarm, AlarmReport, Oscillations, Remedy, RunSettings
from multibody_cli.alarms.record import Peak, RunRecord, rows_of
from multibody_cli.alarms.remedies import DIVISORS, MARGIN, reduce_step, remedy_of_open_constraints, resolve_better
from multibody_cli.alarms.unsolved import read_contacts, read_implicit
from multibody_cli.escaping import path_component
from multibody_cli.kernel import Floats
from multibody_cli.methods.contract import Integrator

LEDGER_THRESHOLDS = {1: 0.03, 2: 0.01}
"""Thresholds of the energy ledger by the order of the integrator; 0.002 for higher orders."""

LEDGER_FAILED = {1: 0.1, 2: 0.05}
"""Residuals of the energy ledger above which a run fails; 0.02 for higher orders, whose residual falls faster."""

REST = 1e-9
"""Displacement in a step, relative to the length of the scene, up to which a body is at rest."""

SPIN_THRESHOLDS = {1: 0.15, 2: 0.3}
"""Thresholds of the angle of a step by the order of the integrator, rad."""

SPIN_OF_HIGHER_ORDER = 1.0
"""The same for higher orders, rad."""

SPIN_OF_LOOP = 0.7
"""The same for bodies in closed loops, whose inertia changes within a turn, rad; the run fails above 1 rad."""

SPIN_OF_REMEDY = 0.2
"""Angle of a step with the recommended step, rad."""


ADDED, ADDED_IN_THE_MEAN = 1e-9, 1e-2
"""Energy that contacts add, relative to the energy available, which counts; of variational steps."""


WITHOUT_LENGTH = (
    "keep ends of ropes outside of the circles of their pulleys, and the ropes on their pulleys to 0.45 turns"
)
"""Remedy of constraints that are not defined; a belt ends the run."""


def _unless_adaptive(settings: RunSettings, threshold: float) -> float:
    return math.inf if settings.integrator.adaptive else threshold


def _read_constraints(record: RunRecord, settings: RunSettings) -> AlarmReport:
    names, length = record.names, record.length
    peak, channel, unit = record.loop_error, "", "m"
    if record.row_error.largest > peak.largest:
        peak = record.row_error
        owner = [*rows_of(names).values()][peak.element]
        channel, place = f"{owner.section}/{path_component(owner.name)}/error", f"{owner.section} `{owner.name}`"
        unit = "m or rad"
    elif names.joints:
        name = names.joints[peak.element].name
        channel, place = f"joints/{path_component(name)}/constraint_error", f"the loop of joint `{name}`"
    else:
        place = "the constraints"
    message = f"{place} is open by {peak.largest:.3g} {unit}, {peak.largest / length:.2g} of the length of the scene"
    if peak.largest == math.inf:
        message = f"{place} is not defined, and has no effect there"
    return AlarmReport(lambda bound: peak.time_above(bound * length), channel, message)


def _close_constraints(settings: RunSettings, value: float, threshold: float) -> Remedy:
    if value == math.inf:
        return Remedy(change=WITHOUT_LENGTH)
    if settings.options.get("stabilization", "projection") != "projection":
        return Remedy(change="use `simulation.options.stabilization: projection`")
    return remedy_of_open_constraints(settings, value, threshold)


def _residual_of(record: Any, settings: RunSettings) -> Any:
    """Return the residual that counts: implicit integrators damp fast modes, so that of their runs it is the gain."""
    return record.gain if settings.integrator.implicit else record.residual


def _energy_of(record: Any, settings: RunSettings) -> Any:
    """Return the energy available, J, at least that of bodies at rest, which round-off moves by `REST` in a step.

    If it is zero, infinity without a residual, and else almost zero.
    """
    energy = np.maximum(record.energy, 0.5 * record.mass * (REST * record.length / settings.step) ** 2)
    nothing = np.where(_residual_of(record, settings).largest == 0.0, math.inf, 1e-300)
    return np.where(energy == 0.0, nothing, energy)


def _read_phase(record: RunRecord, settings: RunSettings) -> AlarmReport:
    peak, body = record.phase, record.names.bodies[record.phase.element]
    message = f"the angle that body `{body}` has turned is off by about {peak.largest:.2g} rad"
    if record.phases.are_of_rotors:
        cause, channel = "since the steps do not resolve how it tumbles", f"bodies/{path_component(body)}/quaternion"
    else:
        cause, channel = "since the residual of the energy ledger changes the velocities", "energy/ledger_residual"
    return AlarmReport(peak.time_above, channel, f"{message}, {cause}")


def _read_energy(peak: Peak, record: RunRecord, settings: RunSettings, verb: str, consequence: str = "") -> AlarmReport:
    energy = float(_energy_of(record, settings))
    share = f"{peak.largest / energy:.2g} of the {energy:.3g} J that were available"
    message = f"{verb} {peak.largest:.3g} J, {share}{consequence}"
    return AlarmReport(lambda bound: peak.time_above(bound * energy), "energy/ledger_residual", message)


def _read_loop_spin(record: RunRecord, settings: RunSettings) -> AlarmReport:
    body = record.names.bodies[record.names.looped[record.loop_spin.element]] if record.names.looped else ""
    return _turned(record.loop_spin, body, settings.step, ", which does not resolve the motion of its closed loop")


def _turned(peak: Peak, body: str, step: float, consequence: str) -> AlarmReport:
    message = f"body `{body}` turns by up to {peak.largest * step:.3g} rad in a step{consequence}"
    channel = f"bodies/{path_component(body)}/angular_velocity"
    return AlarmReport(lambda bound: peak.time_above(bound / step), channel, message)


def _slow_spin(settings: RunSettings, value: float, threshold: float) -> Remedy:
    if settings.alternative and value <= SPIN_OF_HIGHER_ORDER:
        return Remedy(settings.step, settings.alternative)
    return reduce_step(settings.step, value / SPIN_OF_REMEDY)


def _energized(record: Any, settings: RunSettings) -> Any:
    """Return the number of steps that add energy, if it is more than the law of impact explains by its own accuracy.

    Variational steps apply the law to mean velocities, whose energy is that of the motion to first order of the step.
    """
    share = ADDED if settings.integrator.bind is not None else ADDED_IN_THE_MEAN
    return np.where(record.added_energy > share * record.energy, record.energizing.number, 0)


def _read_penetration(record: RunRecord, settings: RunSettings) -> AlarmReport:
    peak, length = record.penetration, record.length
    message = (
        f"bodies penetrate each other by {peak.largest:.3g} m, {peak.largest / length:.2g} of the length of the scene: "
        "a limit of a joint, a prescribed motion or a constraint leads through a contact"
    )
    return AlarmReport(lambda bound: peak.time_above(bound * length), "contacts/gap", message)


def _counted(field: str, channel: str, message: str) -> Callable[[RunRecord, RunSettings], AlarmReport]:
    """Return the reader of a `Count` of the record `r`, by a message that is a format."""
    return lambda record, _: AlarmReport(lambda _: getattr(record, field).first, channel, message.format(r=record))


RUN_ALARMS = (
    Alarm(
        "constraints",
        "largest error of a loop, coupling or constraint, relative to the length of the scene",
        lambda _: 1e-4,
        lambda record, _: np.maximum(record.loop_error.largest, record.row_error.largest) / record.length,
        _read_constraints,
        _close_constraints,
        failed=lambda _: 1e-2,
    ),
    Alarm(
        "ledger",
        "largest residual of the energy ledger, relative to the energy available",
        lambda settings: LEDGER_THRESHOLDS.get(settings.order, 2e-3),
        lambda record, settings: _residual_of(record, settings).largest / _energy_of(record, settings),
        lambda record, settings: _read_energy(
            _residual_of(record, settings), record, settings, "the energy ledger has a residual of"
        ),
        resolve_better,
        failed=lambda settings: LEDGER_FAILED.get(settings.order, 0.02),
    ),
    Alarm(
        "phase",
        "estimated error of the angle that a body has turned, rad; of free bodies, or with one degree of freedom",
        lambda _: 0.05,
        lambda record, _: record.phase.largest,
        _read_phase,
        resolve_better,
        failed=lambda _: 0.1,
    ),
    Alarm(
        "damping",
        "energy that an implicit integrator damped, relative to the energy available",
        lambda settings: 0.05 if settings.integrator.implicit else math.inf,
        lambda record, settings: record.loss.largest / _energy_of(record, settings),
        lambda record, settings: _read_energy(
            record.loss, record, settings, "the integrator damped", ", by which slow motions may be too slow"
        ),
        lambda settings, value, threshold: reduce_step(settings.step, MARGIN * value / threshold),
        level="note",
    ),
    Alarm(
        "oscillations",
        "energy of the errors of oscillations with an implicit integrator, relative to the energy available",
        lambda settings: THRESHOLD if settings.oscillations else math.inf,
        lambda record, settings: lost_shares(
            settings.oscillations, _energy_of(record, settings), settings.integrator, settings.step
        ).sum(axis=-1),
        lambda record, settings: read_oscillations(float(_energy_of(record, settings)), settings),
        lambda *_: NONE,
    ),
    Alarm(
        "spin",
        "largest angle of a body in a step, rad; not with an adaptive integrator",
        lambda settings: _unless_adaptive(
            settings, SPIN_THRESHOLDS.get(settings.integrator.order, SPIN_OF_HIGHER_ORDER)
        ),
        lambda record, settings: record.spin.largest * settings.step,
        lambda record, settings: _turned(record.spin, record.names.bodies[record.spin.element], settings.step, ""),
        _slow_spin,
        level="note",
    ),
    Alarm(
        "loop_spin",
        "largest angle of a body of a closed loop in a step, rad; not with an adaptive integrator",
        lambda settings: _unless_adaptive(settings, SPIN_OF_LOOP),
        lambda record, settings: record.loop_spin.largest * settings.step,
        _read_loop_spin,
        lambda settings, value, threshold: reduce_step(settings.step, value / SPIN_OF_REMEDY),
        failed=lambda _: 1.0,
    ),
    Alarm(
        "penetration",
        "largest depth to which bodies in contact penetrate, relative to the length of the scene",
        lambda _: 1e-3,
        lambda record, _: record.penetration.largest / record.length,
        _read_penetration,
        lambda *_: Remedy(
            change="for a limit reduce `simulation.step`, otherwise replace the prescribed motion by a `force`, or "
            "exclude the contact with `contacts.exclude`"
        ),
        failed=lambda _: 1e-2,
    ),
    Alarm(
        "contacts",
        "number of steps with contacts or friction that missed their tolerance",
        lambda _: 0.0,
        lambda record, _: record.unsolved.number,
        read_contacts,
        lambda settings, *_: reduce_step(settings.step, 2.0),
    ),
    Alarm(
        "added_energy",
        "number of steps in which contacts and friction add energy",
        lambda _: 0.0,
        _energized,
        _counted(
            "energizing",
            "energy/kinetic",
            "contacts and friction added {r.added_energy:.3g} J in {r.energizing.number} of {r.steps} steps, as "
            "Newton's restitution with friction may",
        ),
        lambda *_: Remedy(change="use `contacts.impacts: energetic`"),
    ),
    Alarm(
        "jams",
        "number of steps in which a sliding contact stops in an impact without collision",
        lambda _: 0.0,
        lambda record, _: record.jams.number,
        _counted(
            "jams",
            "contacts/mode",
            "in {r.jams.number} of {r.steps} steps a sliding contact stops in an impact without collision (Painleve): "
            "above the critical friction, Coulomb's law has no solution with finite forces",
        ),
        lambda *_: Remedy(change="reduce its `friction` if it should slide on"),
        level="note",
    ),
    Alarm(
        "implicit",
        "number of accelerations with implicit forces that missed their tolerance, or without a solution",
        lambda _: 0.0,
        lambda record, _: record.implicit_unsolved.number,
        read_implicit,
        lambda settings, *_: reduce_step(settings.step, 2.0),
    ),
    Alarm(
        "step_search",
        "number of subdivisions of variational steps",
        lambda _: 0.0,
        lambda record, _: record.step_subdivisions.number,
        _counted(
            "step_subdivisions",
            "solver/step_subdivisions",
            "steps were halved {r.step_subdivisions.number} times because the solver did not converge: the motion is "
            "poorly resolved there, and a jump of the energy indicates convergence to a wrong solution",
        ),
        lambda settings, *_: reduce_step(settings.step, 2.0),
    ),
)
"""The alarms that the record of a run raises."""

STABILITY, SIGNALS, JUMPS, UNIQUENESS, OVERLAP = "stability", "signals", "jumps", "uniqueness", "overlap"
"""Names of the alarms that depend on the start alone."""

DESCRIPTIONS = {
    **{alarm.name: alarm.description for alarm in RUN_ALARMS},
    STABILITY: "step, relative to the stability limit at the start of motions and of the feedback of Baumgarte",
    SIGNALS: "error of the integral of a function of time over the steps, relative to that of its absolute value",
    JUMPS: "jump of a prescribed position within a step, relative to the range of its values",
    UNIQUENESS: "growth of the friction limit of a joint with its own friction, above which the friction is not unique",
    OVERLAP: "depth of bodies that `contacts.overlap: exclude` excludes, relative to the smaller shape",
}
"""Description of every alarm, by its name in `simulation.alarms`."""


THRESHOLD = 0.1
"""Energy of the errors, relative to the energy available, above which they are reported."""

INSTANTS = 400
"""Number of instants at which the error of a mode is computed, in geometric sequence."""


def errors_of(oscillations: Oscillations, integrator: Integrator, h: float) -> Floats:
    """Return the largest error of each mode (m,) with steps of h, s, relative to its amplitude; at most 1.

    A mode x ~ exp(s t) becomes R(h s)^n after n steps of h, where R is the stability function of the integrator.  Its
    error relative to the amplitude at the start, |R(h s)^n - exp(n h s)|, contains the loss of amplitude and the error
    of the phase, and is small where the motion itself is damped.  The square of the error times the energy of the mode
    is the energy of the error, which counts relative to the energy available: fast modes with little energy may be
    lost.

    Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2 and IV.3.
    """
    s, count = oscillations.exponents, max(1.0, oscillations.duration / h)
    n = np.unique(np.round(np.geomspace(1.0, count, INSTANTS)))[:, None]
    assert integrator.stability_function is not None
    with np.errstate(divide="ignore", under="ignore"):
        found = np.exp(n * np.log(integrator.stability_function(h * s))) - np.exp(n * h * s)
    return np.asarray(np.minimum(np.abs(found).max(axis=0, initial=0.0), 1.0))


def lost_shares(oscillations: Oscillations | None, energy: Any, integrator: Integrator, h: float) -> Floats:
    """Return the energy of the error of each mode (..., m) relative to the energy available (...), J."""
    available = np.asarray(energy)[..., None]
    if oscillations is None:
        return np.zeros((*available.shape[:-1], 0))
    with np.errstate(over="ignore"):
        shares = np.minimum(oscillations.energies / available, 1.0)
    return np.asarray(errors_of(oscillations, integrator, h) ** 2 * shares)


def read_oscillations(energy: float, settings: RunSettings) -> AlarmReport:
    """Read the mode whose error has the largest energy, of the energy available, J."""
    oscillations, integrator = settings.oscillations, settings.integrator
    assert oscillations is not None
    worst = int(np.argmax(lost_shares(oscillations, energy, integrator, settings.step)))
    frequency, share = oscillations.exponents[worst].imag / math.tau, min(oscillations.energies[worst] / energy, 1.0)
    error = errors_of(oscillations, integrator, settings.step)[worst]
    message = (
        f"the oscillation of {frequency:.3g} Hz of {oscillations.places[worst]}, which has {share:.2g} of the "
        f"{energy:.3g} J that were available, has an error of {error:.2g} of its amplitude with the step of "
        f"{settings.step:.4g} s"
    )
    goal = settings.thresholds.get("oscillations", THRESHOLD) / MARGIN
    shares = (lost_shares(oscillations, energy, integrator, settings.step / divisor).sum() for divisor in DIVISORS)
    divisor = next((divisor for divisor, share in zip(DIVISORS, shares, strict=True) if share <= goal), DIVISORS[-1])
    return AlarmReport(lambda _: 0.0, "", message, Remedy(settings.step / divisor))
