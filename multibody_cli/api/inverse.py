"""Inverse dynamics of measured motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from multibody_cli.api.scene import Overrides, load, override_texts
from multibody_cli.document.source import SceneText
from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.studies.inverse.closed_contacts import SLIP
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
from multibody_cli.studies.inverse.loads import with_loads, with_option
from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question


def inverse(
    source: str | PathLike[str],
    motion: str | PathLike[str],
    *,
    loads: Sequence[str] = (),
    on: Sequence[str] = (),
    contacts: float | None = None,
    slip: float = SLIP,
    muscles: bool = False,
    passive: bool = False,
    reserve: float = 1.0,
    cutoff: float | None = None,
    weights: Mapping[str, float] | None = None,
    start: float | None = None,
    end: float | None = None,
    overrides: Overrides = (),
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> InverseDynamics:
    """Compute the forces on the coordinates of a scene that cause a motion, as `mbsim inverse` does.

    Parameters
    ----------
    source
        The scene, as for `load`.
    motion
        A table of coordinates, markers or poses (`.mot`, `.sto`, `.csv`), a file of markers (`.trc`), or a result file.
    loads
        Measured forces on bodies: files of ExternalLoads of OpenSim, or `BODY=TABLE:FORCE,POINT,TORQUE`.
    on
        Coordinates with forces; by default as many as there are degrees of freedom, those of the table first.
    contacts, slip
        Largest gap of contacts that carry forces within the friction cones, m; None for none.  And the speed above
        which they slide, m/s.
    muscles
        Whether muscles supply the forces: their activations have the least sum of squares at each instant, with closed
        contacts together with their forces over the strength of the strongest muscle.
    passive
        Whether muscles have passive forces.
    reserve
        Optimal force of the reserve actuators, which supply the part that muscles cannot, N or N m.
    cutoff
        Frequency above which the motion is filtered, Hz; None for no filter.
    weights
        Weights of markers, poses and coordinates in the fit; 1 by default.
    start, end
        First and last instant, s.
    overrides
        Values of the scene to replace, as for `load`.
    output
        Path of a result file with the motion, its forces and activations; None writes no file.
    overwrite
        Whether to replace an existing file.

    Returns
    -------
    InverseDynamics
        Instants, forces (T, c) in N or N m, activations, tensions, reserves, contacts, and misfits of markers and
        poses; `force(name)`, `activation(name)` and `contact_force(name)` return those of one coordinate, muscle or
        body.

    Raises
    ------
    SceneError
        The scene is invalid.
    ArgumentError
        A file, a name or a number cannot be used.
    RunFailed
        Loops or constraints cannot be satisfied, or the result file cannot be written.
    """
    for name, words in (("loads", loads), ("on", on)):
        if isinstance(words, str):
            raise ArgumentError(f'{name}: expected a list of texts, as in ["{words}"]')
    path: str | PathLike[str] | SceneText = source
    if loads:
        path = with_loads(Path(source), loads)
    try:
        prepared = load(path, [*override_texts(overrides), *OVERRIDES]).prepared
    except SceneError as error:
        raise with_option(error, path) if isinstance(path, SceneText) else error from None
    words = tuple(f"{name}={weight!r}" for name, weight in (weights or {}).items())
    question = Question(Path(motion), tuple(on), muscles, passive, reserve, cutoff, start, end, words, contacts, slip)
    problem = InverseProblem(prepared, question)
    if output is None:
        return problem.solve()
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.studies.inverse.recording import solve_and_record
    from multibody_cli.studies.recording import channels_of

    sink = Hdf5Sink(Path(output), channels_of(problem.drives.model.names), force=overwrite)
    return solve_and_record(prepared, problem, sink)
