"""Subject of an examination: a scene in joint coordinates at its start, and a trial run, each computed on first use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property

import numpy as np

from multibody_cli.document.source import SceneSource
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.initial_state import initial_samples
from multibody_cli.initial.linearized_motion import MOST_COORDINATES, Linearization, linearization_of
from multibody_cli.initial.singular_loop import EXACT, SingularLoop, find_singular_loop
from multibody_cli.kernel.progress import seconds
from multibody_cli.model import Model, State
from multibody_cli.nodes import NodePath, format_path
from multibody_cli.output.samples import Samples
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.studies.doctor.small_motions import SmallMotions, small_motions
from multibody_cli.studies.simulation import PreparedSimulation, in_joint_coordinates, prepare
from multibody_cli.timeline import Callbacks, Summary

MAX_SECONDS = 5.0
"""Longest trial run, in seconds of the clock, without the compilation of its kernels."""


class Trial(Immutable):
    """The scene, run until its end or for `MAX_SECONDS`."""

    summary: Summary
    trajectory: Trajectory


class Subject:
    """A scene under examination.

    Parameters
    ----------
    source, overrides
        The scene, and values to replace.

    Raises
    ------
    SceneError
        With all problems of the scene.
    """

    def __init__(self, source: SceneSource, overrides: Sequence[str] = ()) -> None:
        self.source, self.overrides = source, tuple(overrides)
        self.simulation = prepare(source, overrides)

    @property
    def scene(self) -> SceneSpec:
        """The scene."""
        return self.simulation.scene

    @cached_property
    def in_joints(self) -> PreparedSimulation:
        """The scene in joint coordinates, for any method."""
        return in_joint_coordinates(self.simulation, self.source, self.overrides)

    @cached_property
    def start(self) -> tuple[Model, State]:
        """Model and initial state in joint coordinates."""
        return self.in_joints.compiled.model, self.in_joints.fresh_state()

    @cached_property
    def samples(self) -> Samples:
        """Poses and velocities of the bodies in the initial state."""
        return initial_samples(*self.start)

    @cached_property
    def linear(self) -> Linearization | None:
        """The linearized forces at the start; None in large scenes, and if bodies without inertia can move."""
        if not 0 < self.start[0].system.tree.links["nv"].sum() <= MOST_COORDINATES:
            return None
        try:
            return linearization_of(*self.start)
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def motions(self) -> SmallMotions | None:
        """Small motions about the start, without modes where branches meet; None if it cannot be linearized."""
        if self.linear is None:
            return None
        try:
            found = small_motions(*self.start, self.linear, self.simulation.compiled.masses)
        except np.linalg.LinAlgError:
            return None
        return replace(found, modes=[]) if self.singular_loop else found

    @cached_property
    def singular_loop(self) -> SingularLoop | None:
        """The loop that starts in a singular position."""
        return find_singular_loop(*self.start, EXACT)

    @cached_property
    def trial(self) -> Trial:
        """A trial run."""
        deadline = math.inf

        def is_late() -> bool:
            nonlocal deadline
            deadline = min(deadline, seconds() + MAX_SECONDS)  # without compilation
            return seconds() > deadline

        return Trial(*self.simulation.run_in_memory(callbacks=Callbacks(stop_asked=is_late)))

    def finding(
        self,
        check: str,
        weight: Severity,
        place: NodePath,
        cause: str,
        advice: str,
        settings: Sequence[str] = (),
    ) -> Finding:
        """Return a finding about the element at a path of the scene."""
        where = self.simulation.loaded.where(*place)
        return Finding(check, weight, where, format_path(place), cause, advice, tuple(settings))


def size_of(subject: Subject) -> float:
    """Return the size of a scene, m: the range of the positions in the trial run, or the largest body."""
    trajectory, extents = subject.trial.trajectory, []
    for one in subject.simulation.compiled.masses.values():
        radius = math.sqrt(float(np.trace(one.inertia)) / (2.0 * one.mass)) if one.mass > 0.0 else 0.0
        extents.append(float(np.linalg.norm(one.com)) + radius)
    if "bodies/position" in trajectory.paths:
        extents.append(float(np.ptp(np.append(trajectory.channel("bodies/position").values, 0.0))))
    return max(extents)


def scales_of_units(subject: Subject) -> dict[str, float]:
    """Return the scale of quantities by their unit, from size, mass, gravity and duration of the scene."""
    size, duration = size_of(subject), subject.scene.simulation.duration
    mass = sum(one.mass for one in subject.simulation.compiled.masses.values())
    weight, momentum = mass * math.hypot(*subject.scene.gravity), mass * size / duration
    return {
        "m": size,
        "m/s": size / duration,
        "rad": 1.0,
        "rad/s": 1.0 / duration,
        "N": weight,
        "N m": weight * size,
        "J": weight * size,
        "kg m/s": momentum,
        "kg m^2/s": momentum * size,
    }


class Severity(IntEnum):
    """Consequence of a finding; the advice begins with the largest."""

    REMARK = 1
    """The model may differ from the intention."""
    ACCURACY = 2
    """Some results are inaccurate, or not unique."""
    WRONG = 3
    """The run fails, or its results are wrong."""


class Finding(Immutable):
    """A finding about a scene.

    Parameters
    ----------
    check
        Keyword of the check.
    weight
        Its consequence.
    where, path
        `file:line:column`, and the path of the element, as in `joints.hinge`.
    cause
        The problem, with a number.
    advice
        The change that removes it.
    settings
        The same change as values `KEY=VALUE` of `--set`, tried on the scene; empty if it has no such form.
    """

    check: str
    weight: Severity
    where: str
    path: str
    cause: str
    advice: str
    settings: tuple[str, ...] = ()
