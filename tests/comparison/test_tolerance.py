"""Tolerances: precedence of sources, and validation of policy files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from result_files import changed, shifted, write_run

from multibody_cli.comparison.compare import compare_files
from multibody_cli.comparison.tolerance import Policy, read_rules
from multibody_cli.errors import SceneError
from multibody_cli.output.result_file import Dataset


def dataset(path: str = "joints/hinge/q", rtol: float | None = 1e-6, atol: float | None = 1e-9) -> Dataset:
    return Dataset(path, (3,), np.dtype(float), units="rad", rtol=rtol, atol=atol, role="coordinate")


def rules_of(folder: Path, text: str):
    (folder / "policy.yaml").write_text(text)
    return read_rules(folder / "policy.yaml")


def test_command_line_overrides_policy_and_policy_overrides_file(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, "joints: {rtol: 1e-3, atol: 1e-4}\n'joints/*/q':\n  atol: 1e-5\n")
    found = Policy(rtol=0.5, rules=rules).tolerance_of(dataset())
    assert (found.rtol, found.atol) == (0.5, 1e-5)
    assert found.source == f"command line and policy {tmp_path}/policy.yaml:3:3"
    found = Policy(rules=rules).tolerance_of(dataset("joints/hinge/v"))
    assert (found.rtol, found.atol, found.source) == (1e-3, 1e-4, f"policy {tmp_path}/policy.yaml:1:9")
    found = Policy(rules=rules).tolerance_of(dataset("energy/total"))
    assert (found.rtol, found.atol, found.source) == (1e-6, 1e-9, "reference file")
    found = Policy().tolerance_of(dataset(atol=None))
    assert (found.rtol, found.atol, found.source) == (1e-6, 1e-9, "reference file and default")


def test_the_last_rule_that_fits_counts(tmp_path: Path) -> None:
    policy = Policy(rules=rules_of(tmp_path, "'*': {ignore: true}\nenergy/total: {rtol: 0}\n"))
    assert policy.ignores("energy/kinetic") == f"{tmp_path}/policy.yaml:1:6"
    assert policy.ignores("energy/total") == ""
    assert policy.tolerance_of(dataset("energy/total")).rtol == 0.0


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "1:1", "the file is empty"),
        ("- a\n", "1:1", "expected a mapping such as `energy/*: {rtol: 1e-6, atol: 1e-9}`"),
        ("a: 1\n", "1:4", "a: expected `{rtol: ..., atol: ...}` or `{ignore: true}`"),
        ("a: {}\n", "1:4", "a: expected `{rtol: ..., atol: ...}` or `{ignore: true}`"),
        ("energy:\n  rtoll: 1\n", "2:3", "energy.rtoll: unknown key: did you mean `rtol`?"),
        ("a: {rtol: -1}\n", "1:11", "a.rtol: expected a number of at least 0"),
        ("a: {atol: .inf}\n", "1:11", "a.atol: expected a number of at least 0, in the units of the dataset"),
        ("a: {atol: .nan}\n", "1:11", "a.atol: expected a number of at least 0, in the units of the dataset"),
        ("a: {rtol: true}\n", "1:11", "a.rtol: expected a number of at least 0"),
        ("a: {rtol: 1 mm}\n", "1:11", "a.rtol: expected a number of at least 0"),
        ("a: {rtol: [1]}\n", "1:11", "a.rtol: expected a number of at least 0"),
        ("a: {rtol: }\n", "1:11", "a.rtol: expected a number of at least 0"),
        ("a: {ignore: 1}\n", "1:13", "a.ignore: expected true or false"),
        ("a: {rtol: 1}\na: {rtol: 2}\n", "2:1", "a: duplicate key, first defined in line 1"),
        (
            "a: {rtol: 1\n",
            "2:1",
            "not YAML: while parsing a flow mapping did not find expected ',' or '}': "
            "the `{` of line 1, column 4, is not closed before",
        ),
    ],
)
def test_an_error_in_a_policy_is_reported_with_its_location(tmp_path: Path, text: str, place: str, said: str) -> None:
    with pytest.raises(SceneError) as error:
        rules_of(tmp_path, text)
    assert str(error.value) == f"{tmp_path}/policy.yaml:{place}: {said}"


def test_all_problems_of_a_policy_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(SceneError) as error:
        rules_of(tmp_path, "a: {rtol: -1, atol: x}\nb: 3\n")
    assert [problem.path for problem in error.value.problems] == ["a.rtol", "a.atol", "b"]


def test_unused_rules_and_ignored_datasets_are_reported(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a.h5")
    rules = rules_of(tmp_path, "jonts: {rtol: 1}\nenergy/total: {ignore: true}\n")
    notes = compare_files(run, run, Policy(rules=rules)).notes
    assert f"{tmp_path}/policy.yaml:1:8: the rule `jonts` matches no dataset of the reference" in notes
    assert f"energy/total is ignored ({tmp_path}/policy.yaml:2:15)" in notes


def test_centers_of_mass_have_a_tolerance_like_all_others(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a.h5")
    other = shifted(one, tmp_path / "b.h5", "bodies/com_offset", (1, 2), 1e-4)
    found = compare_files(one, other)
    assert [(finding.path, str(finding.worst)) for finding in found.findings if finding.differs] == [
        ("bodies/com_offset", "hand z")
    ]
    assert compare_files(one, other, Policy(atol=2e-4)).same
    rules = rules_of(tmp_path, "bodies/com_offset: {ignore: true}\n")
    assert compare_files(one, other, Policy(rules=rules)).same


def test_a_missing_tolerance_is_the_default(tmp_path: Path) -> None:
    def change(file):
        del file["energy/total"].attrs["atol"]

    one = changed(write_run(tmp_path / "a.h5"), tmp_path / "b.h5", change)
    found = next(finding for finding in compare_files(one, one).findings if finding.path == "energy/total")
    assert found.tolerance.source == "reference file and default"
