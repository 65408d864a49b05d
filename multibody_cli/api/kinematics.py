"""Kinematic analysis from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from multibody_cli.api.scene import Overrides, load, override_texts
from multibody_cli.errors import ArgumentError
from multibody_cli.studies.inverse.kinematic_analysis import KinematicProblem, Kinematics
from multibody_cli.studies.inverse.study import OVERRIDES, Question


def kinematics(
    source: str | PathLike[str],
    motion: str | PathLike[str] | None = None,
    *,
    on: Sequence[str] = (),
    cutoff: float | None = None,
    weights: Mapping[str, float] | None = None,
    start: float | None = None,
    end: float | None = None,
    overrides: Overrides = (),
) -> Kinematics:
    """Compute a motion without forces, and its singular positions, as `mbsim kinematics` does.

    Parameters
    ----------
    source
        The scene, as for `load`.
    motion
        A table of coordinates, markers or poses, a file of markers (`.trc`), or a result file; None for the `motion` of
        joints in the scene.
    on
        Coordinates that drive; by default the first ones that determine the motion.
    cutoff
        Frequency above which the motion is filtered, Hz; None for no filter.
    weights
        Weights of markers, poses and coordinates in the fit; 1 by default.
    start, end
        First and last instant, s.
    overrides
        Values of the scene to replace, as for `load`.

    Returns
    -------
    Kinematics
        Instants, coordinates, their values, rates and accelerations (T, n) in rad or m, misfits of markers, singular
        positions, and four-bars.

    Raises
    ------
    SceneError
        The scene is invalid.
    ArgumentError
        A file, a name or a number cannot be used, or there is neither a file nor a prescribed motion.
    RunFailed
        Loops or constraints cannot be satisfied.
    """
    if isinstance(on, str):
        raise ArgumentError(f'on: expected a list of texts, as in ["{on}"]')
    prepared = load(source, [*override_texts(overrides), *OVERRIDES]).prepared
    path = None if motion is None else Path(motion)
    words = tuple(f"{name}={weight!r}" for name, weight in (weights or {}).items())
    question = Question(path, tuple(on), cutoff=cutoff, start=start, end=end, weights=words)
    return KinematicProblem(prepared, question).solve()
