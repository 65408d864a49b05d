"""Scenes from Python: loading, complete runs, results as datasets, and errors in the words of the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest

import mbsim
import multibody_cli
from multibody_cli.cli.app import main

SWING = """
mbsim: 1
name: swing
vars: {m: 0.5}
bodies:
  rod: {mass: "${m}", shapes: [{type: box, size: [0.05, 0.05, 1]}]}
joints:
  hinge: {type: revolute, child: rod, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}, q: 90 deg}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
expect:
  - {energy_drift: {max: 1e-9 J}}
"""


@pytest.fixture
def swing(tmp_path: Path) -> Path:
    path = tmp_path / "swing.yaml"
    path.write_text(SWING, encoding="utf-8")
    return path


def command(*words: str) -> int:
    """Run the command line in this process; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def test_a_path_and_its_text_are_the_same_scene(swing):
    assert mbsim.load(swing).text == mbsim.load(str(swing)).text == mbsim.load(SWING).text


@pytest.mark.parametrize(
    "overrides",
    [
        {"vars.m": 2, "simulation.duration": "500 ms", "joints.hinge.v": np.float64(0.25)},
        ["vars.m=2", "simulation.duration=500 ms", "joints.hinge.v=0.25"],
    ],
)
def test_overrides_replace_values(overrides):
    scene = mbsim.load(SWING, overrides)
    assert scene.duration == 0.5
    assert mbsim.Simulation(scene).v["hinge"] == 0.25
    assert scene.prepared.compiled.masses["rod"].mass == 2.0


def test_overrides_take_lists_and_texts():
    overrides = {"gravity": np.array([0.0, 0.0, -1.62]), "joints.hinge.axis": (1, 0, 0), "description": "yes: no"}
    scene = mbsim.load(SWING, overrides)
    assert scene.prepared.scene.gravity == (0.0, 0.0, -1.62)
    assert scene.prepared.scene.description == "yes: no"
    assert mbsim.Simulation(scene).jacobian("rod")[0] == 1.0


def test_overrides_have_numpy_numbers_at_any_depth():
    end = {"duration": np.float64(0.5), "step": np.float32(0.25)}
    scene = mbsim.load(SWING, {"simulation": end, "bodies.rod.inertia": {"principal": [np.int64(1), np.float64(2), 2]}})
    assert (scene.duration, scene.step) == (0.5, 0.25)


def test_none_is_no_overrides():
    assert mbsim.load(SWING, None).text == mbsim.load(SWING).text


def test_a_run_is_a_dataset_with_units(swing):
    run = mbsim.load(swing).run()
    angle = run["joints/hinge/q"]
    assert angle.dims == ("time", "coordinates_1")
    assert angle.attrs["units"] == "rad"
    assert run["time"].attrs["units"] == "s"
    assert run["bodies/position"].sel(body="rod", xyz="z").dims == ("time",)
    assert run["joints/hinge/force"].attrs["units"] == "N m, N m, N m, N, N, N"
    assert (run.attrs["status"], run.attrs["missed"]) == ("complete", 0)
    assert run.attrs["expect"].startswith("pass  energy_drift")
    final = np.array([run["energy/total"][-1], run["energy/total"][0]])
    assert np.ptp(final) < 1e-9


def test_a_file_is_that_of_the_command_and_is_read_as_the_run(swing, tmp_path):
    run = mbsim.load(swing).run(tmp_path / "api.h5", channels=["joints/hinge/q"])
    assert list(run.data_vars) == ["joints/hinge/q"]
    assert command("run", str(swing), "-o", str(tmp_path / "cli.h5"), "--quiet") == 0
    assert (tmp_path / "api.h5").read_bytes() == (tmp_path / "cli.h5").read_bytes()
    whole = mbsim.load(swing).run()
    file = mbsim.read(tmp_path / "api.h5")
    assert set(whole) == set(file)
    for path in whole:
        np.testing.assert_array_equal(whole[path].values, file[path].values, err_msg=path)
        assert whole[path].dims == file[path].dims, path
        assert whole[path].attrs == file[path].attrs, path


