"""Runs that go on: from the checkpoint of their result file, or with another scene from an output instant (branches).

A result file does not contain the state that a method carries, such as warm starts of contacts. A branch therefore
repeats the earlier scenes from 0 s, with the same bytes, and goes on from the checkpoint of the repeated run. If
the motion of the scene is unchanged, the whole carried state is kept. Otherwise the method of the new scene starts at
the instant from time, q, v and ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from multibody_cli.alarms.record import RunRecord
from multibody_cli.document.source import StoredScene
from multibody_cli.errors import ArgumentError, QuantityError, ResultError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.output.attributes import EARLIER, EarlierScene
from multibody_cli.output.carried_state import collect, restore
from multibody_cli.output.checkpoint import Checkpoint, checkpoint_path, read_checkpoint, target
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.file_replacement import without_links
from multibody_cli.output.hdf5 import Continued, Hdf5Sink, part_path
from multibody_cli.output.history import History
from multibody_cli.output.observers import observe
from multibody_cli.output.recorded_rows import holds_rows
from multibody_cli.output.recorder import RunPosition
from multibody_cli.output.samples import samples_for
from multibody_cli.output.series import series_of
from multibody_cli.output.trajectory import Trajectory, read_trajectory
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.simulation import OutputSpec
from multibody_cli.spec import Quantity, units
from multibody_cli.studies.simulation import PreparedSimulation, prepare
from multibody_cli.timeline import Callbacks
from multibody_cli.version import described, full_version


def earlier_scenes(run: Trajectory, recorded: PreparedSimulation, time: str) -> tuple[EarlierScene, ...]:
    """Return the scenes that a branch of a run follows before an instant.

    Parameters
    ----------
    run, recorded
        A result file, and its scene.
    time
        The instant, with a unit of time or in s.

    Raises
    ------
    ArgumentError
        The text is not a time, or not an output instant of the run, or events change the scene.
    """
    if any(event.changes for event in recorded.scene.events.values()):
        raise ArgumentError(
            f"{run.source} has events that change the scene, of which no checkpoint is kept: run the changed scene "
            "from its start instead"
        )
    try:
        given = Quantity(units.TIME, least=0.0).read(time)
        until = recorded.compiled.timing.index_of(given) * recorded.compiled.timing.every
    except QuantityError as error:
        raise ArgumentError(f"--from {time}: {error}") from None
    reached = float(run.time[-1]) if run.time.size else 0.0
    if until > reached * (1.0 + 1e-12):
        raise ArgumentError(f"--from {time}: {run.source} has reached {reached:.9g} s: give an earlier instant")
    scenes = [*run.earlier, EarlierScene(run.scene_yaml, until)]
    last = next(k for k, scene in enumerate(scenes) if scene.until >= until)
    return (*scenes[:last], scenes[last]._replace(until=until))


@contextmanager
def repeated(
    earlier: Sequence[EarlierScene],
    simulation: PreparedSimulation,
    stop_asked: Callable[[], bool] = lambda: False,
    on_output: Callable[[float], None] = lambda _done: None,
) -> Iterator[tuple[PreparedSimulation, Continued | None]]:
    """Repeat the earlier scenes of a branch, and yield its simulation and the run that it continues.

    The simulation contains the earlier scenes whose motion differs. Without earlier scenes it continues none.

    Parameters
    ----------
    earlier
        The earlier scenes, in the order of time.
    simulation
        The scene after them.
    stop_asked, on_output
        As in `timeline.Callbacks`.

    Raises
    ------
    ResultError
        A scene ends before its time, or the next one has other channels or coordinates.
    KeyboardInterrupt
        `stop_asked` returned True.
    """
    if not earlier:
        yield simulation, None
        return
    stored = [StoredScene(scene.scene_yaml, "the result file", EARLIER) for scene in earlier]
    with TemporaryDirectory(prefix="mbsim-") as folder:
        rows, continued, changed = Path(folder) / "rows.h5", None, []
        scenes = list(map(prepare, stored))
        for one, following, scene in zip(scenes, [*scenes[1:], simulation], earlier, strict=True):
            _require_same_layout(one, following)
            checkpoint = _run_up_to(one, scene.until, rows, continued, stop_asked, on_output)
            if _motion_of(one) != _motion_of(following):
                checkpoint = _change_scene(checkpoint, following)
                changed.append(scene)
            continued = Continued(rows, checkpoint)
        yield replace(simulation, earlier=tuple(changed)), continued


def require_same_rows(run: Trajectory, continued: Continued) -> None:
    """Refuse to continue from a repeated run that differs from the recorded one.

    Raises
    ------
    ResultError
        Rows differ.
    """
    checkpoint = continued.checkpoint
    if not holds_rows(Path(run.source), checkpoint.instants, checkpoint.checksums):
        written = described(run.attributes["mbsim_version"], run.attributes.get("mbsim_commit", ""))
        raise ResultError(
            f"{run.source}: its rows differ from those of the repeated run: it is damaged, or was written on another "
            f"processor or by another version (mbsim {written}; this is {full_version()}). Run "
            "the scene again, and branch from the new file"
        )


def _motion_of(simulation: PreparedSimulation) -> SceneSpec:
    """Return a scene without the parts that do not affect the motion.

    Steps of an adaptive integrator depend on the duration.
    """
    scene, duration = simulation.scene, 0.0
    if simulation.integrator.adaptive or scene.depends_on_duration:
        duration = scene.simulation.duration
    settings = scene.simulation.model_copy(update={"duration": duration, "alarms": {}})
    rest = {"name": "", "description": "", "expect": [], "output": OutputSpec()}
    return scene.model_copy(update={"simulation": settings, **rest})


def _require_same_layout(before: PreparedSimulation, after: PreparedSimulation) -> None:
    """Refuse a scene whose rows or coordinates differ from those of the scene before.

    Raises
    ------
    ResultError
        With the first difference.
    """
    one, other = (dict(_layout(simulation)) for simulation in (before, after))
    differing = next((name for name in {**one, **other} if one.get(name) != other.get(name)), None)
    if differing is not None:
        raise ResultError(
            f"a branch keeps bodies, joints, elements, coordinates and `output`, but {differing} differs: run the "
            "changed scene from its start instead"
        )


def _layout(simulation: PreparedSimulation) -> Iterator[tuple[str, object]]:
    model, timing = simulation.compiled.model, simulation.compiled.timing
    yield "the output interval", f"{timing.every:.9g} s"  # the product of step and steps is rounded
    yield "the list of coordinates", (model.nq, model.nv, model.names.coordinates)
    yield "the list of elastic tendons", len(model.system.forces.states)
    yield "`output.channels`", simulation.scene.output.channels
    for series in series_of(model.names):
        yield f"channel `{series.path}`", (series.units, series.labels)


def _run_up_to(
    simulation: PreparedSimulation,
    until: float,
    rows: Path,
    continued: Continued | None,
    stop_asked: Callable[[], bool],
    on_output: Callable[[float], None],
) -> Checkpoint:
    """Run a scene up to an output instant, s, and return the checkpoint there."""
    compiled, done = simulation.compiled, 0.0
    last = compiled.timing.index_of(until)

    def note(instants: float) -> None:
        nonlocal done
        done = instants
        on_output(instants)

    timing = replace(compiled.timing, outputs=last + 1)  # the run is interrupted at the last instant, also at its end
    sink = Hdf5Sink(rows, simulation.scene.output.channels, force=True, continued=continued)
    carried = continued.checkpoint.values if continued else None
    callbacks = Callbacks(note, lambda: done >= last + 1 or stop_asked(), sink.checkpoint)
    outcome = simulation.with_compiled(timing=timing).run(sink, callbacks, carried).outcome
    if outcome.status != "interrupted":
        raise ResultError(f"the repeated run ended before {until:.9g} s: {outcome.message}")
    checkpoint = read_checkpoint(rows)
    if checkpoint is None or checkpoint.instants <= last:
        raise KeyboardInterrupt
    return checkpoint


def _change_scene(checkpoint: Checkpoint, simulation: PreparedSimulation) -> Checkpoint:
    """Return the checkpoint from which another scene goes on: its method starts at the state of the checkpoint."""
    model, state = simulation.compiled.model, simulation.fresh_state()
    progress, record, history = RunPosition(), RunRecord(model, simulation.run_settings()), History(model.names)
    method = simulation.method_for(state)
    holders = {"state": state, "method": method, "progress": progress, "record": record}
    values = {path: value for path, value in checkpoint.values.items() if not path.startswith("method/")}
    changed = {path: value for path, value in values.items() if path.partition("/")[0] in holders}
    restore({name: holder for name, holder in holders.items() if name != "method"}, changed)
    restore({"history": history}, checkpoint.history)
    progress.earlier_steps = progress.report.steps
    method.start(state)
    samples = samples_for(model.names, 1)
    observe(model.system, state, method.work, element_rows(model), samples, 0)
    record.add_energy(history.change_scene(samples))
    return replace(checkpoint, values=values | collect(holders), history=collect({"history": history}))


class Resumption(Immutable):
    """A run to be resumed.

    Parameters
    ----------
    result
        The result file.
    scene_yaml
        The resolved scene.
    is_complete, reached
        Whether the recorded run is complete, and its last instant, s.
    continued
        The recorded rows and the checkpoint; None if the run begins again at the start.
    remark
        The reason why it begins again; empty if it does not.
    earlier
        The earlier scenes, if the run is a branch.
    """

    result: Path
    scene_yaml: str
    is_complete: bool
    reached: float
    continued: Continued | None
    remark: str = ""
    earlier: tuple[EarlierScene, ...] = ()

    def overrides(self, durations: Sequence[str], simulation: PreparedSimulation) -> list[str]:
        """Return the values of the scene to replace for another duration; the output instants remain the same.

        Parameters
        ----------
        durations
            The override of `simulation.duration`, or nothing.
        simulation
            The recorded scene.

        Raises
        ------
        ArgumentError
            The run is complete, and there is no duration.
        """
        if not durations:
            if self.is_complete:
                raise ArgumentError(
                    f"{self.result} is complete: give more than {self.reached:g} s with --duration to continue it"
                )
            return []
        return [*interval_of(simulation), *durations]

    def extended(self, simulation: PreparedSimulation) -> Resumption:
        """Return the resumption for a scene with another duration.

        A step of an adaptive integrator ends at the end of the run, chunks that are compressed depend on the number of
        rows, and activations follow their excitations up to the end, so that these runs begin again.

        Raises
        ------
        ArgumentError
            The recorded run has passed the duration.
        """
        duration = simulation.scene.simulation.duration
        if duration <= self.reached:
            raise ArgumentError(f"--duration {duration:g} s: {self.result} has reached {self.reached:g} s")
        cause = ""
        if simulation.integrator.adaptive:
            cause = f"the steps of `{simulation.integrator.name}` depend on the duration"
        elif simulation.scene.output.compression != "none":
            cause = "compressed rows are grouped by the duration"
        elif simulation.scene.depends_on_duration:
            cause = "activations that follow an `excitation` are computed for the duration"
        return replace(self, continued=None, remark=_begin_again(cause)) if cause else self


def find_resumption(path: Path) -> Resumption:
    """Return where the run of a result file, or of the `.part` file of a killed run, can be resumed.

    Raises
    ------
    ResultError
        There is no such run, it diverged, it is still in progress, or its checkpoint cannot be used.
    """
    if path.is_dir():
        raise ResultError(f"{path} is a folder, not a result file")
    result = path.with_suffix("") if path.suffix == ".part" else path
    result = without_links(result)
    source = part_path(result) if part_path(result).exists() else result
    checkpoint = read_checkpoint(result)
    try:
        run = read_trajectory(source)
    except ResultError:
        if checkpoint is None or not source.exists():
            raise
        remark = _begin_again(f"{source} is damaged")
        return Resumption(result, checkpoint.scene_yaml, False, 0.0, None, remark, checkpoint.earlier)
    status = str(run.attributes["status"])
    if status == "diverged":
        raise ResultError(
            f"{source}: the run diverged, and would diverge again: {run.attributes['message']} "
            f"Run the scene with other settings: `mbsim run {source} --step TIME -o FILE`"
        )
    if run.certificate is not None:
        raise ResultError(
            f"{source} has a certificate, which holds for this duration alone: certify the longer run with "
            f"`mbsim certify {source} --duration TIME -o FILE`"
        )
    reached = float(run.time[-1]) if run.time.size else 0.0
    is_complete = source == result and status in ("complete", "untrusted")
    found = Resumption(result, run.scene_yaml, is_complete, reached, None, earlier=run.earlier)
    if checkpoint is None:
        missing = f"{checkpoint_path(result)} does not exist, as after a run of less than 10 s"
        return replace(found, remark=_begin_again(missing))
    _require_same_program(result, checkpoint, run)
    if not holds_rows(source, checkpoint.instants, checkpoint.checksums):
        return replace(found, remark=_begin_again(f"{source} was damaged and lacks rows of its checkpoint"))
    return replace(found, continued=Continued(source, checkpoint))


def interval_of(simulation: PreparedSimulation) -> list[str]:
    """Return the override that states the output interval of a scene, unless the scene states it."""
    return [] if simulation.scene.output.every else [f"output.every={simulation.compiled.timing.every!r} s"]


def _begin_again(cause: str) -> str:
    return f"{cause}: the run begins again at 0 s"


def _require_same_program(result: Path, checkpoint: Checkpoint, run: Trajectory) -> None:
    """Refuse a checkpoint of another scene, version or processor."""
    path, again = checkpoint_path(result), "delete it to begin again at 0 s"
    if checkpoint.scene_sha256 != run.attributes["scene_sha256"]:
        raise ResultError(f"{path} is the checkpoint of another scene than that of {run.source}: {again}")
    if checkpoint.mbsim_version != full_version():
        raise ResultError(
            f"{path} was written by mbsim {checkpoint.mbsim_version}, and this is {full_version()}, whose results may "
            f"differ: use that version, or {again}"
        )
    if checkpoint.target != target():
        raise ResultError(
            f"{path} was written by code for {checkpoint.target}, and this machine uses code for {target()}, whose "
            f"round-off differs: set MBSIM_TARGET_CPU, or {again}"
        )
