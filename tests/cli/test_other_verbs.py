"""`mbsim validate`, `info`, `list` and `schema`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_result import Command

from multibody_cli.cli.list import LISTS
from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.joints import JOINTS
from multibody_cli.joints.geometry.curve_specs import CURVES
from multibody_cli.joints.geometry.surfaces import SURFACES
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.output.channels import CHANNELS
from multibody_cli.scene.shapes import SHAPES


def test_validate_lists_every_problem_of_every_scene(mbsim: Command, folder: Path) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "broken.yaml").write_text(text.replace("mass:", "mas:").replace("type: revolute", "type: revolut"))
    ending = mbsim("validate", "pendulum.yaml", "broken.yaml", "missing.yaml")
    assert ending.code == 2
    lines = ending.stdout.splitlines()
    assert lines[0] == "pendulum.yaml: ok"
    assert any(line.startswith("broken.yaml:6:") and "mass" in line for line in lines)
    assert any(line.startswith("broken.yaml:8:") and "revolute" in line for line in lines)
    assert "missing.yaml" in lines[-1]


def test_validate_refuses_what_run_refuses(mbsim: Command) -> None:
    for setting in (
        "simulation.method=abba",
        "simulation.integrator=rk5",
        "expect=[{at: 0.1234, channel: time, value: 0, atol: 1}]",
    ):
        assert mbsim("validate", "pendulum.yaml", "--set", setting).code == 2
        assert mbsim("run", "pendulum.yaml", "--set", setting).code == 2


def test_validate_as_json(mbsim: Command) -> None:
    ending = mbsim("validate", "pendulum.yaml", "missing.yaml", "--json")
    good, bad = json.loads(ending.stdout)
    assert ending.code == 2
    assert good == {"scene": "pendulum.yaml", "valid": True, "problems": []}
    assert bad["valid"] is False
    assert set(bad["problems"][0]) >= {"where", "path", "message"}


def test_info_of_a_scene(mbsim: Command) -> None:
    data = json.loads(mbsim("info", "pendulum.yaml", "--json").stdout)
    assert data["scene"]["degrees of freedom"] == 1
    assert data["scene"]["steps"] == 100
    [body] = data["bodies"]
    assert (body["body"], body["mass kg"], body["inboard joint"]) == ("rod", 2.0, "hinge")
    [joint] = data["joints"]
    assert (joint["joint"], joint["type"], joint["DoF"]) == ("hinge", "revolute", 1)


def test_info_of_a_result(mbsim: Command) -> None:
    mbsim("run", "pendulum.yaml", "-o", "run.h5")
    data = json.loads(mbsim("info", "run.h5", "--json").stdout)
    assert data["file"]["method"] == "aba"
    shapes = {entry["dataset"]: (entry["shape"], entry["units"]) for entry in data["datasets"]}
    assert shapes["bodies/position"] == ("(11, 1, 3)", "m")
    assert shapes["joints/hinge/q"] == ("(11, 1)", "rad")


@pytest.mark.parametrize("path", ["pendulum.yaml", "run.h5"])
def test_info_as_a_table_has_every_entry(mbsim: Command, path: str) -> None:
    mbsim("run", "pendulum.yaml", "-o", "run.h5")
    text = mbsim("info", path).stdout
    assert "hinge" in text
    assert "pendulum" in text


def test_info_of_a_damaged_result(mbsim: Command, folder: Path) -> None:
    mbsim("run", "pendulum.yaml", "-o", "run.h5")
    whole = (folder / "run.h5").read_bytes()
    (folder / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (folder / "text.h5").write_text("not at all")
    for name in ("cut.h5", "text.h5"):
        ending = mbsim("info", name)
        assert ending.code == 2
        assert name in ending.stderr
        assert "internal error" not in ending.stderr


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("methods", METHODS),
        ("integrators", INTEGRATORS),
        ("joints", JOINTS),
        ("shapes", SHAPES),
        ("channels", [channel.path.replace("{", "<").replace("}", ">") for channel in CHANNELS]),
        ("couplings", COUPLINGS),
        ("constraints", CONSTRAINTS),
        ("forces", ["load", "drag"]),
        ("springs", ["spring", "bushing", "muscle", "strand"]),
        ("curves", CURVES),
        ("surfaces", SURFACES),
    ],
)
def test_lists_contain_their_whole_catalogue(mbsim: Command, kind: str, names: list[str]) -> None:
    rows = json.loads(mbsim("list", kind, "--json").stdout)
    first = [next(iter(row.values())) for row in rows]
    assert [name for name in names if name not in first] == []
    assert all(row["description"] for row in rows)
    table = mbsim("list", kind).stdout
    assert all(name in table for name in names)


def test_lists_are_all_tested() -> None:
    constraints = {"couplings", "constraints"}
    forces, geometry = {"forces", "springs"}, {"shapes", "curves", "surfaces"}
    rest = {"methods", "features", "integrators", "joints", "channels", "actuators"}
    assert set(LISTS) == rest | forces | constraints | geometry


def test_the_table_of_features_agrees_with_the_methods(mbsim: Command) -> None:
    rows = json.loads(mbsim("list", "features", "--json").stdout)
    said = {(row["feature"], method): row[method] for row in rows for method in METHODS}
    assert said == {
        (feature.value, name): "yes" if feature in kind.supports else "no"
        for feature in Feature
        for name, kind in METHODS.items()
    }


@pytest.mark.parametrize("words", [[], ["scene"], ["result"]])
def test_schema_is_json(mbsim: Command, words: list[str]) -> None:
    ending = mbsim("schema", *words)
    assert ending.code == 0
    assert json.loads(ending.stdout)


def test_schema_check_reports_outdated_files(mbsim: Command, folder: Path) -> None:
    ending = mbsim("schema", "--check")
    assert ending.code == 1
    assert "schemas/scene.schema.json" in ending.stdout
    assert mbsim("schema", "--write").code == 0
    assert mbsim("schema", "--check").code == 0
    page = folder / "docs" / "reference" / "commands.md"
    page.write_text(page.read_text() + "by hand")
    ending = mbsim("schema", "--check")
    assert (ending.code, ending.stdout) == (1, "docs/reference/commands.md\n")


def test_generated_files_of_the_project_are_current(mbsim: Command) -> None:
    ending = mbsim("schema", "--check", "--root", Path(__file__).parents[2])
    assert ending.code == 0, f"run `mbsim schema --write`: {ending.stdout}"


def test_pages_link_to_headings_that_exist(mbsim: Command, folder: Path) -> None:
    mbsim("schema", "--write")
    page = (folder / "docs/reference/scene.md").read_text()
    headings = {
        line.lstrip("# ").lower().replace(":", "").replace(" ", "-") for line in page.splitlines() if line[:1] == "#"
    }
    anchors = {part.partition('"')[0] for part in page.split('<a id="')[1:]}
    links = {part.partition(")")[0] for part in page.split("](#")[1:]}
    assert links
    assert links <= headings | anchors


def test_info_of_a_result_refuses_overrides(mbsim: Command, folder: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "r.h5").code == 0
    end = mbsim("info", "r.h5", "--set", "vars.n=2")
    assert end.code == 2
    assert "--set" in end.stderr
