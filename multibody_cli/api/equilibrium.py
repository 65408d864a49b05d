"""Static equilibrium and steady motion of scenes."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from multibody_cli.api.scene import Overrides, load, override_texts
from multibody_cli.errors import ArgumentError
from multibody_cli.studies.statics.study import OVERRIDES, StaticProblem, Statics


def equilibrium(
    source: str | PathLike[str],
    *,
    at: float | None = None,
    steady: Mapping[str, float | str | None] | None = None,
    overrides: Overrides = (),
    state: str | None = None,
    write: str | PathLike[str] | None = None,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Statics:
    """Compute the static equilibrium of a scene from its start, as `mbsim equilibrium` does.

    Parameters
    ----------
    source
        The scene, as for `load`.
    at
        Instant of prescribed motions and of inputs, s; None for the start.
    steady
        Constant rates of coordinates, rad/s or m/s; None for the rate of the start, or of a prescribed motion.
    overrides, state
        As for `load`.
    write
        Path of a scene file with this start; None writes no file.
    output
        Path of a result file with this instant; None writes no file.
    overwrite
        Whether to replace existing files.

    Returns
    -------
    Statics
        `statics["hinge"]` is the value of a coordinate, rad or m; `stability`, `is_unique`, `rows` with the forces of
        limits, loops and constraints, `points` with those of contacts, `drives`, `others`; `found` has the state, the
        residual, and the stiffness.

    Raises
    ------
    SceneError
        The scene is invalid.
    ArgumentError
        A coordinate or a file cannot be used, or a scene with contacts or dry friction has steady rates.
    RunFailed
        There is no equilibrium, or it was not found; or a file cannot be written.
    """
    texts = override_texts(overrides)
    for target in (write, output):
        if target is not None and Path(target).exists() and not overwrite:
            raise ArgumentError(f"{target} exists: use overwrite=True to replace it, or choose another name")
    prepared = load(source, [*texts, *OVERRIDES], state).prepared
    problem = StaticProblem(prepared, at, steady)
    found = problem.solve()
    if write is None and output is None:
        return found
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.studies.recording import channels_of
    from multibody_cli.studies.statics.files import record, require_scene_name, write_scene

    if write is not None:
        require_scene_name(Path(write))
        write_scene(load(source, texts, state).prepared.loaded, problem.model, found, Path(write))
    if output is not None:
        record(prepared, problem, found, Hdf5Sink(Path(output), channels_of(problem.model.names), force=overwrite))
    return found
