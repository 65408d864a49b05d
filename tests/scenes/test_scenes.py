"""Every scene is valid, and every validation scene runs and meets its expectations, which can fail.

Scenes of the gallery run in `regression/test_baselines.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import pytest
import yaml

from multibody_cli.cli.app import main
from multibody_cli.joints import JOINTS
from multibody_cli.methods import METHODS
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.scene.load import load_scene
from multibody_cli.studies.expect import evaluate
from tests.scenes.test_variational_scenes import STEPS

SCENES = Path(__file__).parents[2] / "scenes"
VALIDATION = sorted((SCENES / "validation").glob("*.yaml"))
GALLERY = sorted((SCENES / "gallery").glob("*.yaml"))
BENCH = sorted((SCENES / "bench").glob("*.yaml"))
FORCES = {
    "muscle_pendulum", "redmax_scene_10", "redmax_scene_11", "redmax_scene_12", "redmax_scene_23", "redmax_scene_24",
    "redmax_scene_24_damped", "redmax_scene_25", "spring_damper_1d",
}  # fmt: skip
GENERAL = {
    "bead_bspline", "bead_cycloid", "bead_helix", "redmax_scene_21", "redmax_scene_22", "sphere_sphere_joint",
    "spline_curve_one_body", "spline_surface_one_body", "torus_geodesic",
}  # fmt: skip
"""Joints that are written as formulas."""
CASES = {
    "ball_chain_2", "compound_pendulum_period", "double_pendulum_rods", "dzhanibekov_analytic",
    "dzhanibekov_num", "gear_pair", "hooke_joint", "iftomm_a01_pendulum", "iftomm_a02_nfourbar_N1",
    "iftomm_a02_nfourbar_N2", "iftomm_a03_andrews_t003", "iftomm_a04_bricard_slender", "knife_edge_incline",
    "lagrange_top_cusp", "lagrange_top_steady", "rack_pinion", "rc10_chain", "rc20_chain", "rc100_chain",
    "redmax_scene_0", "redmax_scene_1", "redmax_scene_2", "redmax_scene_3", "redmax_scene_4", "redmax_scene_5",
    "redmax_scene_7", "redmax_scene_8", "redmax_scene_9", "redmax_scene_13", "redmax_scene_13_rates", "redmax_scene_14",
    "redmax_scene_15", "redmax_scene_16",
    "redmax_scene_17", "redmax_scene_18", "redmax_scene_19", "redmax_scene_20", "redmax_scene_26",
    "redmax_scene_34", "redmax_scene_35", "redmax_scene_m1", "redmax_rigid", "redmax_joint",
    "slider_crank_free_spin", "sphere_roll_incline", "spherical_pendulum", "testset_caraxis", "torque_free_top",
    "bouncing_ball", "box_stack", "coulomb_oscillator", "incline_stick_slip", "rod_impact", "sliding_stop",
    "sphere_roll_incline_contact", "sphere_slide_to_roll", "two_cards",
    *FORCES, *GENERAL,
}  # fmt: skip
LOOPS = {
    "fourbar_parallelogram", "gear_pair", "hooke_joint", "iftomm_a02_nfourbar_N1", "iftomm_a02_nfourbar_N2",
    "iftomm_a03_andrews_t003", "iftomm_a04_bricard_slender", "knife_edge_incline", "rack_pinion", "redmax_scene_4",
    "redmax_scene_7", "redmax_scene_8", "redmax_scene_13", "redmax_scene_15", "redmax_scene_20", "redmax_scene_32",
    "redmax_scene_34",
    "slider_crank_free_spin", "sphere_roll_incline", "testset_caraxis",
}  # fmt: skip
FRICTION = {"redmax_scene_27", "redmax_scene_28", "redmax_scene_29", "redmax_scene_30"}
REFUSED = {("baraff", "iftomm_a04_bricard_slender"), ("baraff", "torus_geodesic")}
"""Bodies of this method move by themselves: all need inertia; these rods have none about their axes, one point none."""

WARNED = {"muscle_pendulum": ["forces"]}
"""Alarms of sound scenes: fibers of a muscle that become too short for a force."""

Command = Callable[..., int]


@pytest.fixture
def mbsim(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Give the command line in this process: words in, exit code out."""

    def call(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["mbsim", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    return call


def alarms_of(result: Path) -> list[str]:
    with h5py.File(result) as file:
        return [alarm["name"] for alarm in json.loads(str(file.attrs["alarms"]))]


def by_name(scenes: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scene", scenes, ids=lambda scene: f"{scene.parent.name}/{scene.stem}")


@cache
def read(scene: Path) -> dict[str, Any]:
    tree = yaml.load(scene.read_text(), Loader=yaml.CSafeLoader)
    assert isinstance(tree, dict)
    return tree


# --- all scenes ---------------------------------------------------------------------------------------------
@by_name(VALIDATION + GALLERY + BENCH)
def test_scene_is_valid(scene: Path, mbsim: Command) -> None:
    assert mbsim("validate", scene) == 0


@by_name(VALIDATION)
def test_scene_meets_its_expectations_and_misses_falsified_ones(scene: Path, mbsim: Command, tmp_path: Path) -> None:
    """One run has both verdicts: it takes longer than everything else here."""
    result = tmp_path / "result.h5"
    assert mbsim("run", scene, "-o", result) == 0
    assert alarms_of(result) == WARNED.get(scene.stem, [])
    wrong = [entry for entry in map(falsified, read(scene)["expect"]) if entry is not None]
    if (scene.parent / "parts").is_dir():
        (tmp_path / "parts").symlink_to(scene.parent / "parts")
    changed = tmp_path / scene.name
    changed.write_text(yaml.safe_dump({**read(scene), "expect": wrong}, sort_keys=False))
    verdicts = evaluate(load_scene(changed).scene.expect, read_trajectory(result))
    assert len(verdicts) == len(wrong) > 0
    assert [verdict.entry for verdict in verdicts if verdict.passed] == []


def other_methods() -> Iterator[Any]:
    """Scenes with every method of accelerations but their own, with which the test above runs them.

    Daily, each scene has one of them in turn, and all refusals.
    """
    turn = 0
    for scene in VALIDATION:
        own = (read(scene).get("simulation") or {}).get("method", "aba")
        if scene.stem in FORCES | LOOPS | GENERAL | FRICTION or "contacts" in read(scene):
            others = sorted(name for name, kind in METHODS.items() if kind.own_integrator is None and name != own)
            for k, method in enumerate(others):
                daily = k == turn % len(others) or (method, scene.stem) in REFUSED
                marks = [] if daily else [pytest.mark.nightly]
                yield pytest.param(scene, method, marks=marks, id=f"{scene.stem}-{method}")
            turn += 1


@pytest.mark.parametrize(("scene", "method"), list(other_methods()))
def test_results_of_all_methods_agree(
    scene: Path, method: str, mbsim: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same expectations with every method that supports the scene."""
    code = mbsim("run", scene, "--method", method, "-o", tmp_path / "result.h5")
    if (method, scene.stem) in REFUSED:
        assert code == 2
        assert "has no mass or a moment of inertia that is not positive" in capsys.readouterr().err
    else:
        assert code == 0


def test_every_scene_of_redmax_runs_by_at_least_two_methods() -> None:
    scenes = {"redmax_scene_m1", *(f"redmax_scene_{k}" for k in range(36))}
    by_others = {param.values[0].stem for param in other_methods()}
    assert scenes <= {scene.stem for scene in VALIDATION} & (by_others | set(STEPS))


@by_name(VALIDATION + GALLERY + BENCH)
def test_scene_has_name_and_description(scene: Path) -> None:
    first = scene.read_text().splitlines()[0]
    schema = first.removeprefix("# yaml-language-server: $schema=")
    assert (scene.parent / schema).resolve() == SCENES.parent / "schemas" / "scene.schema.json"
    assert read(scene)["name"] == scene.stem.replace("_", "-")
    assert len(read(scene)["description"]) > 40


def test_every_validation_case_has_its_scene() -> None:
    assert {scene.stem for scene in VALIDATION} >= CASES


def test_every_joint_type_has_a_scene_in_the_gallery() -> None:
    assert {joint["type"] for scene in GALLERY for joint in joints_of(read(scene))} >= set(JOINTS)


def joints_of(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for section in (tree, *tree.get("repeat", [])):
        yield from section.get("joints", {}).values()


# --- expectations can be missed -----------------------------------------------------------------------------
@by_name(VALIDATION + GALLERY)
def test_scene_expects_something(scene: Path) -> None:
    assert read(scene)["expect"]


def falsified(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The same expectation with a number wrong by more than any tolerance; None where it has none."""
    for key in ("value", "period"):
        match entry.get(key):
            case None:
                continue
            case [first, *rest]:
                return {**entry, key: [off(first), *rest]}
            case number:
                return {**entry, key: off(number)}
    return None


def off(number: float | str) -> float | str:
    if isinstance(number, str) and number.startswith("${"):
        return f"${{1.1*({number[2:-1]}) + (0.1 if {number[2:-1]} >= 0 else -0.1)}}"
    return 1.1 * float(number) + (0.1 if float(number) >= 0 else -0.1)


def test_falsified_entries_differ_by_a_tenth_or_more() -> None:
    assert falsified({"at": 0, "value": [1, 2]}) == {"at": 0, "value": [pytest.approx(1.2), 2]}
    assert falsified({"at": 0, "value": -1}) == {"at": 0, "value": pytest.approx(-1.2)}
    assert falsified({"period": "${2*pi}"}) == {"period": "${1.1*(2*pi) + (0.1 if 2*pi >= 0 else -0.1)}"}
    assert falsified({"energy_drift": {"max": 1e-9}}) is None


# --- the bench scenes are one scene of many sizes and kinds -------------------------------------------------
@pytest.mark.parametrize(
    "settings",
    [
        ["vars.joint=revolute"],
        ["vars.joint=prismatic"],
        ["vars.joint=spherical"],
        ["vars.joint=revolute", "vars.axes=[[1, 0, 0], [0, 1, 0]]"],
    ],
    ids=" ".join,
)
def test_chain_takes_joint_type_and_axes(settings: list[str], mbsim: Command, tmp_path: Path) -> None:
    words = [word for setting in (*settings, "vars.n=5") for word in ("--set", setting)]
    assert mbsim("run", SCENES / "bench" / "chain.yaml", *words, "--duration", "0.1", "-o", tmp_path / "chain.h5") == 0


@pytest.mark.parametrize("closing", ["revolute", "spherical"])
def test_loop_closes_with_any_number_of_links(closing: str, mbsim: Command, tmp_path: Path) -> None:
    for n in (3, 8):
        words = ["--set", f"vars.n={n}", "--set", f"vars.closing={closing}", "--duration", "0.1"]
        expected = ["--set", "expect=[{constraint_error: {max: 1e-10}}]"]
        assert mbsim("run", SCENES / "bench" / "loop.yaml", *words, *expected, "-o", tmp_path / f"{n}.h5") == 0


@pytest.mark.parametrize("size", [1, 7])
def test_tree_takes_its_size(size: int, mbsim: Command, tmp_path: Path) -> None:
    words = ["--set", f"vars.n={size}", "--duration", "0.1", "-o", tmp_path / "tree.h5"]
    assert mbsim("run", SCENES / "bench" / "tree.yaml", *words) == 0


@pytest.mark.parametrize(
    ("scene", "settings", "n_dofs"),
    [
        ("chain", ["vars.n=20"], 20),
        ("chain", ["vars.n=50"], 50),
        ("chain", ["vars.n=100"], 100),
        ("torus_chain", ["vars.n=10"], 38),
        ("torus_chain", ["vars.n=20"], 78),
        ("windmill", [], 73),
    ],
)
def test_systems_of_the_published_table_have_its_degrees_of_freedom(
    scene: str,
    settings: list[str],
    n_dofs: int,
    mbsim: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Si and Guenter 2011, table 1."""
    words = [word for setting in settings for word in ("--set", setting)]
    path = SCENES / "bench" / f"{scene}.yaml"
    assert mbsim("run", path, *words, "--duration", "0.01", "--json", "-o", tmp_path / "result.h5") == 0
    assert json.loads(capsys.readouterr().out)["n_dofs"] == n_dofs
