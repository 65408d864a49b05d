"""Where a run can be resumed: from the checkpoint of its result file, or else from the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.output.checkpoint import Checkpoint, checkpoint_path, read_checkpoint, target
from multibody_cli.output.file_replacement import without_links
from multibody_cli.output.hdf5 import Continued, part_path
from multibody_cli.output.recorded_rows import holds_rows
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.version import full_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multibody_cli.output.attributes import EarlierScene
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.studies.simulation import PreparedSimulation


@dataclass(frozen=True)
class Resumption:
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

        A step of an adaptive integrator ends at the end of the run, and chunks that are compressed depend on the number
        of rows, so that these runs begin again.

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
