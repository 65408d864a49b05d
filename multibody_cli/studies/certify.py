"""Certificate of a run: finer runs, another method, error bars and a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.immutable import Immutable
from multibody_cli.methods import METHODS
from multibody_cli.output.certificate import Certificate, ErrorBar
from multibody_cli.output.channel import INSTANT, matches
from multibody_cli.output.selection import select
from multibody_cli.output.trajectory import Trajectory, sources_of
from multibody_cli.scene.expect import CertifiedExpectation
from multibody_cli.spec.units import behind_number
from multibody_cli.studies.error_bars import PERTURBATION, ErrorBars, Flags, RefinedRuns, Refinement, estimate
from multibody_cli.studies.expect import blank_trajectory
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.timeline import Callbacks
from multibody_cli.yaml_values import flow

Prepare = Callable[[tuple[str, ...]], PreparedSimulation]

MOTION = ("bodies", "joints/*/q", "joints/*/v", "energy")
"""Channels that are certified by default, if they are recorded."""

CONTINUOUS = ("bodies/position", "bodies/quaternion", "bodies/*/com", "joints/*/q")
"""Channels that are judged in scenes with impacts; at an impact, the error of a velocity is as large as its jump."""

LARGEST_BAR = 0.1
"""Largest error bar of a certified channel, relative to its size: one digit."""

CHAOTIC = 1e5
"""Growth of a perturbation, relative to the size of a channel, from which a motion without digits is called chaotic."""

TOLERANCE_ORDER = 0.5
"""Largest exponent of the tolerance in the error; output instants limit steps too, so the exponent may be below 1."""

FINEST_TOLERANCE = 1e-14
"""Smallest relative tolerance of a finer run; below, the coarser runs have larger tolerances than the scene."""


class CertificationPlan(Immutable):
    """The runs that certify a scene.

    Parameters
    ----------
    paths
        The channels to certify.
    settings
        Overrides of the scene for each level, from coarse to fine.
    refinement
        Relation of the levels.
    impacts
        Whether velocities may be discontinuous: contacts, dry friction, limits, or events that change the scene.
    methods
        The method of the scene and, if one supports it, another one.
    levels, others
        The scene at each level with both methods; `others` is empty if there is only one.
    remedy
        The remedy for errors that are too large at the finest level.
    """

    paths: tuple[str, ...]
    settings: tuple[str, ...]
    refinement: Refinement
    impacts: bool
    methods: tuple[str, ...]
    levels: tuple[PreparedSimulation, ...]
    others: tuple[PreparedSimulation, ...]
    remedy: str


def plan_of(
    simulation: PreparedSimulation, prepare: Prepare, channels: Sequence[str] = (), against: str | None = None
) -> CertificationPlan:
    """Plan the runs that certify a scene.

    Parameters
    ----------
    simulation
        The scene.
    prepare
        Prepares the scene with overrides.
    channels
        Names of channels, as in `output.selection.select`; by default motion and energy.
    against
        The other method; by default the first that supports the scene and takes the same integrators, those with other
        coordinates before the rest.

    Raises
    ------
    ResultError
        A channel does not exist or is not recorded.
    ArgumentError
        No channel has an error bar.
    SceneError
        The method `against` does not support the scene.
    """
    paths = _certified_paths(simulation, channels)
    settings, refinement, impacts = _levels_of(simulation)
    common = (f"output.every={simulation.compiled.timing.every!r}", "expect=[]")
    overrides = [(*common, setting) for setting in settings]
    levels = tuple(prepare(words) for words in overrides)
    other, others = _other_method(simulation, prepare, overrides, against)
    methods = (simulation.scene.simulation.method, *([other] if other else []))
    remedy = _remedy(simulation, settings[-1], impacts)
    return CertificationPlan(tuple(paths), settings, refinement, impacts, methods, levels, others, remedy)


def certify(
    own: Trajectory,
    plan: CertificationPlan,
    on_time: Callable[[float, float], None] = lambda _done, _total: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Certificate:
    """Certify a run by the runs of a plan.

    Parameters
    ----------
    own
        The run of the scene.
    plan
        The other runs.
    on_time
        Called with the simulated time of all runs so far and their total, s, after each output instant.
    stop_asked
        Returns True to stop.

    Raises
    ------
    KeyboardInterrupt
        `stop_asked` returned True.
    """
    wanted = (*plan.levels, *plan.others, _perturbed(plan.levels[-1]))
    sources = (() if path in own.paths else sources_of(path, own.bodies) for path in plan.paths)
    channels = list(dict.fromkeys(one for path, of in zip(plan.paths, sources, strict=True) for one in of or (path,)))
    trajectories = []
    durations = [one.scene.simulation.duration for one in wanted]
    for number, one in enumerate(wanted):
        before, every = sum(durations[:number]), one.compiled.timing.every

        def on_output(instants: float, before: float = before, every: float = every) -> None:
            on_time(before + (instants - 1) * every, sum(durations))

        summary, trajectory = one.run_in_memory(channels, Callbacks(on_output, stop_asked))
        if summary.outcome.status == "interrupted":
            raise KeyboardInterrupt
        trajectories.append(trajectory)
    runs = RefinedRuns(own, trajectories[:3], trajectories[3:-1], trajectories[-1], plan.refinement)
    return certificate_of([estimate(path, runs, _is_continuous(path)) for path in plan.paths], runs, plan)


def certificate_of(estimates: Sequence[ErrorBars], runs: RefinedRuns, plan: CertificationPlan) -> Certificate:
    """Judge the error bars of a run.

    Parameters
    ----------
    estimates
        The error bars of the channels.
    runs
        The runs that they are estimated from.
    plan
        How the runs are related.
    """
    motion = [one for one in estimates if one.record.role == "coordinate"]  # an energy has no size of its own
    judged = [one for one in motion if not plan.impacts or _is_continuous(one.record.path)] or motion or list(estimates)
    settings = tuple(setting.removeprefix("simulation.") for setting in plan.settings)
    status, row, verdict = _verdict(judged, runs, settings, plan)
    return Certificate(
        status=status,
        verdict=verdict,
        digits=min(_digits(float(one.relative[row])) for one in judged),
        until=float(runs.own.time[row]),
        methods=plan.methods,
        settings=settings,
        bars={
            one.record.path: ErrorBar(one.bars, one.record.units, one.order, _digits(float(one.relative[-1])))
            for one in estimates
        },
    )


def _verdict(
    judged: Sequence[ErrorBars], runs: RefinedRuns, settings: tuple[str, ...], plan: CertificationPlan
) -> tuple[str, int, str]:
    """Return the status, the last row that is certified, and the verdict as a sentence."""
    time, methods = runs.own.time, plan.methods
    lost, first_lost = min(((_first(one.relative > LARGEST_BAR), k) for k, one in enumerate(judged)))
    differ, first_differ = min(((_first(one.disagreeing), k) for k, one in enumerate(judged)))
    last = min(lost, differ, len(time))
    if last == len(time):
        worst = max(judged, key=lambda one: float(one.relative[-1]))
        digits = _digits(float(worst.relative[-1]))
        alone = "" if len(methods) > 1 else "; no other method supports the scene"
        return (
            "certified",
            last - 1,
            f"certified to {digits} digit{'s' * (digits != 1)}; the least certain channel is {worst.record.path}, "
            f"within {np.max(worst.bars):.2g}{behind_number(worst.record.units)}{alone}",
        )
    row, since = max(last - 1, 0), f"t = {time[last]:.6g} s"
    if differ < lost:
        path = judged[first_differ].record.path
        text = (
            f"methods {' and '.join(methods)} disagree from {since} on, first in {path}, by more than their own "
            "errors: compare both with `mbsim compare`, and check the joints and constraints that are redundant or "
            "singular there"
        )
        return "methods disagree", row, text
    worst = judged[first_lost]
    if last >= runs.instants:
        ended = min((*runs.levels, *runs.others, runs.perturbed), key=lambda run: len(run.time))
        text = (
            f"not certified from {since} on: a run with {settings[-1]} or coarser ended: {ended.attributes['message']}"
        )
        return "not converged", row, text
    growth = float(worst.growth[last])
    if growth >= CHAOTIC and worst.converging[last]:
        text = (
            f"chaotic after {since}: a perturbation has grown {growth:.1e} times in {worst.record.path}, so that "
            "smaller steps extend the certified time only slightly"
        )
        return "chaotic", row, text
    text = (
        f"not certified from {since} on: the error bar of {worst.record.path} exceeds {LARGEST_BAR:.0%} of its size; "
        f"{plan.remedy}"
    )
    return "not converged", row, text


def _remedy(simulation: PreparedSimulation, setting: str, impacts: bool) -> str:
    """Return the remedy for errors that are too large with the setting of the finest level."""
    finest = setting.removeprefix("simulation.")
    if simulation.integrator.adaptive:
        return f"use a smaller tolerance than {finest}"
    has_choice = METHODS[simulation.scene.simulation.method].own_integrator is None
    higher = ", or `integrator: dop853`, of order 8" if has_choice and not impacts else ""
    return f"use a smaller step than {finest}{higher}"


def _first(flags: Flags) -> int:
    """Return the first row at which a flag is set; a large number if there is none."""
    rows = np.flatnonzero(flags)
    return int(rows[0]) if len(rows) else np.iinfo(np.int64).max


def _digits(relative: float) -> int:
    """Return the number of significant digits of a relative error, at most 15."""
    return 15 if relative < 1e-15 else max(0, math.floor(-math.log10(min(relative, 1.0))))


def _is_continuous(path: str) -> bool:
    return any(matches(path, pattern) for pattern in CONTINUOUS)


def _levels_of(simulation: PreparedSimulation) -> tuple[tuple[str, ...], Refinement, bool]:
    """Return the settings of the levels: the step, a half and a quarter of it, or three tolerances.

    Also their relation, and whether velocities may be discontinuous.
    """
    settings, names = simulation.scene.simulation, simulation.compiled.model.names
    has_limits = any(entry.one_sided for entry in names.constraint_entries)
    impacts = bool(names.contacts or names.has_dry_friction or has_limits)
    jumps = impacts or any(event.changes for event in simulation.scene.events.values())
    integrator = simulation.integrator
    if integrator.adaptive:
        rtol, atol = settings.tolerance.rtol, settings.tolerance.atol
        factor = 100.0 if rtol >= 1e4 * FINEST_TOLERANCE else 10.0
        coarsest = 1.0 if rtol >= factor**2 * FINEST_TOLERANCE else factor**2
        ratios = (coarsest, coarsest / factor, coarsest / factor**2)
        also = [f", atol: {k * atol:.15g}" if atol is not None else "" for k in ratios]
        levels = [f"simulation.tolerance={{rtol: {k * rtol:.15g}{more}}}" for k, more in zip(ratios, also, strict=True)]
        return tuple(levels), Refinement(factor, TOLERANCE_ORDER), jumps
    steps = [settings.step / k for k in (1, 2, 4)]
    refinement = Refinement(2.0, 1.0, settings.step) if impacts else Refinement(2.0, float(integrator.order))
    return tuple(f"simulation.step={step!r}" for step in steps), refinement, jumps


def _certified_paths(simulation: PreparedSimulation, channels: Sequence[str]) -> list[str]:
    """Return the channels to certify: those that are asked for, and those of `certified` expectations."""
    scene = simulation.scene
    blank = blank_trajectory(simulation.compiled.model.names, scene.output.channels, np.zeros(1))
    expected = [str(entry.channel) for entry in scene.expect if isinstance(entry, CertifiedExpectation)]
    chosen = [scalar.channel for scalar in select(blank, channels)]
    if not channels:
        chosen = [path for path in blank.paths if any(matches(path, pattern) for pattern in MOTION)]
    records = [blank.channel(path) for path in dict.fromkeys([*chosen, *expected])]
    paths = [one.path for one in records if one.per == INSTANT and one.rtol > 0.0 and one.role != "instant"]
    if not paths:
        raise ArgumentError("no channel has an error bar: record `bodies` or `joints` in `output.channels`")
    return paths


def _other_method(
    simulation: PreparedSimulation, prepare: Prepare, levels: Sequence[tuple[str, ...]], against: str | None
) -> tuple[str, tuple[PreparedSimulation, ...]]:
    """Return another method and the scene at each level with it; empty if no other method supports the scene.

    Methods with other coordinates come first: they share least code with the method of the scene.
    """
    settings = simulation.scene.simulation
    own = METHODS[settings.method]
    candidates = [
        name for name, kind in METHODS.items() if (kind.own_integrator is None) == (own.own_integrator is None)
    ]
    others = sorted(
        (name for name in candidates if name != settings.method), key=lambda name: METHODS[name].maximal == own.maximal
    )
    for name in [against] if against else others:
        fields = METHODS[name].Options.model_fields if name in METHODS else {}
        options = {key: value for key, value in settings.options.items() if key in fields}
        foreign = (f"simulation.method={name}", f"simulation.options={flow(options)}")
        try:
            return name, tuple(prepare((*overrides, *foreign)) for overrides in levels)
        except SceneError:
            if against:
                raise
    return "", ()


def _perturbed(simulation: PreparedSimulation) -> PreparedSimulation:
    """Return a scene with perturbed initial velocities."""
    compiled = simulation.compiled
    v, tree = compiled.state.v, compiled.model.system.tree
    shift = np.random.default_rng(0).uniform(-1.0, 1.0, v.shape) * np.maximum(np.abs(v), tree.rate / tree.weights)
    return simulation.with_compiled(state=compiled.state._replace(v=v + PERTURBATION * shift))
