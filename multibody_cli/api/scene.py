"""Scenes: loading, complete runs, and results."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multibody_cli.document.source import SceneText, StoredScene
from multibody_cli.errors import ArgumentError, RunFailed, nearest
from multibody_cli.output.channel import INSTANT
from multibody_cli.output.dataset import dataset_of
from multibody_cli.output.series import series_of
from multibody_cli.output.sink import MemorySink, Sink, TeeSink
from multibody_cli.output.trajectory import read_trajectory, sources_of
from multibody_cli.scene.load import load_scene
from multibody_cli.studies.expect import evaluate
from multibody_cli.studies.simulation import prepare
from multibody_cli.studies.verdict import Verdict
from multibody_cli.studies.wrenches import FRAMES, express_wrenches
from multibody_cli.timeline import Callbacks, Summary
from multibody_cli.yaml_values import flow

if TYPE_CHECKING:
    import xarray

    from multibody_cli.studies.simulation import PreparedSimulation as PreparedRun

Overrides = Mapping[str, Any] | Sequence[str] | None
"""Values to replace: `{"vars.n": 3, "simulation.step": "2 ms"}`, or texts `KEY=VALUE` as on the command line."""

TEXT = Path("<text>")
"""Name of a scene that is given as text, in messages."""


class SceneWarning(UserWarning):
    """A warning about a scene or a run, in the words of the command line."""


class UnsuccessfulRun(RunFailed):
    """A run that diverged, that an alarm made untrusted, or that failed an expectation of its scene.

    Parameters
    ----------
    message
        The problems, one in each line.
    results
        The run up to its end.
    """

    def __init__(self, message: str, results: xarray.Dataset) -> None:
        super().__init__(message)
        self.results = results


class Scene:
    """A scene that is ready to run; `load` makes it.

    It does not change, and can be run any number of times, also at the same time in several threads.
    """

    def __init__(self, prepared: PreparedRun) -> None:
        self.prepared = prepared

    def __repr__(self) -> str:
        return f"<mbsim.Scene {self.name}: {len(self.bodies)} bodies, {len(self.joints)} joints>"

    @property
    def name(self) -> str:
        """The name of the scene."""
        return self.prepared.scene.name

    @property
    def text(self) -> str:
        """The resolved scene as YAML: without variables, includes, repeats and overrides."""
        return self.prepared.loaded.text

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the bodies."""
        return self.prepared.compiled.model.names.bodies

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints."""
        return tuple(joint.name for joint in self.prepared.compiled.model.names.joints)

    @property
    def channels(self) -> dict[str, str]:
        """The unit of each channel of the results, by its path."""
        return {
            one.path: one.units for one in series_of(self.prepared.compiled.model.names) if one.channel.per == INSTANT
        }

    @property
    def duration(self) -> float:
        """Duration of a run, s."""
        return self.prepared.scene.simulation.duration

    @property
    def step(self) -> float:
        """Time step, s; of an adaptive integrator, the first."""
        return self.prepared.scene.simulation.step

    @property
    def n_dofs(self) -> int:
        """Number of degrees of freedom at the start, after loops and constraints."""
        return self.prepared.compiled.n_dofs

    def run(
        self,
        output: str | PathLike[str] | None = None,
        *,
        overwrite: bool = False,
        channels: Sequence[str] | None = None,
        check: bool = True,
        on_output: Callable[[float], None] = lambda _done: None,
    ) -> xarray.Dataset:
        """Run the scene from its initial state to its end.

        Parameters
        ----------
        output
            Path of a result file (HDF5), which `mbsim run` would write as well; None writes no file.
        overwrite
            Whether to replace an existing file.
        channels
            Channels to keep, such as `joints/hinge/q`, `energy` or `joints/*/v`.  By default those of the scene's
            `output.channels`, which also apply to the file.  A channel that is computed, such as `bodies/rod/com` or
            `contacts/world:box/force`, is kept with those that it is computed from.
        check
            Whether to raise an error if the run is not successful.  Otherwise the attributes `status`, `message` and
            `missed` of the results describe it.
        on_output
            Called with the number of output instants so far, and within long intervals with their fraction added.

        Returns
        -------
        xarray.Dataset
            A variable with its unit for each channel, over `time`; see `output.dataset.dataset_of`.  The attribute
            `expect` has a line for each expectation of the scene, and `missed` the number of those that failed.

        Raises
        ------
        UnsuccessfulRun
            The run diverged, an alarm made it untrusted, or an expectation failed.
        OutputError
            The result file cannot be written.
        ArgumentError
            The result file exists, or a channel does not.
        """
        if isinstance(channels, str):
            raise ArgumentError(f'expected a list of channels, as in ["{channels}"], found a text')
        settings = self.prepared.scene.output
        bodies = self.prepared.compiled.model.names.bodies
        sources = {path: found for path in channels or () if (found := sources_of(path, bodies))}
        kept: Sequence[str] | None = settings.channels
        if channels is not None:
            kept = [*(path for path in channels if path not in sources), *itertools.chain(*sources.values())]
        memory = MemorySink(kept)
        whole = memory if channels is None else MemorySink(settings.channels)
        sinks: list[Sink] = [memory] if whole is memory else [memory, whole]
        keep = None
        if output is not None:
            from multibody_cli.output.hdf5 import Hdf5Sink

            if Path(output).is_file() and not overwrite:
                raise ArgumentError(f"{output} exists: use overwrite=True to replace it, or choose another name")
            file = Hdf5Sink(Path(output), settings.channels, settings.compression, overwrite)
            sinks.append(file)
            keep = file.checkpoint
        summary = self.prepared.with_own_scratch().run(TeeSink(*sinks), Callbacks(on_output, keep=keep))
        reached_end = summary.outcome.reached_end
        verdicts = evaluate(self.prepared.scene.expect, whole.trajectory()) if reached_end else []
        results = dataset_of(memory.trajectory(), list(sources))
        results.attrs["expect"] = "\n".join(map(str, verdicts))
        results.attrs["missed"] = sum(not verdict.passed and verdict.evaluated for verdict in verdicts)
        _conclude(summary, verdicts, results, check)
        return results


def _conclude(summary: Summary, verdicts: Sequence[Verdict], results: xarray.Dataset, check: bool) -> None:
    """Warn of the alarms of a run, and raise an error if it was not successful."""
    outcome, problems = summary.outcome, []
    if not outcome.reached_end:
        problems.append(f"{outcome.status}: {outcome.message}")
    for alarm in outcome.alarms:
        if alarm.level == "failed" and outcome.reached_end:
            problems.append(str(alarm))
        elif alarm.level == "warning":
            warnings.warn(str(alarm), SceneWarning, stacklevel=3)
    problems += [str(verdict) for verdict in verdicts if verdict.evaluated and not verdict.passed]
    if check and problems:
        raise UnsuccessfulRun("\n".join(problems), results)


def load(source: str | PathLike[str] | SceneText, overrides: Overrides = (), state: str | None = None) -> Scene:
    """Load a scene.

    Parameters
    ----------
    source
        The path of a scene file, or YAML text: a `str` with a line break, or a `SceneText`.  Files that a text names
        are relative to the working directory.
    overrides
        Values to replace: a mapping from keys such as `vars.n` or `simulation.step` to values, or texts `KEY=VALUE`.
    state
        One of the initial states of the scene, by its name in `states`.

    Raises
    ------
    SceneError
        With all problems of the scene: `problems` has the place, the path and the message of each.
    ArgumentError
        The overrides are neither a mapping nor a list of texts.

    Warns
    -----
    SceneWarning
        For each warning that `mbsim run` would print.
    """
    prepared = prepare(source_of(source), option_texts(overrides, state))
    warn_of((*prepared.loaded.warnings, *prepared.compiled.warnings))
    return Scene(prepared)


def warn_of(messages: Iterable[str]) -> None:
    """Issue messages as warnings about the line that called the caller."""
    for message in messages:
        warnings.warn(message, SceneWarning, stacklevel=3)


def source_of(source: str | PathLike[str] | SceneText) -> Path | SceneText:
    """Return the path of a scene, or its text: a `str` with a line break."""
    if isinstance(source, str) and "\n" in source:
        return SceneText(source, TEXT)
    return source if isinstance(source, SceneText) else Path(source)


def option_texts(overrides: Overrides, state: str | None) -> list[str]:
    """Return overrides and the name of an initial state as `prepare` reads them."""
    return override_texts(overrides) + ([] if state is None else [f"--state={state}"])


def override_texts(overrides: Overrides) -> list[str]:
    """Return overrides as texts `KEY=VALUE`."""
    if isinstance(overrides, str):
        raise ArgumentError(f'expected a mapping or a list of overrides, as in ["{overrides}"], found a text')
    if not isinstance(overrides, Mapping):
        return list(overrides or ())
    return [f"{key}={flow(_plain(value))}" for key, value in overrides.items()]


def _plain(value: Any) -> Any:
    """Return a value without NumPy types and tuples."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def read(path: str | PathLike[str], frame: str = "joint") -> xarray.Dataset:
    """Read a result file, as `Scene.run` returns a run.

    Parameters
    ----------
    path
        The file.
    frame
        Axes of wrenches: of the `world`, of the `body` on which they act, or as recorded, those of joints and bushings
        in the axes of their own frames on the child (`joint`).

    Raises
    ------
    ResultError
        The file does not exist, is not a result file, or is damaged.
    ArgumentError
        There is no such frame.
    """
    if frame not in FRAMES:
        raise ArgumentError(f"unknown frame `{frame}`: {nearest(frame, FRAMES)}")
    trajectory = read_trajectory(Path(path))
    if frame == "joint":
        return dataset_of(trajectory)
    scene = load_scene(StoredScene(trajectory.scene_yaml, str(path))).scene
    return dataset_of(express_wrenches(trajectory, scene, frame))
