"""`mbsim run`: result files, messages and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_result import Command

from multibody_cli import read_trajectory
from multibody_cli.cli.app import VERBS
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS

MET = "expect=[{at: final, channel: joints/hinge/q, value: 0.45, atol: 0.2}]"
MISSED = "expect=[{at: final, channel: joints/hinge/q, value: 2.0, atol: 1e-3}]"


def test_the_default_result_is_named_after_the_scene(mbsim: Command, folder: Path) -> None:
    ending = mbsim("run", "pendulum.yaml")
    assert ending.code == 0
    assert "outputs/pendulum.h5" in ending.stdout
    run = read_trajectory(folder / "outputs" / "pendulum.h5")
    assert run.attributes["status"] == "complete"
    np.testing.assert_allclose(run.time, np.linspace(0, 0.1, 11), atol=1e-15)


def test_a_run_imports_only_what_it_needs(mbsim: Command, folder: Path) -> None:
    """Neither packages that other verbs use, nor entries of catalogues that the scene lacks, nor contacts."""
    assert mbsim("run", "pendulum.yaml").code == 0  # its kernels are compiled from now on
    program = (
        "import sys\nfrom multibody_cli.cli.app import main\n"
        'try: main(["run", "pendulum.yaml", "--force", "--quiet"])\nexcept SystemExit as end: assert not end.code\n'
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].split())
    assert "multibody_cli.timeline" in imported
    own = {name.removeprefix("multibody_cli.") for name in imported if name.startswith("multibody_cli.")}
    assert not imported & {"numba", "scipy", "sympy", "pint", "matplotlib", "tqdm", "multiprocessing", "xarray"}
    own -= {"contact_solver", "contact_solver.laws"}  # the catalogue of laws, whose names are those of a scene
    rooms = {name.partition(".")[0] for name in own}
    assert not rooms & {"api", "codegen", "comparison", "contact_solver", "equations", "lanes", "peers", "pictures",
                        "render", "variational"}  # fmt: skip
    assert {name for name in own if name.startswith("kernel.comp")} == set()
    verbs, others = {f"cli.{verb}" for verb in VERBS}, {"studies.sweep", "studies.bench", "studies.doctor"}
    assert own & (verbs | others | {"kernel.workers", "contacts.detect"}) == {"cli.run"}
    entries = {f"methods.{name}" for name in METHODS} | {f"methods.integrators.{name}" for name in INTEGRATORS}
    assert own & entries == {"methods.aba", "methods.integrators.rk4"}
    actuators = {name for name in own if name.startswith("actuators.")}
    assert actuators <= {"actuators.contract", "actuators.controllers", "actuators.computed_torque"}


def test_a_result_names_the_commit_of_the_program(
    mbsim: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for commit, attributes in (("0123456789ab", {"mbsim_commit": "0123456789ab"}), ("", {})):
        monkeypatch.setattr("multibody_cli.studies.simulation.commit", lambda commit=commit: commit)
        assert mbsim("run", "pendulum.yaml", "--force").code == 0
        found = read_trajectory(folder / "outputs/pendulum.h5").attributes
        assert {name: found[name] for name in found if name == "mbsim_commit"} == attributes


def test_options_are_short_forms_of_set(mbsim: Command, folder: Path) -> None:
    assert (
        mbsim("run", "pendulum.yaml", "--step", "2 ms", "--duration", "0.2", "--integrator", "rk4", "-o", "a.h5").code
        == 0
    )
    long_forms = ["simulation.step=2 ms", "simulation.duration=0.2", "simulation.integrator=rk4"]
    assert mbsim("run", "pendulum.yaml", *(f"--set={form}" for form in long_forms), "-o", "b.h5").code == 0
    assert (folder / "a.h5").read_bytes() == (folder / "b.h5").read_bytes()
    attributes = read_trajectory(folder / "a.h5").attributes
    assert (attributes["step"], attributes["duration"], attributes["integrator"]) == (2e-3, 0.2, "rk4")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--step", "10", "--step 10: simulation.step: expected `duration`, 0.1 s, to be a multiple of `step`, 10 s"),
        ("--duration", "1 kg", "--duration 1 kg: simulation.duration: expected a time"),
        ("--integrator", "rk5", "--integrator rk5: simulation.integrator: unknown integrator `rk5`"),
        ("--method", "abba", "--method abba: simulation.method: unknown method `abba`"),
    ],
)
def test_a_problem_of_an_option_names_the_option(mbsim: Command, option: str, value: str, message: str) -> None:
    end = mbsim("run", "pendulum.yaml", option, value)
    assert (end.code, message in end.stderr, "--set" in end.stderr) == (2, True, False), end.stderr
    long = mbsim("run", "pendulum.yaml", "--set", f"simulation.{option[2:]}={value}")
    assert f"--set simulation.{option[2:]}={value}: simulation.{option[2:]}: " in long.stderr


def test_a_warning_about_an_option_names_the_option(mbsim: Command) -> None:
    end = mbsim("run", "pendulum.yaml", "--set", "expect=[{at: 0.1, channel: time, value: 0.1, atol: 1}]")
    assert end.code == 0
    shorter = mbsim("run", "outputs/pendulum.h5", "--duration", "50 ms", "-o", "b.h5")
    assert "--duration 50 ms: simulation.duration: 1 of 1 expectations refer to later times" in shorter.stderr


def test_problems_of_a_stored_scene_name_the_result_file(mbsim: Command, folder: Path) -> None:
    """The place is that in the text of the dataset."""
    assert mbsim("run", "pendulum.yaml", "--set", "simulation.tolerance=1e-6", "-o", "run.h5").code == 0
    text = read_trajectory(folder / "run.h5").scene_yaml.splitlines()
    line = next(k for k, words in enumerate(text, 1) if words.startswith("  tolerance:"))
    place = f"run.h5:/scene/yaml:{line}:{text[line - 1].index(':') + 3}: simulation.tolerance: has no effect"
    for words in (
        ["run", "run.h5", "-o", "again.h5"],
        ["rerun", "run.h5"],
        ["run", "--resume", "run.h5", "--duration", "0.2 s"],
    ):
        assert place in mbsim(*words).stderr
    line = next(k for k, words in enumerate(text, 1) if words.startswith("  hinge:"))
    for words in (["certify", "run.h5", "-o", "c.h5"], ["doctor", "run.h5"], ["run", "run.h5", "-o", "d.h5"]):
        end = mbsim(*words, "--set", "joints.hinge.child=pod")
        assert (end.code, "unknown body `pod`" in end.stderr) == (2, True)
        end = mbsim(*words, "--set", "bodies.rod.mass=null", "--set", "simulation.tolerance=none")
        assert (end.code, "run.h5:/scene/yaml:" in end.stderr) == (2, True), end.stderr
        assert "mbsim-" not in end.stderr


def test_alarms_of_the_start_are_in_the_file_and_not_repeated_at_the_end(mbsim: Command, folder: Path) -> None:
    unstable = ["stiff.yaml", "--set", "joints.slide.stiffness=1e5", "--set", "simulation.duration=0.1 s"]
    end = mbsim("run", *unstable, "-o", "run.h5")
    assert end.stderr.count("exceeds the stability limit") == 1
    recorded = json.loads(str(read_trajectory(folder / "run.h5").attributes["alarms"]))
    assert recorded[0]["name"] == "stability"
    shown = mbsim("info", "run.h5").stdout
    assert "stability" in shown
    assert str(recorded[0]["remedy"]) in shown


def test_the_same_run_gives_the_same_bytes_also_from_its_own_result(mbsim: Command, folder: Path) -> None:
    for source, result in (("pendulum.yaml", "a.h5"), ("pendulum.yaml", "b.h5"), ("a.h5", "c.h5")):
        assert mbsim("run", source, "-o", result).code == 0
    first, second, third = ((folder / name).read_bytes() for name in ("a.h5", "b.h5", "c.h5"))
    assert first == second
    assert first == third


def test_an_existing_result_is_kept_unless_forced(mbsim: Command, folder: Path) -> None:
    (folder / "old.h5").write_text("precious")
    ending = mbsim("run", "pendulum.yaml", "-o", "old.h5")
    assert (ending.code, ending.stdout) == (2, "")
    assert "--force" in ending.stderr
    assert (folder / "old.h5").read_text() == "precious"
    assert mbsim("run", "pendulum.yaml", "-o", "old.h5", "--force").code == 0
    assert read_trajectory(folder / "old.h5").attributes["status"] == "complete"


@pytest.mark.parametrize("verb", ["run", "certify", "rerun"])
@pytest.mark.parametrize("name", ["r.csv", "r.json", "r.H5", "r"])
def test_a_result_under_the_name_of_another_format_is_refused(
    mbsim: Command, folder: Path, verb: str, name: str
) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "old.h5").code == 0
    ending = mbsim(verb, "old.h5", "-o", name)
    remedy = "write r.h5, and make other files from it, as with `mbsim export r.h5 -o r.csv`"
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr == f"error: {name}: results are written as HDF5, in files *.h5 or *.hdf5: {remedy}\n"
    assert not Path(name).exists()


@pytest.mark.parametrize("words", [("--method", "aba", "--method", "redmax"), ("-o", "a.h5", "--output", "b.h5")])
def test_an_option_with_two_values_is_refused(mbsim: Command, folder: Path, words: tuple[str, ...]) -> None:
    ending = mbsim("run", "pendulum.yaml", *words)
    assert (ending.code, ending.stdout) == (2, "")
    assert f"{'--output' if '-o' in words else '--method'} is given twice: give it once." in ending.stderr
    assert mbsim("run", "pendulum.yaml", "--force", "--force", "-q", "-q", "-o", "a.h5").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "gravity=[0, 0, -1]", "--set", "gravity=[0, 0, -2]"), "--set gravity is given twice: give it once."),
        (
            ("--step", "1 ms", "--set", "simulation.step=2 ms"),
            "--step and --set simulation.step are given: give one of them.",
        ),
    ],
)
def test_a_key_with_two_values_is_refused(mbsim: Command, folder: Path, words: tuple[str, ...], message: str) -> None:
    ending = mbsim("run", "pendulum.yaml", *words)
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr


def test_a_variable_without_its_section_is_named(mbsim: Command, folder: Path) -> None:
    ending = mbsim("run", "pendulum.yaml", "--set", "angle=2")
    assert ending.code == 2
    assert "--set angle=2: angle: unknown key `angle`; did you mean the variable `vars.angle`?" in ending.stderr


def test_the_scene_itself_is_never_overwritten(mbsim: Command, folder: Path) -> None:
    before = (folder / "pendulum.yaml").read_text()
    ending = mbsim("run", "pendulum.yaml", "-o", "./pendulum.yaml", "--force")
    assert ending.code == 2
    assert "is the scene itself" in ending.stderr
    assert (folder / "pendulum.yaml").read_text() == before


def test_an_unwritable_result_is_reported_before_the_run(mbsim: Command, folder: Path) -> None:
    (folder / "file").touch()
    ending = mbsim("run", "pendulum.yaml", "-o", "file/result.h5")
    assert ending.code == 1
    assert "choose another place with -o" in ending.stderr
    ending = mbsim("run", "pendulum.yaml", "-o", ".")
    assert ending.code == 2
    assert "directory" in ending.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_reported(mbsim: Command, folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    ending = mbsim("run", "pendulum.yaml", "-o", "locked/result.h5")
    assert ending.code == 1
    assert "you may not write there" in ending.stderr


def test_every_expectation_is_reported_with_its_value(mbsim: Command) -> None:
    ending = mbsim("run", "pendulum.yaml", "--set", MET)
    assert ending.code == 0
    [line] = [line for line in ending.stdout.splitlines() if "expect" in line]
    assert "pass" in line
    assert "found 0.4" in line
    assert "0.45" in line


def test_a_failed_expectation_ends_with_1(mbsim: Command, folder: Path) -> None:
    ending = mbsim("run", "pendulum.yaml", "--set", MISSED)
    assert ending.code == 1
    assert "FAIL" in ending.stdout
    assert read_trajectory(folder / "outputs/pendulum.h5").attributes["status"] == "complete"


def test_json_contains_the_summary(mbsim: Command) -> None:
    ending = mbsim("run", "pendulum.yaml", "--set", MISSED, "--json")
    data = json.loads(ending.stdout)
    assert ending.code == data["exit_code"] == 1
    assert (data["bodies"], data["joints"], data["n_dofs"]) == (1, 1, 1)
    assert (data["steps"], data["instants"], data["status"]) == (100, 11, "complete")
    assert data["result"] == "outputs/pendulum.h5"
    assert data["energy_drift"] < 0.1
    [verdict] = data["expect"]
    assert verdict["passed"] is False
    assert verdict["wanted"] == 2.0


def test_quiet_leaves_stderr_empty(mbsim: Command) -> None:
    assert mbsim("run", "pendulum.yaml", "-q").stderr == ""


def test_verbose_adds_lines(mbsim: Command) -> None:
    stderr = mbsim("run", "pendulum.yaml", "-v").stderr
    assert "pendulum.yaml: read and compiled in" in stderr
    assert "compiled code is kept in" in stderr


def test_scenery_without_contacts_is_warned_of(mbsim: Command) -> None:
    ending = mbsim("run", "pendulum.yaml", "-q", "--set", "world={shapes: [{type: plane}]}")
    assert ending.code == 0
    assert "warning: " in ending.stderr


def test_a_run_that_diverges_ends_with_1_and_a_valid_file(mbsim: Command, folder: Path) -> None:
    ending = mbsim("run", "stiff.yaml")
    assert ending.code == 1
    assert "slide" in ending.stderr
    assert "Traceback" not in ending.stderr
    run = read_trajectory(folder / "outputs/stiff.h5")
    assert run.attributes["status"] == "diverged"
    assert np.isfinite(run.channel("joints/slide/q").values).all()
    assert not (folder / "outputs/stiff.h5.part").exists()


def test_a_run_with_more_adaptive_steps_than_the_limit_states_how_to_raise_it(
    mbsim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MBSIM_LIMITS", "steps=20")
    spinning = ("--integrator", "dop853", "--set", "joints.hinge.v=1e6 rad/s")
    ending = mbsim("run", "pendulum.yaml", *spinning)
    assert ending.code == 1
    assert "after 20 adaptive steps, which is the limit; joint hinge changes fastest" in ending.stderr
    assert "MBSIM_LIMITS=steps=200" in ending.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_ends_with_the_code_of_the_signal_and_a_valid_file(
    number: signal.Signals, start: Callable[..., subprocess.Popen[str]], folder: Path
) -> None:
    process = start("run", "pendulum.yaml", "--duration", "100000 s", "-o", "long.h5")
    part = folder / "long.h5.part"
    for _ in range(600):
        if part.exists() and part.stat().st_size:
            break
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert "Traceback" not in stderr
    assert "interrupted" in stdout
    run = read_trajectory(folder / "long.h5")
    assert run.attributes["status"] == "interrupted"
    assert 0 < run.time.size < 10_000_000
    assert np.isfinite(run.channel("energy/total").values).all()


def test_the_summary_shows_a_stable_step_that_is_near(mbsim: Command) -> None:
    """The hinge alone has a spring k and the inertia I: sqrt(8 I/k) with `rk4`."""
    words = ("run", "pendulum.yaml", "--force", "--set", "expect=[]")
    far = json.loads(mbsim(*words, "--json").stdout)["stable_step"]
    assert "stable up to" not in mbsim(*words).stdout
    stiff = (*words, "--set", "joints.hinge.stiffness=1e5")
    near = json.loads(mbsim(*stiff, "--json").stdout)["stable_step"]
    assert f"s, stable up to {near:.3g} s at the start" in mbsim(*stiff).stdout
    stiffer = (*words, "--set", "joints.hinge.stiffness=4e5")
    assert json.loads(mbsim(*stiffer, "--json").stdout)["stable_step"] == pytest.approx(near / 2.0, rel=1e-3)
    assert far > 10.0 * near
    adaptive = (*stiff, "--set", "simulation.integrator=dop853", "--json")
    assert json.loads(mbsim(*adaptive).stdout)["stable_step"] is None


def test_an_untrusted_run_ends_with_1_unless_allowed(mbsim: Command, folder: Path) -> None:
    """A spring far beyond the stability limit: its energy grows without a source."""
    bad = ("--set", "joints.hinge.stiffness=5e5", "--step", "2.5 ms", "--duration", "0.05", "--set", "expect=[]")
    words = ("run", "pendulum.yaml", *bad, "--integrator", "semi_implicit_euler", "--set", "output.every=2.5 ms")
    ending = mbsim(*words, "--json")
    data = json.loads(ending.stdout)
    assert (ending.code, data["status"]) == (1, "untrusted")
    [alarm] = [alarm for alarm in data["alarms"] if alarm["name"] == "ledger"]
    assert alarm["level"] == "failed"
    assert f"error: {alarm['message']}" in ending.stderr
    attributes = read_trajectory(folder / "outputs/pendulum.h5").attributes
    assert attributes["status"] == "untrusted"
    assert json.loads(attributes["alarms"]) == data["alarms"]
    shown = json.loads(mbsim("info", "outputs/pendulum.h5", "--json").stdout)["alarms"]
    assert [(one["name"], one["remedy"]) for one in shown] == [(one["name"], one["remedy"]) for one in data["alarms"]]
    allowed = mbsim(*words, "--force", "--allow-untrusted")
    assert allowed.code == 0
    assert "pendulum: untrusted" in allowed.stdout


def test_the_summary_shows_the_default_integrator(mbsim: Command) -> None:
    assert "aba, rk4, step 0.001 s" in mbsim("run", "pendulum.yaml").stdout
    assert mbsim("run", "pendulum.yaml", "--force").stderr == ""