def test_an_existing_file_is_not_replaced(swing, tmp_path):
    place = tmp_path / "run.h5"
    place.write_bytes(b"mine")
    with pytest.raises(mbsim.ArgumentError, match="exists"):
        mbsim.load(swing).run(place)
    assert place.read_bytes() == b"mine"
    mbsim.load(swing).run(place, overwrite=True)
    with h5py.File(place) as file:
        assert file.attrs["status"] == "complete"


def test_the_remedy_for_an_existing_file_is_an_argument(swing, tmp_path):
    path = tmp_path / "run.h5"
    mbsim.load(swing).run(path)
    with pytest.raises(mbsim.ArgumentError, match="use overwrite=True to replace it"):
        mbsim.load(swing).run(path)


def test_arguments_of_other_types_are_refused_with_the_expected_ones(swing):
    with pytest.raises(mbsim.ArgumentError, match=r'list of overrides, as in \["vars.m=2"\], found a text'):
        mbsim.load(swing, "vars.m=2")
    with pytest.raises(mbsim.ArgumentError, match=r'list of channels, as in \["energy"\], found a text'):
        mbsim.load(swing).run(channels="energy")
    for parameters in ("vars.m", ["vars.m"], {}):
        with pytest.raises(mbsim.ArgumentError, match="expected parameters with their values"):
            mbsim.sensitivities(swing, parameters)
    with pytest.raises(mbsim.ArgumentError, match="expected the path or the text of a scene"):
        mbsim.sensitivities(mbsim.load(swing), {"vars.m": 0.5})


def test_errors_have_the_words_of_the_command(tmp_path, capsys):
    path = tmp_path / "wrong.yaml"
    path.write_text(SWING.replace("child: rod", "child: rood").replace("step: 1 ms", "step: 1 kg"), encoding="utf-8")
    with pytest.raises(mbsim.SceneError) as raised:
        mbsim.load(path)
    assert command("validate", str(path)) == 2
    printed = capsys.readouterr()
    for line in str(raised.value).splitlines():
        assert line in printed.out + printed.err
    assert len(raised.value.problems) == 2
    with pytest.raises(mbsim.SceneError, match=r"^<text>:8:"):
        mbsim.load(path.read_text(encoding="utf-8"))


def test_a_missed_expectation_is_an_error_with_the_results():
    scene = mbsim.load(SWING.replace("max: 1e-9 J", "max: 1e-30 J"))
    with pytest.raises(mbsim.UnsuccessfulRun, match="FAIL  energy_drift: found") as raised:
        scene.run()
    assert raised.value.results.sizes["time"] == 1001
    run = scene.run(check=False)
    assert run.attrs["missed"] == 1


def test_a_run_that_diverges_is_an_error_with_the_results():
    scene = mbsim.load(SWING, {"joints.hinge.force": "exp(50*q)", "joints.hinge.q": 0})
    with pytest.raises(mbsim.RunFailed, match=r"^diverged: step \d+ .* diverged; last valid output") as raised:
        scene.run()
    assert 0 < raised.value.results.sizes["time"] < 1001
    assert scene.run(check=False).attrs["status"] == "diverged"


def test_warnings_of_a_scene_are_warnings_of_python():
    with pytest.warns(mbsim.SceneWarning, match=r"simulation\.tolerance: has no effect"):
        mbsim.load(SWING, {"simulation.tolerance": 1e-6})


def test_contacts_have_a_dimension_of_their_own():
    scene = mbsim.load(Path(__file__).parents[2] / "scenes/gallery/falling_boxes.yaml")
    run = scene.run(channels=["contacts"], check=False)
    assert run["contacts/point"].dims == ("contact", "xyz")
    assert run["contacts/count"].dims == ("time",)
    assert run["contacts/offset"].sizes["bound"] == run.sizes["time"] + 1


