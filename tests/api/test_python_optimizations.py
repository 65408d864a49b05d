"""`mbsim.optimize`: the optimum of the command line, its runs as a dataset, files and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim

PLACE = """\
mbsim: 1
name: place
gravity: [0, 0, 0]
vars: {x: 3, y: 4}
bodies: {ball: {kind: point, mass: 1, position: ["${x}", "${y}", 0]}}
simulation: {duration: 20 ms, step: 10 ms}
"""
X, Y = "bodies.ball.position.x", "bodies.ball.position.y"
NEAREST, LINE = f"({X}-2)**2 + ({Y}-1)**2@initial", [f"{X} + {Y}@initial == 1", f"{Y}@initial >= 20 cm"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_nearest_point_of_a_line(folder: Path) -> None:
    """The point of the line x + y = 1 with y >= 0.2 that is nearest to (2, 1): (0.8, 0.2), at 1.44 + 0.64."""
    found = mbsim.optimize(PLACE, NEAREST, {"vars.x": (3, -5, 5), "vars.y": "4,-5,5"}, subject_to=LINE, jobs=1)
    assert found.x == pytest.approx({"vars.x": 0.8, "vars.y": 0.2}, abs=1e-7)
    assert found.values[f"({X}-2)**2 + ({Y}-1)**2 initial"] == pytest.approx(2.08, abs=1e-6)
    assert found.status == "converged"
    assert found.message
    assert list(folder.iterdir()) == []


def test_the_runs_are_a_dataset_and_a_table_if_asked(folder: Path) -> None:
    vary = {"vars.x": (3.0, 0.5, 5.0)}
    found = mbsim.optimize(PLACE, f"{X} + 1/{X}", vary, output="runs.h5", write="best.yaml", plot="runs.png", jobs=1)
    assert found.x["vars.x"] == pytest.approx(1.0, abs=1e-6)
    x, values = found.runs["vars.x"].values, found.runs[f"{X} + 1/{X} final"].values
    np.testing.assert_allclose(values, x + 1.0 / x, rtol=1e-12)
    assert found.runs.sizes == {"run": len(found.trials)}
    assert set(found.runs["reason"].values) == {""}
    assert mbsim.load("best.yaml").run(channels=["bodies/ball/position"])["bodies/ball/position"][0, 0] == x.item(
        int(values.argmin())
    )
    assert Path("runs.png").read_bytes().startswith(b"\x89PNG")
    vary = {"vars.x": np.array([3.0, 0.5, 5.0])}
    again = mbsim.optimize(PLACE, f"{X} + 1/{X}", vary, output="runs.h5", jobs=1, overwrite=True)
    assert again.x == found.x
    with pytest.raises(mbsim.ArgumentError, match=r"best\.yaml exists: use overwrite=True"):
        mbsim.optimize(PLACE, X, vary, write="best.yaml")


def test_units_are_those_of_the_start(folder: Path) -> None:
    scene = PLACE.replace('"${x}"', '"${cos(x)}"')
    found = mbsim.optimize(scene, X, {"vars.x": ("100 deg", "90", "270")}, jobs=1)
    assert found.x["vars.x"] == pytest.approx(180.0, abs=1e-5)
    assert found.runs["vars.x"].attrs["units"] == "deg"


def test_a_front_of_two_objectives(folder: Path) -> None:
    """Of the squared distances to two points 1 apart: the roots add up to 1."""
    goals = [f"{X}**2 + {Y}**2@initial", f"({X}-1)**2 + {Y}**2@initial"]
    vary = {"vars.x": (3, -5, 5), "vars.y": (4, -5, 5)}
    found = mbsim.optimize(PLACE, goals, vary, points=3, exact=False, jobs=1)
    points = np.array([list(found.numbers(one).values()) for one in found.front])
    np.testing.assert_allclose(np.sqrt(np.abs(points)).sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vary": {}}, "expected parameters with their starts"),
        ({"subject_to": f"{X} <= 1"}, "subject_to: expected a list"),
        ({"algorithm": "newton"}, "algorithm: expected one of slsqp"),
        ({"jobs": 1, "dask": "tcp://x:1"}, "use one of them"),
        ({"vary": {"vars.x": (3, 5, 1)}}, "the lower one first: write --vary vars.x=3,1,5"),
        ({"vary": {"vars.x": (3, 4, 5)}}, "expected a start between the bounds of vars.x"),
        ({"minimize": "1/0"}, "--minimize 1/0: no expression of channels: `1/0` reads no channel"),
        ({"minimize": f"{X} +"}, "no expression of channels"),
    ],
)
def test_refusals(folder: Path, given: dict, message: str) -> None:
    with pytest.raises(mbsim.ArgumentError, match=message.replace("`", ".").replace("(", r"\(")):
        mbsim.optimize(PLACE, **{"minimize": X, "vary": {"vars.x": 3}} | given)


def test_a_start_without_a_value_is_refused_with_the_expression(folder: Path) -> None:
    with pytest.raises(
        mbsim.RunFailed, match=r"at the start, `1/\(.*` is not finite: a value is not finite; start elsewhere"
    ):
        mbsim.optimize(PLACE, f"1/({X}-3)", {"vars.x": 3}, jobs=1)


def test_a_dask_cluster_makes_the_same_runs(folder: Path) -> None:
    distributed = pytest.importorskip("distributed")
    given = (PLACE, f"({X}-2)**2 + {Y}**2", {"vars.x": (3, -5, 5), "vars.y": (4, -5, 5)})
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        far = mbsim.optimize(*given, exact=False, dask=cluster.scheduler_address, output="far.h5")
    near = mbsim.optimize(*given, exact=False, jobs=1, output="near.h5")
    assert far.executed == near.executed == len(near.trials)
    assert Path("far.h5").read_bytes() == Path("near.h5").read_bytes()
