"""Sensitivity indices of sweeps, against closed forms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.cli.app import main
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.studies.sweep.indices import base_of, sobol_indices

PLACE = """\
mbsim: 1
name: place
gravity: [0, 0, 0]
vars: {x: 0, y: 0}
bodies: {ball: {kind: point, mass: 1, position: ["${x}", "${y}", "${x*y}"]}}
simulation: {duration: 10 ms, step: 10 ms}
"""


def test_indices_of_a_sum_and_of_a_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """x + 2 y has shares 1/5 and 4/5; x y of variables without mean has no main effects, and total indices of 1."""
    monkeypatch.chdir(tmp_path)
    Path("place.yaml").write_text(PLACE)
    words = ["--vary", "vars.x=uniform(-1, 1)", "--vary", "vars.y=uniform(-1, 1)", "--samples", "256"]
    kept = ["--keep", "bodies.ball.position.x + 2*bodies.ball.position.y", "--keep", "bodies/ball/position[z]"]
    with pytest.raises(SystemExit) as ending:
        main(["sweep", "place.yaml", *words, "--sampling", "saltelli", *kept, "-o", "t.h5", "--jobs", "1"])
    assert ending.value.code == 0
    table = SweepTable(Path("t.h5"))
    assert (base_of(table), table.count) == (256, 1024)
    found = {(one.column.split()[-2], one.key): one for one in sobol_indices(table)}
    expected = {
        ("2*bodies.ball.position.y", "vars.x"): (0.2, 0.2),
        ("2*bodies.ball.position.y", "vars.y"): (0.8, 0.8),
        ("bodies/ball/position[z]", "vars.x"): (0.0, 1.0),
        ("bodies/ball/position[z]", "vars.y"): (0.0, 1.0),
    }
    assert found.keys() == expected.keys()
    for key, (first, total) in expected.items():
        assert found[key].first == pytest.approx(first, abs=0.1)
        assert found[key].total == pytest.approx(total, abs=0.1)
        assert np.isfinite([found[key].first_error, found[key].total_error]).all()
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["info", "t.h5", "--json"])
    assert len(json.loads(capsys.readouterr().out)["sensitivity indices"]) == 4


def test_a_design_without_random_keys_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("place.yaml").write_text(PLACE)
    with pytest.raises(SystemExit) as ending:
        main(["sweep", "place.yaml", "--vary", "vars.x=1,2", "--sampling", "saltelli"])
    assert ending.value.code == 2
    assert "--sampling saltelli needs random keys" in capsys.readouterr().err