def test_computed_channels_are_variables_if_they_are_named():
    """A box on the ground, which carries its weight from the first step on."""
    box = {"mass": 2, "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}], "position": [0, 0, 0.1]}
    scene = {"mbsim": 1, "contacts": {}, "world": {"shapes": [{"type": "plane"}]}, "bodies": {"box": box}}
    scene["simulation"] = {"duration": 0.01}
    run = mbsim.load(json.dumps(scene) + "\n").run(channels=["contacts/world:box/force", "bodies/box/com", "energy"])
    np.testing.assert_allclose(run["contacts/world:box/force"].sel(xyz="z")[1:], 2 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(run["bodies/box/com"].sel(xyz="z"), 0.1, rtol=1e-9)
    assert "energy/total" in run
    assert "joints" not in {name.split("/")[0] for name in run}


def test_both_packages_have_the_same_names():
    assert dir(mbsim) == dir(multibody_cli)
    for name in dir(multibody_cli):
        assert getattr(mbsim, name) is getattr(multibody_cli, name)
    assert all(getattr(multibody_cli, name).__doc__ for name in multibody_cli.__all__)
    for package in (mbsim, multibody_cli):
        with pytest.raises(AttributeError, match="no attribute 'lod'"):
            getattr(package, "lod")  # noqa: B009


def test_the_project_has_a_command_of_each_name():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == dict.fromkeys(["mbsim", project["name"]], "multibody_cli.cli.app:enter")


@pytest.mark.parametrize("package", ["mbsim", "multibody_cli"])
def test_the_import_is_light_and_changes_nothing(package):
    code = (
        "import signal, sys, warnings\n"
        "before = [signal.getsignal(n) for n in signal.valid_signals()], list(warnings.filters)\n"
        f"import {package} as mbsim\n"
        "heavy = {'numpy', 'xarray', 'h5py', 'numba', 'scipy', 'pydantic', 'yaml'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
        f"scene = mbsim.load({SWING!r})\n"
        "scene.run()\n"
        "mbsim.Simulation(scene).step(10)\n"
        "assert 'numba' not in sys.modules\n"
        "assert [signal.getsignal(n) for n in signal.valid_signals()] == before[0]\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=300)


def test_ctrl_c_ends_a_run_and_keeps_its_rows(tmp_path, request):
    """KeyboardInterrupt is raised as in any Python program; the `.part` file has all rows up to there."""
    scene = mbsim.load(SWING, {"simulation.duration": "100 s", "simulation.step": "0.1 ms", "output.every": "10 ms"})
    place = tmp_path / "run.h5"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in processes of the background
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def interrupt(done: int) -> None:
        if done >= 20:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        scene.run(place, on_output=interrupt)
    assert not place.exists()
    part = mbsim.read(tmp_path / "run.h5.part")
    assert part.sizes["time"] >= 20


def test_wrenches_are_read_in_the_axes_of_the_world(tmp_path):
    text = """
mbsim: 1
name: held
bodies: {lamp: {mass: 3, inertia: {principal: [1, 1, 1]}}}
joints:
  bracket: {type: fixed, child: lamp, origin: {rotation: {axis: [0, 1, 0], angle: 90 deg}}}
simulation: {duration: 1 ms, step: 1 ms}
"""
    mbsim.load(text).run(tmp_path / "held.h5")
    for frame, force in (("world", [0, 0, 3 * 9.81]), ("joint", [-3 * 9.81, 0, 0]), ("body", [-3 * 9.81, 0, 0])):
        found = mbsim.read(tmp_path / "held.h5", frame=frame)["joints/bracket/force"]
        np.testing.assert_allclose(found.values[-1, 3:], force, atol=1e-9)
    with pytest.raises(mbsim.ArgumentError, match="unknown frame `word`: did you mean `world`"):
        mbsim.read(tmp_path / "held.h5", frame="word")
