"""Examination of a scene: every check, and the figures that they rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from multibody_cli.document.source import SceneSource
from multibody_cli.immutable import Immutable
from multibody_cli.studies.doctor.elimination import Elimination, elimination_of
from multibody_cli.studies.doctor.placement import (
    find_floating,
    find_inertias,
    find_mass_ratios,
    find_overlaps,
    find_units,
    largest_mass_ratio,
)
from multibody_cli.studies.doctor.redundancy import DofCount, count_dofs, find_redundancy
from multibody_cli.studies.doctor.small_motions import SmallMotions
from multibody_cli.studies.doctor.steps import (
    Conditioning,
    conditioning_of,
    find_instability,
    find_long_steps,
    find_poor_conditioning,
    longest_steps,
)
from multibody_cli.studies.doctor.subject import Finding, Subject
from multibody_cli.studies.doctor.trial_run import find_alarms, find_failed_trial, find_weak_expectations

CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    find_units,
    find_inertias,
    find_long_steps,
    find_failed_trial,
    find_alarms,
    find_redundancy,
    find_poor_conditioning,
    find_instability,
    find_weak_expectations,
    find_overlaps,
    find_floating,
    find_mass_ratios,
)
"""Checks; of findings of equal weight, those of an earlier check come first."""


class Diagnosis(Immutable):
    """Result of an examination.

    Parameters
    ----------
    name
        Name of the scene.
    n_dofs, count
        Degrees of freedom at the start, and how they were counted.
    motions
        Small motions about the start; None if it cannot be linearized.
    steps
        Longest stable step of each integrator, s; infinite without a limit, None if it adapts its steps.
    conditioning
        Condition numbers; None if the scene cannot be linearized.
    elimination
        Elimination of the rows that close loops; None if they are solved with a dense matrix.
    mass_ratio
        Largest mass ratio of bodies that a joint connects, with the heavy and the light body.
    findings
        In order of weight.
    warnings
        Those of the loaded scene.
    """

    name: str
    n_dofs: int
    count: DofCount
    motions: SmallMotions | None
    steps: Mapping[str, float | None]
    conditioning: Conditioning | None
    elimination: Elimination | None
    mass_ratio: tuple[float, str, str] | None
    findings: Sequence[Finding]
    warnings: tuple[str, ...]


def diagnose(source: SceneSource, overrides: Sequence[str] = ()) -> Diagnosis:
    """Examine a scene.

    Parameters
    ----------
    source, overrides
        The scene, and values to replace.

    Raises
    ------
    SceneError
        With all problems of the scene.
    """
    subject = Subject(source, overrides)
    findings = [finding for check in CHECKS for finding in check(subject)]
    return Diagnosis(
        subject.scene.name,
        subject.simulation.compiled.n_dofs,
        count_dofs(subject),
        subject.motions,
        longest_steps(subject),
        conditioning_of(subject),
        elimination_of(subject),
        largest_mass_ratio(subject),
        sorted(findings, key=lambda finding: -finding.weight),
        subject.simulation.loaded.warnings,
    )
