"""`mbsim plot`: interpretation of arguments, names of pictures, and messages for invalid arguments."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_result import Command, Ending

from multibody_cli.pictures import channels

Drawn = list[list[str]]


@pytest.fixture
def runs(mbsim: Command, folder: Path) -> Path:
    """A folder with two results of the pendulum."""
    assert mbsim("run", "pendulum.yaml", "-q").code == 0
    assert mbsim("run", "pendulum.yaml", "-q", "--integrator", "rk4", "-o", "outputs/rk4.h5").code == 0
    return folder


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """The requested curves: label and components of each run."""
    asked: Drawn = []
    draw = channels.draw

    def note(several: list[channels.PicturedRun], *others: Any) -> object:
        asked.extend([run.label, *map(str, run.scalars)] for run in several)
        return draw(several, *others)

    monkeypatch.setattr(channels, "draw", note)
    return asked


def assert_refused(ending: Ending, *lines: str) -> None:
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr.splitlines() == [f"error: {lines[0]}", *lines[1:]]


def test_energies_by_default(mbsim: Command, runs: Path, drawn: Drawn) -> None:
    ending = mbsim("plot", "outputs/pendulum.h5")
    assert (ending.code, ending.stdout, ending.stderr) == (0, "outputs/plots/pendulum.png\n", "")
    names = ("kinetic", "potential", "elastic", "total", "ledger_residual")
    assert drawn == [["pendulum", *(f"energy/{name}" for name in names)]]
    assert (runs / "outputs/plots/pendulum.png").read_bytes().startswith(b"\x89PNG")


def test_arguments_are_files_and_channels_in_any_order(mbsim: Command, runs: Path, drawn: Drawn) -> None:
    ending = mbsim("plot", "joints/hinge/force[f*]", "outputs/rk4.h5", "bodies/rod/com[z]", "outputs/pendulum.h5")
    assert ending.stdout == "outputs/plots/rk4-pendulum-joints-hinge-force-f-bodies-rod-com-z.png\n"
    numbers = [*(f"joints/hinge/force[{one}]" for one in ("fx", "fy", "fz")), "bodies/rod/com[z]"]
    assert drawn == [["rk4", *numbers], ["pendulum", *numbers]]


def test_a_result_may_have_any_name_and_a_folder_that_of_a_channel(mbsim: Command, runs: Path, drawn: Drawn) -> None:
    shutil.copy(runs / "outputs/rk4.h5", runs / "momentum")
    (runs / "energy").mkdir()
    assert mbsim("plot", "momentum", "energy/total", "-o", "a.svg").code == 0
    assert mbsim("plot", "momentum", "energy", "-o", "b.png").code == 0
    assert [one[0] for one in drawn] == ["momentum", "momentum"]
    assert (runs / "a.svg").read_text().startswith("<?xml")


def test_files_of_the_same_name_are_labelled_by_their_paths(mbsim: Command, runs: Path, drawn: Drawn) -> None:
    shutil.copy(runs / "outputs/rk4.h5", runs / "pendulum.h5")
    assert mbsim("plot", "pendulum.h5", "outputs/pendulum.h5", "pendulum.h5").code == 0
    assert [one[0] for one in drawn] == ["pendulum.h5", "outputs/pendulum.h5"]


def test_axes_without_a_wrench_are_remarked(mbsim: Command, runs: Path, drawn: Drawn) -> None:
    note = "--frame world has no effect: it sets the axes of wrenches, and no drawn channel is one\n"
    words = ("plot", "outputs/rk4.h5", "--frame", "world", "--force")
    assert mbsim(*words, "joints/hinge/q").stderr == note
    assert mbsim(*words, "joints/hinge/q", "joints/hinge/force[fx]").stderr == ""


def test_an_existing_picture_is_kept_unless_forced(mbsim: Command, runs: Path) -> None:
    (runs / "old.png").write_text("precious")
    words = ("plot", "outputs/rk4.h5", "-o", "old.png")
    assert_refused(mbsim(*words), "old.png exists: use --force to replace it, or -o to choose another name")
    assert (runs / "old.png").read_text() == "precious"
    assert mbsim(*words, "--force").code == 0
    assert (runs / "old.png").read_bytes().startswith(b"\x89PNG")


def test_a_result_is_never_overwritten(mbsim: Command, runs: Path) -> None:
    shutil.copy(runs / "outputs/rk4.h5", runs / "run.png")
    ending = mbsim("plot", "run.png", "-o", "run.png", "--force")
    assert_refused(ending, "run.png is a result file, not a picture: use another name with -o")


def test_a_run_that_diverged_is_drawn_to_its_end(mbsim: Command, runs: Path) -> None:
    assert mbsim("run", "stiff.yaml", "-q").code == 1
    ending = mbsim("plot", "outputs/stiff.h5", "-o", "stiff.svg")
    assert (ending.code, ending.stderr) == (0, "")


def test_omitted_lines_are_reported_on_stderr(mbsim: Command, runs: Path) -> None:
    ending = mbsim("plot", "-q", "outputs/rk4.h5", "outputs/pendulum.h5", "bodies/rod/position", "bodies/rod/com")
    assert (ending.code, ending.stderr) == (0, "")
    body = "{mass: 1, inertia: {principal: [1, 1, 1]}}"
    bodies = f"bodies={{a: {body}, b: {body}, c: {body}}}"
    assert mbsim("run", "pendulum.yaml", "-q", "--set", bodies, "--set", "joints={}", "-o", "many.h5").code == 0
    ending = mbsim("plot", "-q", "many.h5", "outputs/rk4.h5", "bodies/position")
    assert ending.code == 0
    # three coordinates of four bodies, of which there are seven colors
    assert ending.stderr.startswith("warning: bodies/*/position: 5 of 12 lines are omitted")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["outputs/rk5.h5"], ["outputs/rk5.h5 does not exist: did you mean `outputs/rk4.h5`?"]),
        (["rk4"], ["no result file `rk4`: did you mean `outputs/rk4.h5`?"]),
        (
            ["nothing/like/it"],
            ["no result file `nothing/like/it`: name a file written by `mbsim run`, as in outputs/swing.h5"],
        ),
        (["outputs"], ["outputs is a folder, not a result file"]),
        (["pendulum.yaml"], ["pendulum.yaml is not a result file: it is not an HDF5 file"]),
        (
            ["outputs/rk4.h5", "joints/hing/q", "energy/totl"],
            [
                "outputs/rk4.h5 has no channel or group `joints/hing/q`: did you mean `joints/hinge/q`?",
                "outputs/rk4.h5 has no channel or group `energy/totl`: did you mean `energy/total`?",
            ],
        ),
        (
            ["outputs/rk4.h5", "joints/hinge/force[fq]"],
            ["outputs/rk4.h5: joints/hinge/force has no component `fq`: valid: fx, fy, fz, mx, my, mz"],
        ),
        (["outputs/rk4.h5", "-o", "a.jpg"], ["a.jpg: a picture is named *.png, *.svg or *.pdf"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_channels_that_cannot_be_drawn_are_reported(
    mbsim: Command, runs: Path, words: list[str], lines: list[str]
) -> None:
    assert_refused(mbsim("plot", *words), *lines)
    assert not (runs / "outputs/plots").exists()


def test_a_misspelled_file_name_is_reported_as_file_and_as_channel(mbsim: Command, runs: Path) -> None:
    ending = mbsim("plot", "outputs/rk4.h5", "outputs/pendulum.h")
    assert ending.code == 2
    assert ending.stderr.splitlines()[-1] == (
        "no file `outputs/pendulum.h` either: did you mean `outputs/pendulum.h5`?"
    )


def test_too_many_files_are_refused(mbsim: Command, runs: Path) -> None:
    names = [f"{k}.h5" for k in range(channels.MOST_RUNS + 1)]
    for name in names:
        shutil.copy(runs / "outputs/rk4.h5", runs / name)
    assert_refused(mbsim("plot", *names), "7 files are too many for one picture: the maximum is 6")


def test_a_file_in_place_of_the_folder_is_reported(mbsim: Command, runs: Path) -> None:
    ending = mbsim("plot", "outputs/rk4.h5", "-o", "pendulum.yaml/a.png")
    assert (ending.code, ending.stdout) == (1, "")
    assert ending.stderr.startswith("error: cannot write pendulum.yaml/a.png: ")
    assert "choose another place" in ending.stderr


def test_a_folder_as_a_picture_is_refused(mbsim: Command, runs: Path) -> None:
    ending = mbsim("plot", "outputs/rk4.h5", "-o", "outputs")
    assert ending.code == 2
    assert "directory" in ending.stderr


def test_without_matplotlib_the_error_names_the_package_to_install(
    mbsim: Command, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ending = mbsim("plot", "outputs/rk4.h5")
    assert_refused(ending, "pictures need matplotlib: pip install 'multibody-cli[plot]'")


def test_an_unknown_backend_is_reported(
    start: Callable[..., subprocess.Popen[str]], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "paper")
    process = start("plot", "outputs/rk4.h5")
    _, stderr = process.communicate(timeout=60)
    assert stderr.startswith("error: matplotlib is misconfigured: ")
    assert "Traceback" not in stderr


def test_a_phase_plane_in_a_range_of_time(mbsim: Command, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[channels.PicturedRun] = []
    draw = channels.draw

    def note(several: list[channels.PicturedRun], *others: Any) -> object:
        seen.extend(several)
        return draw(several, *others)

    monkeypatch.setattr(channels, "draw", note)
    words = ("plot", "outputs/rk4.h5", "joints/hinge/v", "--from", "20ms", "--to", "0.05", "-o", "a.pdf")
    assert mbsim(*words, "--x", "joints/hinge/q").code == 0
    [run] = seen
    assert str(run.x) == "joints/hinge/q"
    assert run.instants is not None
    assert run.instants.tolist() == [2, 3, 4, 5]
    assert (runs / "a.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--x", "joints/hinge/force[f*]"),
            "--x joints/hinge/force[f*] selects 3 scalars: name one of joints/hinge/force[fx]",
        ),
        (("--x", "joints/hing/q"), "did you mean `joints/hinge/q`?"),
        (("--differences",), "--differences requires two or more files"),
        (("--from", "1s"), "has no output instant from 1 s to 0.1 s: it has 11 from 0 s to 0.1 s"),
    ],
)
def test_invalid_options_are_refused(mbsim: Command, runs: Path, words: tuple[str, ...], message: str) -> None:
    ending = mbsim("plot", "outputs/rk4.h5", "energy", *words)
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr


def test_long_names_of_pictures_are_counted_and_not_cut(mbsim: Command, runs: Path) -> None:
    words = [f"joints/hinge/{name}" for name in ("q", "v", "acceleration", "force", "constraint_error")]
    assert mbsim("plot", "outputs/rk4.h5", *words).stdout == (
        "outputs/plots/rk4-joints-hinge-q-joints-hinge-v-joints-hinge-acceleration-joints-hinge-force-"
        "joints-hinge-constraint_error.png\n"
    )
    shutil.copy(runs / "outputs/rk4.h5", runs / f"{'n' * 150}.h5")
    ending = mbsim("plot", f"{'n' * 150}.h5", "joints/hinge/q", "joints/hinge/v", "energy/total")
    assert ending.stdout == f"outputs/plots/{'n' * 150}-joints-hinge-q-and-2-more.png\n"


def test_a_muscle_is_drawn_alone_by_its_name(mbsim: Command, runs: Path) -> None:
    ending = mbsim("plot", "outputs/pendulum.h5", "--muscle", "biceps")
    assert_refused(ending, "outputs/pendulum.h5 has no muscle `biceps`: none is defined")
    both = mbsim("plot", "outputs/pendulum.h5", "outputs/rk4.h5", "--muscle", "biceps")
    assert_refused(both, "--muscle draws one file alone, with --style and -o")
