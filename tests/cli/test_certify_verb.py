"""`mbsim certify`: certificates in result files, and their display by other verbs."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_result import Command

from multibody_cli import read_trajectory
from multibody_cli.studies.certify import plan_of
from multibody_cli.studies.simulation import prepare

EULER = "simulation.integrator=semi_implicit_euler"
CERTIFIED = "expect=[{{channel: joints/hinge/q, certified: {}}}]"


@pytest.fixture
def certified(mbsim: Command, folder: Path) -> Path:
    assert mbsim("certify", "pendulum.yaml", "--set", EULER, "-o", "a.h5").code == 0
    return folder / "a.h5"


def test_the_file_is_that_of_a_run_with_error_bars(mbsim: Command, folder: Path, certified: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "--set", EULER, "-o", "b.h5").code == 0
    run, plain = read_trajectory(certified), read_trajectory(folder / "b.h5")
    assert run.paths == plain.paths
    for path in plain.paths:
        np.testing.assert_array_equal(run.channel(path).values, plain.channel(path).values)
    assert plain.certificate is None
    assert run.certificate is not None
    assert run.certificate.methods == ("aba", "baraff")
    assert run.certificate.settings == ("step=0.001", "step=0.0005", "step=0.00025")
    bars = run.certificate.bar("joints/hinge/q", run.bodies)
    assert bars is not None
    assert bars.shape == run.channel("joints/hinge/q").values.shape
    assert mbsim("compare", "b.h5", "a.h5").code == 0


def test_the_error_bar_bounds_the_error_of_the_first_order_integrator(mbsim: Command, certified: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "--integrator", "dop853", "-o", "exact.h5").code == 0
    run, exact = read_trajectory(certified), read_trajectory("exact.h5")
    errors = np.abs(run.channel("joints/hinge/q").values - exact.channel("joints/hinge/q").values)
    bars = run.certificate.bars["joints/hinge/q"]
    assert (errors <= bars.values + 1e-15).all()
    assert bars.values[-1] <= 2.0 * errors[-1]
    assert bars.order == pytest.approx(1.0, abs=0.05)


def test_the_same_scene_gives_the_same_bytes(mbsim: Command, folder: Path, certified: Path) -> None:
    assert mbsim("certify", "a.h5", "-o", "b.h5").code == 0
    assert certified.read_bytes() == (folder / "b.h5").read_bytes()
    assert not list(folder.glob("*.part"))


def test_a_certified_run_is_repeated_with_its_certificate(mbsim: Command, folder: Path, certified: Path) -> None:
    assert mbsim("rerun", "a.h5", "-o", "again.h5").stdout == "a.h5: same bytes\n"
    assert certified.read_bytes() == (folder / "again.h5").read_bytes()


def test_a_certified_run_is_not_resumed(mbsim: Command, certified: Path) -> None:
    before = certified.read_bytes()
    ending = mbsim("run", "--resume", "a.h5", "--duration", "60 s")
    assert ending.code == 2
    assert "certify the longer run with `mbsim certify a.h5 --duration TIME -o FILE`" in ending.stderr
    assert certified.read_bytes() == before


def test_a_file_without_its_certificate_never_has_the_name_of_the_result(
    mbsim: Command, certified: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_arguments: object) -> None:
        raise KeyboardInterrupt

    before = certified.read_bytes()
    for step in ("studies.certify.certify", "output.certificate.add_certificate"):
        with monkeypatch.context() as change:
            change.setattr(f"multibody_cli.{step}", stop)
            assert mbsim("certify", "pendulum.yaml", "-o", "a.h5", "--force").code == 130
        assert certified.read_bytes() == before, step
        assert certified.with_name("a.h5.part").exists()
    ending = mbsim("run", "--resume", "a.h5")
    assert ending.code == 0, ending.stderr
    assert read_trajectory("a.h5").certificate is None


def test_an_untrusted_run_has_no_certificate(mbsim: Command) -> None:
    bad = ("--set", "joints.hinge.stiffness=5e5", "--step", "2.5 ms", "--duration", "0.05", "--set", "expect=[]")
    words = ("certify", "pendulum.yaml", *bad, "--integrator", "semi_implicit_euler", "--set", "output.every=2.5 ms")
    ending = mbsim(*words, "-o", "bad.h5")
    assert ending.code == 1
    assert "untrusted, so that it has no certificate:\n" in ending.stderr
    assert read_trajectory("bad.h5").certificate is None


def test_expectations_may_ask_for_error_bars(mbsim: Command) -> None:
    ending = mbsim("run", "pendulum.yaml", "--set", CERTIFIED.format("1 mrad"), "-o", "a.h5")
    assert ending.code == 0
    assert "skip  joints/hinge/q certified (not evaluated: `mbsim certify` computes error bars)" in ending.stdout
    ending = mbsim("certify", "pendulum.yaml", "--set", EULER, "--set", CERTIFIED.format("1 mrad"), "-o", "b.h5")
    assert (ending.code, "pass  joints/hinge/q certified: found" in ending.stdout) == (0, True)
    ending = mbsim("certify", "pendulum.yaml", "--set", EULER, "--set", CERTIFIED.format("1e-9 rad"), "-o", "c.h5")
    assert (ending.code, "FAIL  joints/hinge/q certified: found" in ending.stdout) == (1, True)
    ending = mbsim("run", "pendulum.yaml", "--set", CERTIFIED.format("1 m"), "-o", "d.h5")
    assert ending.code == 2
    assert "expected an angle" in ending.stderr


def test_other_verbs_show_the_certificate(mbsim: Command, certified: Path) -> None:
    shown = mbsim("info", certified).stdout
    assert "certificate     certified to" in shown
    assert "error bars" in shown
    assert "the result is certified to" in mbsim("compare", certified, certified).stdout
    assert mbsim("plot", certified, "joints/hinge/q", "-o", "q.png").code == 0


def test_settings_of_the_run_have_short_forms(mbsim: Command, folder: Path) -> None:
    words = ["--method", "redmax", "--integrator", "rk4", "--step", "5 ms", "--duration", "50 ms"]
    assert mbsim("certify", "pendulum.yaml", *words, "-o", "a.h5").code == 0
    run = read_trajectory("a.h5")
    assert [run.attributes[name] for name in ("method", "integrator", "step")] == ["redmax", "rk4", 0.005]
    assert run.time[-1] == pytest.approx(0.05)
    assert run.certificate.settings == ("step=0.005", "step=0.0025", "step=0.00125")
    assert run.certificate.methods[0] == "redmax"


@pytest.mark.parametrize(
    ("overrides", "methods"),
    [
        ([], ("aba", "baraff")),
        (["simulation.method=redmax"], ("redmax", "baraff")),
        (["simulation.method=baraff"], ("baraff", "aba")),
        (
            ["bodies.rod={mass: 2, inertia: {principal: [0, 0, 0]}}"],
            ("aba", "redmax"),
        ),  # a point mass, which `baraff` refuses
        (["simulation.method=variational"], ("variational", "variational_maximal")),
    ],
)
def test_the_other_method_has_other_coordinates_if_it_can(
    folder: Path, overrides: list[str], methods: tuple[str, str]
) -> None:
    scene = folder / "pendulum.yaml"
    simulation = prepare(scene, overrides)
    assert plan_of(simulation, lambda more: prepare(scene, [*overrides, *more])).methods == methods


def test_channels_can_be_chosen(mbsim: Command, folder: Path) -> None:
    ending = mbsim("certify", "pendulum.yaml", "--channels", "joints/*/v,bodies/rod/com", "--json")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert [channel["path"] for channel in data["channels"]] == ["joints/hinge/v", "bodies/rod/com"]
    assert len(data["channels"][1]["final_error_bar"]) == 3
    with h5py.File(folder / "outputs/pendulum.h5") as file:
        assert file["certificate/bodies/rod/com"].shape == (11, 3)
        assert file["certificate"].attrs["status"] == "certified"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--channels", "joints/hing/q"), "did you mean `joints/hinge/q`?"),
        (("--channels", "solver"), "no channel has an error bar"),
        (("--against", "redmaks"), "unknown method `redmaks`: did you mean `redmax`?"),
    ],
)
def test_mistakes_are_refused_before_the_run(
    mbsim: Command, folder: Path, words: tuple[str, str], message: str
) -> None:
    ending = mbsim("certify", "pendulum.yaml", *words, "-o", "a.h5")
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr
    assert not (folder / "a.h5").exists()


def test_a_run_that_depends_on_its_step_is_not_certified(mbsim: Command) -> None:
    coarse = ("vars.angle=179 deg", "simulation.step=50 ms", "simulation.duration=50 s", "output.every=50 ms")
    ending = mbsim("certify", "pendulum.yaml", *(f"--set={words}" for words in coarse))
    assert ending.code == 1
    assert "not certified from t = " in ending.stdout
    assert "use a smaller step than step=0.0125, or `integrator: dop853`, of order 8" in ending.stdout
