"""Comparison of two files: every dataset and value, and metadata."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from fakes import ANGLE, names_of
from result_files import DATASETS, DONE, EVERYTHING, TIME, changed, shifted, write_run

from multibody_cli.comparison.cases import CaseVerdict, compare_case, compare_folders
from multibody_cli.comparison.compare import compare_files
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import ResultError
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import read_trajectory


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run.h5")


COUNTS_OF_ITERATIONS = "solver/iterations"


def test_a_number_of_iterations_is_no_result(run: Path, tmp_path: Path) -> None:
    found = compare_files(run, shifted(run, tmp_path / "beyond.h5", COUNTS_OF_ITERATIONS, (3,), 20))
    assert found.same
    assert found.first_difference is None
    assert "solver/iterations differs by up to 20: a number of iterations is no result" in found.notes


@pytest.mark.parametrize("dataset", [path for path in DATASETS if path != COUNTS_OF_ITERATIONS])
def test_one_number_beyond_its_tolerance_is_located(run: Path, tmp_path: Path, dataset: str) -> None:
    generator = np.random.default_rng(DATASETS.index(dataset))
    record = read_trajectory(run).channel(dataset)
    index = tuple(int(generator.integers(length)) for length in record.values.shape)
    allowed = record.atol + record.rtol * abs(record.values[index])
    beyond = compare_files(run, shifted(run, tmp_path / "beyond.h5", dataset, index, 10.0 * allowed))
    differing = [finding for finding in beyond.findings if finding.differs]
    assert [finding.path for finding in differing] == [dataset]
    for location in (differing[0].first, differing[0].worst, differing[0].largest):
        assert location is not None
        assert (location.place.row, location.place.index) == (index[0], index[1:])
        assert location.time == pytest.approx(TIME[index[0]])
        assert location.place.excess == pytest.approx(10.0, rel=1e-3)
    assert differing[0].exceeding == 1
    assert beyond.first_difference is not None
    assert [finding.path for finding in beyond.first_difference.findings] == [dataset]
    if np.issubdtype(record.values.dtype, np.floating):
        within = compare_files(run, shifted(run, tmp_path / "within.h5", dataset, index, 0.1 * allowed))
        assert within.same


def test_body_and_component_are_named(run: Path, tmp_path: Path) -> None:
    found = compare_files(run, shifted(run, tmp_path / "b.h5", "bodies/position", (3, 1, 2), 1.0))
    assert found.first_difference is not None
    assert str(found.first_difference.findings[0].first) == "hand z"
    found = compare_files(run, shifted(run, tmp_path / "b.h5", "joints/ball/force", (3, 4), 1.0))
    assert found.first_difference is not None
    assert str(found.first_difference.findings[0].first) == "fy"


def test_equivalent_coordinates_are_no_difference(run: Path, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        file["bodies/quaternion"][5:] *= -1.0
        file["joints/hinge/q"][3:] += 4.0 * np.pi
        file["joints/bolt/q"][4:, 0] -= 2.0 * np.pi
        ball = file["joints/ball/q"][:]
        size = np.linalg.norm(ball, axis=1, keepdims=True)
        file["joints/ball/q"][:] = ball * (1.0 - 2.0 * np.pi / size)

    assert compare_files(run, changed(run, tmp_path / "b.h5", change)).same
    # a length has no turns
    found = compare_files(run, shifted(run, tmp_path / "c.h5", "joints/bolt/q", (4, 1), 2.0 * np.pi))
    assert [finding.path for finding in found.findings if finding.differs] == ["joints/bolt/q"]


def test_of_simultaneous_differences_the_cause_is_first(run: Path, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        for path in ("solver/residual", "energy/total", "joints/hinge/q", "joints/hinge/limit_force"):
            file[path][7:] += 1.0
        file["energy/work/joints/hinge/force"][7] += 1e-3
        file["bodies/position"][8:] += 10.0

    found = compare_files(run, changed(run, tmp_path / "b.h5", change))
    assert found.first_difference is not None
    assert found.first_difference.time == TIME[7]
    roles = [finding.role for finding in found.first_difference.findings]
    assert roles == ["input", "constraint", "coordinate", "energy", "solver"]


def test_bodies_are_paired_by_name(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a.h5", names=names_of(bodies=("x", "y", "z")))

    def reorder(file: Any) -> None:
        file["bodies/name"][:] = ["z", "x", "y"]
        for name in ("com_offset", "position", "quaternion", "linear_velocity", "angular_velocity"):
            values = file[f"bodies/{name}"][:]
            file[f"bodies/{name}"][...] = np.roll(values, 1, axis=values.ndim - 2)

    other = changed(one, tmp_path / "b.h5", reorder)
    found = compare_files(one, other)
    assert found.same  # momenta too: their axes have the names of these bodies, and are none
    assert not any(finding.worst for finding in found.findings)
    found = compare_files(one, shifted(other, tmp_path / "c.h5", "bodies/position", (2, 0, 1), 1.0))
    assert found.first_difference is not None
    assert str(found.first_difference.findings[0].first) == "z y"
    found = compare_files(one, shifted(other, tmp_path / "c.h5", "momentum/linear", (2, 0), 1.0))
    assert found.first_difference is not None
    location = found.first_difference.findings[0].first
    assert (location.body, location.component) == ("", "x")


def test_a_body_missing_in_one_run_is_reported_and_the_others_are_compared(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a.h5", names=names_of(bodies=("arm", "hand")))
    other = write_run(tmp_path / "b.h5", names=names_of(bodies=("hand",)))
    found = compare_files(one, other)
    assert "body arm is missing from the result" in found.mismatches
    assert {finding.path for finding in found.findings} >= {"bodies/position", "bodies/com_offset"}
    assert "body arm is only in the result" in compare_files(other, one).mismatches


def test_datasets_missing_in_one_run(run: Path, tmp_path: Path) -> None:
    less = write_run(tmp_path / "less.h5", channels=["bodies", "energy/total"])
    found = compare_files(run, less)
    assert "joints/hinge/q is missing from the result" in found.mismatches
    found = compare_files(less, run)
    assert found.same
    note = next(note for note in found.notes if note.startswith("only in the result: "))
    assert note.endswith(" more")


def test_a_file_with_time_alone(tmp_path: Path) -> None:
    bare = write_run(tmp_path / "bare.h5", channels=["time"])
    found = compare_files(bare, bare)
    assert found.same
    assert [finding.path for finding in found.findings] == ["time", "bodies/com_offset"]


def test_datasets_with_other_units_or_shapes_are_reported_and_not_compared(run: Path, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        file["energy/total"].attrs["units"] = "kJ"
        about = dict(file["joints/ball/q"].attrs)
        del file["joints/ball/q"]
        file["joints/ball/q"] = np.zeros((len(TIME), 2))
        file["joints/ball/q"].attrs.update({key: about[key] for key in ("units", "rtol", "atol", "description")})

    found = compare_files(run, changed(run, tmp_path / "b.h5", change))
    assert "energy/total is in J in the reference, in kJ in the result" in found.mismatches
    assert "joints/ball/q has shape (25, 3) in the reference, (25, 2) in the result" in found.mismatches


def test_nan_in_both_runs_is_no_difference(run: Path, tmp_path: Path) -> None:
    one = shifted(run, tmp_path / "a.h5", "energy/total", (3,), np.nan)
    assert compare_files(one, one).same
    for pair in ((one, run), (run, one)):
        assert [finding.path for finding in compare_files(*pair).findings if finding.differs] == ["energy/total"]


def test_different_settings_are_reported_and_are_no_difference(run: Path, tmp_path: Path) -> None:
    scenes = [
        "mbsim: 1\nname: a\ngravity: [0, 0, -9.81]\nbodies: {arm: {mass: 1}}\n"
        "simulation: {method: aba, step: 1, options: {tolerance: 2}}\n",
        "mbsim: 1\nname: a\ngravity: [0, 0, -1.62]\nbodies: {arm: {mass: 1}, leg: {mass: 2}}\n"
        "simulation: {method: redmax, step: 1, options: {tolerance: 1}}\n",
    ]
    one = write_run(tmp_path / "a.h5", scene_yaml=scenes[0], scene_sha256="1")
    other = write_run(
        tmp_path / "b.h5",
        scene_yaml=scenes[1],
        scene_sha256="2",
        method="redmax",
        mbsim_version="0.0.9",
        mbsim_commit="0123456789ab",  # no setting: each commit would be one
        options={"tolerance": 1},
    )
    found = compare_files(one, other)
    assert found.same
    assert [str(setting) for setting in found.settings] == [
        "mbsim_version: 0.1.0 -> 0.0.9",
        "method: aba -> redmax",
        'options: {"a": [1.5], "b": 1} -> {"tolerance": 1}',
        "gravity[2]: -9.81 -> -1.62",
        "bodies.leg: (absent) -> {'mass': 2}",
    ]


def test_a_killed_run_differs_from_a_complete_run(run: Path, tmp_path: Path) -> None:
    part = write_run(tmp_path / "x.h5", TIME[:10], outcome=Outcome("running")).rename(tmp_path / "x.h5.part")
    assert compare_files(run, part).mismatches[0] == "status: complete -> running"


def test_a_killed_run_ends_with_its_shortest_channel(run: Path, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        for path in DATASETS[3:]:
            file[path].resize(7, axis=0)

    found = compare_files(run, changed(run, tmp_path / "b.h5", change))
    assert found.instants == (7, 25, 7)
    assert found.mismatches == ("the last instant: 2 s -> 0.5 s",)


# --- files that cannot be compared --------------------------------------------------------------------------
def foreign(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["time"] = [0.0]


def damaged_scene(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["scene_sha256"] = "1"
        del file["scene/yaml"]
        file["scene/yaml"] = "a: [1"


def many_aliases(path: Path) -> None:
    """A scene of 3 * 20^7 values, which must not be built."""
    lists = [f"a{k}: &a{k} [{','.join([f'*a{k - 1}'] * 20)}]\n" for k in range(1, 8)]
    with h5py.File(path, "r+") as file:
        file.attrs["scene_sha256"] = "1"
        del file["scene/yaml"]
        file["scene/yaml"] = "mbsim: 1\na0: &a0 [1, 1, 1]\n" + "".join(lists)


def odd_attribute(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["energy/total"].attrs["rtol"] = "much"


BAD = {
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:20_000]), "is damaged or truncated ("),
    "empty": (lambda path: path.write_bytes(b""), "is not a result file: it is not an HDF5 file"),
    "text": (lambda path: path.write_text("time\n"), "is not a result file: it is not an HDF5 file"),
    "foreign": (foreign, "is an HDF5 file, but not a result file of mbsim"),
    "no scene": (damaged_scene, "is damaged at scene/yaml:2:1 (not YAML:"),
    "aliases": (many_aliases, "is damaged at scene/yaml:7:"),
    "odd attribute": (
        odd_attribute,
        "is damaged at energy/total attribute `rtol`: expected a number; run the scene again",
    ),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "is a folder, not a result file"),
    "nothing": (Path.unlink, "does not exist"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("is_reference", [True, False])
def test_other_files_are_refused_by_name(run: Path, tmp_path: Path, kind: str, is_reference: bool) -> None:
    bad = tmp_path / "bad.h5"
    shutil.copyfile(run, bad)
    spoil, said = BAD[kind]
    spoil(bad)
    with pytest.raises(ResultError) as error:
        compare_files(*((bad, run) if is_reference else (run, bad)))
    assert str(error.value).startswith(f"{bad} {said}")


def test_any_damage_is_an_error_message(run: Path, tmp_path: Path) -> None:
    whole = run.read_bytes()
    generator = np.random.default_rng(3)
    bad = tmp_path / "bad.h5"
    for _ in range(60):
        spoiled = np.frombuffer(whole, np.uint8).copy()
        start = int(generator.integers(len(whole)))
        spoiled[start : start + 200] = generator.integers(0, 256, len(spoiled[start : start + 200]))
        bad.write_bytes(spoiled.tobytes())
        assert compare_case("bad", run, bad, Policy()).verdict in CaseVerdict  # nothing but a ResultError is raised


# --- folders ------------------------------------------------------------------------------------------------
def test_folders_are_compared_file_by_file(run: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one / "deep", other / "deep"):
        folder.mkdir(parents=True)
    for name in ("same", "deep/differs", "lost", "bad"):
        shutil.copyfile(run, one / f"{name}.h5")
        shutil.copyfile(run, other / f"{name}.h5")
    shifted(run, other / "deep/differs.h5", "energy/total", (3,), 1.0)
    (other / "lost.h5").rename(other / "new.h5")
    (other / "bad.h5").write_text("")
    cases = {case.name: case for case in compare_folders(one, other, Policy(), lambda _done, _all: None)}
    assert {name: case.verdict for name, case in cases.items()} == {
        "same.h5": CaseVerdict.SAME,
        "deep/differs.h5": CaseVerdict.DIFFERENT,
        "lost.h5": CaseVerdict.DIFFERENT,
        "bad.h5": CaseVerdict.TROUBLE,
        "new.h5": CaseVerdict.SAME,
    }
    assert cases["lost.h5"].trouble == f"{other / 'lost.h5'} does not exist"
    assert cases["new.h5"].trouble == f"{one / 'new.h5'} does not exist: there is nothing to compare with"


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"contains no result file \(\*\.h5\), so there is nothing to compare with"):
        list(compare_folders(tmp_path, tmp_path, Policy(), lambda _done, _all: None))


def test_files_are_read_in_slabs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write_run(tmp_path / "a.h5", names=names_of(joints=(("hinge", (ANGLE,)),)), block_rows=4, outcome=DONE)
    other = shifted(one, tmp_path / "b.h5", "bodies/position", (20, 1, 1), 1.0)
    whole = compare_files(one, other)
    monkeypatch.setattr("multibody_cli.output.result_file.SLAB_BYTES", 1)
    steps: list[tuple[int, int]] = []
    assert compare_files(one, other, on_numbers=lambda done, total: steps.append((done, total))) == whole
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    assert len(steps) == 7 * (len(whole.findings) - 1)  # seven chunks of each dataset


def test_names_cover_every_dataset() -> None:
    assert {path.split("/")[0] for path in DATASETS} >= {"bodies", "joints", "couplings", "constraints", "energy"}
    assert len(EVERYTHING.constraint_entries) == 3
