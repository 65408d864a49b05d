"""Modes and linear systems of scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from multibody_cli.api.scene import Overrides, load, override_texts
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.statics.study import OVERRIDES
from multibody_cli.studies.vibration.modes import Modes, modes_of_subject
from multibody_cli.studies.vibration.subject import Subject, subject_of
from multibody_cli.studies.vibration.system import LinearSystem, linear_system


def modes(
    source: str | PathLike[str],
    *,
    at: float | None = None,
    equilibrium: bool = False,
    steady: Mapping[str, float | str | None] | None = None,
    overrides: Overrides = (),
    state: str | None = None,
) -> Modes:
    """Compute the modes of a scene, as `mbsim modes` does.

    Parameters
    ----------
    source, overrides, state
        As for `load`.
    at
        Time of the run, s, or instant of the equilibrium; None for the start.
    equilibrium, steady
        Whether the state is the equilibrium, or the steady motion with these rates.

    Returns
    -------
    Modes
        `modes`, each with `exponent`, `damped_frequency`, `damping_ratio`, `shape` (nv,) and `bodies`; and `undamped`
        (k,), Hz.

    Raises
    ------
    SceneError
        The scene is invalid.
    ArgumentError
        A coordinate or the time cannot be used.
    RunFailed
        There is no equilibrium, or the run fails before.
    """
    prepared, subject = _subject(source, at, equilibrium, steady, overrides, state)
    return modes_of_subject(subject, prepared.compiled.masses)


def linearize(
    source: str | PathLike[str],
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    at: float | None = None,
    equilibrium: bool = False,
    steady: Mapping[str, float | str | None] | None = None,
    overrides: Overrides = (),
    state: str | None = None,
) -> LinearSystem:
    """Linearize a scene about a state, as `mbsim linearize` does.

    Parameters
    ----------
    source, overrides, state, at, equilibrium, steady
        As for `modes`.
    inputs
        Names such as `force/hinge`, `inputs/gas` and `drive/lift`; by default, all but drives.
    outputs
        Channels; by default the coordinates among the states.

    Returns
    -------
    LinearSystem
        A (n, n), B (n, m), C (r, n), D (r, m) in SI units, and the names `states`, `inputs` and `outputs`.

    Raises
    ------
    SceneError, ArgumentError, RunFailed
        As for `modes`, or a name does not exist.
    """
    prepared, subject = _subject(source, at, equilibrium, steady, overrides, state)
    return linear_system(prepared, subject, inputs, outputs)


def _subject(
    source: str | PathLike[str],
    at: float | None,
    equilibrium: bool,
    steady: Mapping[str, float | str | None] | None,
    overrides: Overrides,
    state: str | None,
) -> tuple[PreparedSimulation, Subject]:
    prepared = load(source, [*override_texts(overrides), *OVERRIDES], state).prepared
    return prepared, subject_of(prepared, at, equilibrium, steady)
