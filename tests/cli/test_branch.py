"""`mbsim run --resume FILE --from TIME`: the same bytes without changes, and known motions with changes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_result import Command

from multibody_cli.output.checkpoint import checkpoint_path
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.branching import earlier_scenes, repeated
from multibody_cli.studies.simulation import prepare
from multibody_cli.timeline import Callbacks

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"

CART = """\
mbsim: 1
name: cart
gravity: [0, 0, 0]
bodies: {cart: {mass: 2 kg, inertia: {principal: [1, 1, 1]}}}
joints: {slide: {type: prismatic, child: cart, axis: [1, 0, 0], force: 4}}
simulation: {duration: 2 s, step: 10 ms, integrator: rk4}
output: {every: 100 ms}
"""
OSCILLATOR = CART.replace("force: 4", "stiffness: 200, q: 0.1, v: 1").replace("10 ms", "1 ms")

RUNS = {
    "contacts": ("falling_boxes", 0.1, "simulation.duration=0.2"),
    "contacts, variational": ("falling_boxes", 0.05, "simulation.duration=0.1", "simulation.method=variational"),
    "loop": ("couplings", 0.5, "simulation.duration=1", "output.every=50 ms"),
    "adaptive steps": ("windmill", 0.5, "simulation.integrator=dop853"),
    "implicit springs": ("springs", 0.5, "simulation.integrator=linearly_implicit_euler", "simulation.duration=1"),
    "joint friction": ("joint_friction", 0.3, "simulation.method=baraff"),
    "predicted errors": ("windmill", 0.5, "simulation.method=baraff", "simulation.integrator=semi_implicit_euler"),
    "ropes": ("pulleys", 0.2, "simulation.duration=0.3"),
    "elastic tendon": ("elastic_tendon", 0.06, "simulation.duration=0.1"),
    "at the start": ("joint_friction", 0.0),
    "at the end": ("joint_friction", 0.6),
}


@pytest.fixture
def cart(mbsim: Command, folder: Path) -> Path:
    """The result file of a cart that a constant force accelerates at 2 m/s^2."""
    (folder / "cart.yaml").write_text(CART)
    assert mbsim("run", "cart.yaml", "-o", "cart.h5").code == 0
    return folder / "cart.h5"


@pytest.mark.parametrize("name", RUNS)
def test_a_branch_without_changes_has_the_same_bytes(mbsim: Command, folder: Path, name: str) -> None:
    scene, time, *overrides = RUNS[name]
    sets = [f"--set={word}" for word in (*overrides, "expect=[]")]
    assert mbsim("run", GALLERY / f"{scene}.yaml", *sets, "-o", "whole.h5").code == 0
    end = mbsim("run", "--resume", "whole.h5", "--from", time, "-o", "branch.h5")
    assert end.code == 0, end.stderr
    assert (folder / "branch.h5").read_bytes() == (folder / "whole.h5").read_bytes()


def test_a_longer_branch_of_an_excitation_starts_its_method_again(mbsim: Command, folder: Path) -> None:
    """The table of its activation has the size of the duration, so that carried arrays did not fit."""
    sets = ["--set=simulation.duration=0.1 s", "--set=expect=[]"]
    assert mbsim("run", GALLERY / "elastic_tendon.yaml", *sets, "-o", "short.h5").code == 0
    end = mbsim("run", "--resume", "short.h5", "--from", "0.06", "--duration", "0.15 s", "-o", "branch.h5")
    assert end.code == 0, end.stderr
    long = "--set=simulation.duration=0.15 s"
    assert mbsim("run", GALLERY / "elastic_tendon.yaml", long, "--set=expect=[]", "-o", "long.h5").code == 0
    one, other = (read_trajectory(name).channel("joints/guide/q").values for name in ("branch.h5", "long.h5"))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_branch_keeps_its_elastic_tendons(mbsim: Command, folder: Path) -> None:
    sets = ["--set=simulation.duration=20 ms", "--set=expect=[]"]
    assert mbsim("run", GALLERY / "elastic_tendon.yaml", *sets, "-o", "run.h5").code == 0
    end = mbsim("run", "--resume", "run.h5", "--from", "0.01", "--set", "muscles.calf.tendon=rigid", "-o", "branch.h5")
    assert (end.code, "the list of elastic tendons differs: run the changed scene" in end.stderr) == (2, True)


def test_a_compressed_branch_has_the_same_values(mbsim: Command, cart: Path) -> None:
    words = ["--set", "output.compression=gzip"]
    assert mbsim("run", "--resume", "cart.h5", "--from", "1 s", *words, "-o", "packed.h5").code == 0
    assert mbsim("run", "--resume", "packed.h5", "--from", "0.5 s", "-o", "again.h5").code == 0
    run, whole = read_trajectory("again.h5"), read_trajectory(cart)
    for path in whole.paths:
        np.testing.assert_array_equal(run.channel(path).values, whole.channel(path).values)


def test_a_branch_that_is_interrupted_before_its_instant_writes_nothing(
    mbsim: Command, folder: Path, cart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multibody_cli.cli.stop.StopRequest.asked", lambda _: True)
    end = mbsim("run", "--resume", "cart.h5", "--from", "1 s", "-o", "branch.h5")
    assert (end.code, end.stderr.strip()) == (130, "error: interrupted")
    assert not list(folder.glob("branch.h5*"))


def test_a_longer_branch_has_the_bytes_of_the_longer_run(mbsim: Command, folder: Path, cart: Path) -> None:
    before = cart.read_bytes()
    assert mbsim("run", "--resume", "cart.h5", "--from", "2 s", "--duration", "3 s", "-o", "branch.h5").code == 0
    assert mbsim("run", "cart.yaml", "--duration", "3 s", "-o", "whole.h5").code == 0
    assert (folder / "branch.h5").read_bytes() == (folder / "whole.h5").read_bytes()
    assert cart.read_bytes() == before


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
def test_another_force_acts_from_the_instant_on(mbsim: Command, cart: Path, method: str) -> None:
    words = ["--set", "joints.slide.force=10", "--step", "5 ms", "--method", method]
    assert mbsim("run", "--resume", "cart.h5", "--from", "1 s", *words, "-o", "branch.h5").code == 0
    run, recorded = read_trajectory("branch.h5"), read_trajectory(cart)
    t = run.time
    late = np.maximum(t - 1.0, 0.0)
    np.testing.assert_allclose(run.channel("joints/slide/q").values[:, 0], t**2 + 1.5 * late**2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.channel("joints/slide/v").values[:, 0], 2.0 * t + 3.0 * late, rtol=0, atol=1e-12)
    assert np.abs(run.channel("energy/ledger_residual").values).max() < 1e-12
    for path in recorded.paths:
        np.testing.assert_array_equal(run.channel(path).values[:11], recorded.channel(path).values[:11])
    assert run.attributes["steps"] == 100 + 200
    assert json.loads(mbsim("info", "branch.h5", "--json").stdout)["file"]["branch"] == "from 1 s on"


def test_energy_that_a_change_adds_is_no_residual(mbsim: Command, folder: Path) -> None:
    """The stiffness is multiplied by 4: the spring gains 3/2 k q^2, and the frequency doubles."""
    (folder / "oscillator.yaml").write_text(OSCILLATOR)
    assert mbsim("run", "oscillator.yaml", "-o", "soft.h5").code == 0
    end = mbsim("run", "--resume", "soft.h5", "--from", "1 s", "--set", "joints.slide.stiffness=800", "-o", "hard.h5")
    assert (end.code, end.stderr) == (0, "")
    run = read_trajectory("hard.h5")
    q, v = 0.1 * math.cos(10.0) + 0.1 * math.sin(10.0), math.cos(10.0) - math.sin(10.0)
    end_q = q * math.cos(20.0) + v / 20.0 * math.sin(20.0)
    assert run.channel("joints/slide/q").values[-1, 0] == pytest.approx(end_q, abs=1e-6)
    total = run.channel("energy/total").values
    assert total[-1] - total[0] == pytest.approx(0.5 * (800.0 - 200.0) * q**2, rel=1e-6)
    assert np.abs(run.channel("energy/ledger_residual").values).max() < 1e-6
    assert run.attributes["alarms"] == "[]"


def test_the_state_is_projected_onto_changed_constraints(mbsim: Command, folder: Path, cart: Path) -> None:
    """A constraint that fixes the speed of the cart fixes another one from 1 s on; its impulse is work of the row."""
    fixed = "constraints: {pull: {type: velocity, terms: [{body: cart, linear: [1, 0, 0]}], value: 1}}"
    (folder / "pulled.yaml").write_text(CART.replace(", force: 4", "").replace("output:", f"{fixed}\noutput:"))
    assert mbsim("run", "pulled.yaml", "-o", "slow.h5").code == 0
    words = ["--set", "constraints.pull.value=3"]
    assert mbsim("run", "--resume", "slow.h5", "--from", "1 s", *words, "-o", "fast.h5").code == 0
    run = read_trajectory("fast.h5")
    late = run.time > 1.05
    np.testing.assert_allclose(run.channel("joints/slide/v").values[:, 0], np.where(late, 3.0, 1.0), atol=1e-12)
    np.testing.assert_allclose(run.channel("joints/slide/q").values[-1, 0], 1.0 + 3.0, atol=1e-12)
    assert np.abs(run.channel("energy/ledger_residual").values).max() < 1e-12


def test_a_branch_of_a_branch_can_be_repeated_and_left(mbsim: Command, folder: Path, cart: Path) -> None:
    change = ["--set", "joints.slide.force=10"]
    assert mbsim("run", "--resume", "cart.h5", "--from", "0.5 s", *change, "-o", "one.h5").code == 0
    again = ["--set", "joints.slide.force=-2"]
    assert mbsim("run", "--resume", "one.h5", "--from", "1 s", *again, "-o", "two.h5").code == 0
    assert [scene.until for scene in read_trajectory("two.h5").earlier] == [0.5, 1.0]
    assert read_trajectory("two.h5").channel("joints/slide/v").values[-1, 0] == pytest.approx(1.0 + 2.5 - 1.0)
    assert mbsim("rerun", "two.h5").stdout == "two.h5: same bytes\n"
    assert mbsim("run", "--resume", "two.h5", "--from", "1.5 s", "-o", "same.h5").code == 0
    assert (folder / "same.h5").read_bytes() == (folder / "two.h5").read_bytes()
    back = ["--set", "joints.slide.force=4"]
    assert mbsim("run", "--resume", "two.h5", "--from", "0.3 s", *back, "-o", "back.h5").code == 0
    assert (folder / "back.h5").read_bytes() == cart.read_bytes()  # the first scene again, before its end


def after(count: int) -> Callable[[], bool]:
    """Return a request to stop that is made at the given call."""
    calls = iter(range(count + 1))
    return lambda: next(calls) == count


@pytest.mark.parametrize("lost", ["nothing", "checkpoint", "rows"])
def test_an_interrupted_branch_is_resumed(mbsim: Command, folder: Path, cart: Path, lost: str) -> None:
    change = "joints.slide.force=10"
    assert mbsim("run", "--resume", "cart.h5", "--from", "1 s", "--set", change, "-o", "whole.h5").code == 0
    earlier = earlier_scenes(read_trajectory("cart.h5"), prepare("cart.yaml"), "1 s")
    with repeated(earlier, prepare("cart.yaml", [change])) as (simulation, continued):
        assert continued is not None
        sink = Hdf5Sink("parts.h5", continued=continued)
        carried = continued.checkpoint.values
        assert simulation.run(sink, Callbacks(stop_asked=after(5), keep=sink.checkpoint), carried).steps < 200
    if lost == "checkpoint":
        checkpoint_path(folder / "parts.h5").unlink()
    if lost == "rows":
        (folder / "parts.h5").write_bytes(b"")
    end = mbsim("run", "--resume", "parts.h5")
    assert (end.code, "begins again at 0 s" in end.stderr) == (0, lost != "nothing")
    assert (folder / "parts.h5").read_bytes() == (folder / "whole.h5").read_bytes()


def test_a_diverged_run_goes_on_with_a_smaller_step(mbsim: Command, folder: Path) -> None:
    """The step times the frequency of 100 rad/s is 2.84; the limit of `rk4` is 2.83.

    The energy grows by the factor 1.06 in each step, which stays in the ledger of the branch after one step.
    """
    scene = OSCILLATOR.replace("200", "20000").replace("step: 1 ms", "step: 28.4 ms").replace("100 ms", "28.4 ms")
    (folder / "unstable.yaml").write_text(scene)
    assert mbsim("run", "unstable.yaml", "-o", "unstable.h5", "--duration", "568 s").code == 1
    assert read_trajectory("unstable.h5").attributes["status"] == "diverged"
    words = ["--from", "28.4 ms", "--step", "0.4 ms", "--duration", "284 ms", "--allow-untrusted"]
    end = mbsim("run", "--resume", "unstable.h5", *words, "-o", "stable.h5")
    assert (end.code, read_trajectory("stable.h5").attributes["steps"]) == (0, 1 + 639), end.stderr
    total = read_trajectory("stable.h5").channel("energy/total").values
    assert total[-1] == pytest.approx(total[1], rel=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "0.12 s"], "--from 0.12 s: expected an output instant: a multiple of 0.1 s"),
        (["--from", "3 s"], "the nearest to 3 s is 2 s"),
        (["--from", "1 kg"], "--from 1 kg: expected a time"),
        (["--from", "1 s", "--set", "output.every=50 ms"], "the output interval differs"),
        (["--from", "1 s", "--set", "joints.slide.type=revolute"], "channel `joints/slide/q` differs"),
        (["--from", "1 s", "--method", "baraff"], "the list of coordinates differs"),
        (
            ["--from", "1 s", "--set", "joints.slide.damping=1"],
            "channel `energy/dissipation/joints/slide/damping` differs",
        ),
        (["--from", "1 s", "--set", "output.channels=[joints]"], "`output.channels` differs"),
        (["--from", "1 s", "cart.yaml"], "omit cart.yaml"),
        (["--from", "1 s", "-o", "cart.h5", "--force"], "cart.h5 is the scene itself"),
        (["--from", "1 s", "-o", "cart.yaml"], "cart.yaml exists: use --force"),
    ],
)
def test_what_cannot_be_a_branch_is_refused(
    mbsim: Command, folder: Path, cart: Path, words: list[str], message: str
) -> None:
    output = [] if "-o" in words else ["-o", "branch.h5"]
    end = mbsim("run", "--resume", "cart.h5", *words, *output)
    assert (end.code, message in end.stderr) == (2, True), end.stderr
    assert not (folder / "branch.h5").exists()


def test_a_branch_needs_a_run(mbsim: Command, cart: Path) -> None:
    end = mbsim("run", "cart.yaml", "--from", "1 s")
    assert (end.code, "--from requires --resume FILE" in end.stderr) == (2, True)


def test_a_file_whose_rows_differ_is_refused(mbsim: Command, folder: Path, cart: Path) -> None:
    with h5py.File(cart, "r+") as file:
        file["energy/kinetic"][5] += 1e-9
    assert mbsim("run", "--resume", "cart.h5", "--from", "0.4 s", "-o", "early.h5").code == 0
    end = mbsim("run", "--resume", "cart.h5", "--from", "0.5 s", "-o", "late.h5")
    assert (end.code, "cart.h5: its rows differ from those of the repeated run" in end.stderr) == (2, True)
    assert not (folder / "late.h5").exists()


def test_an_unfinished_run_has_no_later_instants(mbsim: Command, folder: Path) -> None:
    (folder / "cart.yaml").write_text(CART)
    simulation = prepare("cart.yaml")
    sink = Hdf5Sink("parts.h5")
    assert simulation.run(sink, Callbacks(stop_asked=after(6), keep=sink.checkpoint)).outcome.status == "interrupted"
    reached = read_trajectory("parts.h5").time[-1]
    end = mbsim("run", "--resume", "parts.h5", "--from", "1.9 s", "-o", "branch.h5")
    assert (end.code, f"parts.h5 has reached {reached:.9g} s" in end.stderr) == (2, True)


def test_a_warning_is_reported_once_though_a_branch_prepares_two_scenes(mbsim: Command, folder: Path) -> None:
    (folder / "door.yaml").write_text(
        "mbsim: 1\n"
        "bodies: {door: {mass: 20, com: [0.4, 0, 0.7], inertia: {principal: [5, 6, 1.1]}}}\n"
        "joints:\n"
        "  low: {type: revolute, child: door, v: 1}\n"
        "  high: {type: revolute, child: door, origin: {position: [0, 0, 1]}, child_origin: {position: [0, 0, 1]}}\n"
        "simulation: {duration: 10 ms, step: 1 ms}\noutput: {every: 1 ms}\n"
    )
    whole = mbsim("run", "door.yaml", "-o", "door.h5")
    assert (whole.code, whole.stderr.count("warning:")) == (0, 1)
    branch = mbsim("run", "--resume", "door.h5", "--from", "5 ms", "--set", "bodies.door.mass=10", "-o", "branch.h5")
    assert (branch.code, branch.stderr.count("warning:")) == (0, 1)
