"""`mbsim modes` and `mbsim linearize`: output, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_result import Command
from scipy.io import loadmat

SCENE = """mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {mass: 1, inertia: {principal: [1, 1, 1]}}
  b: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  one: {type: prismatic, axis: [1, 0, 0], child: a, stiffness: 100, damping: 0.2}
  two: {type: prismatic, axis: [1, 0, 0], parent: a, child: b, stiffness: 100}
  free: {type: revolute, axis: [0, 0, 1], parent: b, child: c}
simulation: {duration: 0.1 s, step: 1 ms}
""".replace("joints:", "  c: {mass: 0, inertia: {principal: [0, 0, 1]}}\njoints:")


def test_modes_as_table_json_and_motion(mbsim: Command, folder: Path) -> None:
    (folder / "two.yaml").write_text(SCENE)
    ending = mbsim("modes", "two.yaml", "--equilibrium", "--mode", "2", "-o", "second.h5")
    assert ending.code == 0
    assert ending.stdout.splitlines()[0].split()[:4] == ["mode", "frequency", "Hz", "damping"]
    assert len(ending.stdout.splitlines()) == 4
    assert "2 exponents of 0" in ending.stderr
    found = json.loads(mbsim("modes", "two.yaml", "--equilibrium", "--json").stdout)
    w = 10.0 * np.sqrt([(3 - 5**0.5) / 2, (3 + 5**0.5) / 2])
    np.testing.assert_allclose(found["undamped_frequencies"], [0, *w / (2 * np.pi)], rtol=1e-12)
    assert found["free_exponents"] == 2
    assert set(found["modes"][0]["shape"]) == {"one", "two"}
    assert mbsim("render", "second.h5", "-o", "second.html").code == 0
    ending = mbsim("modes", "two.yaml", "--mode", "3", "-o", "third.h5")
    assert (ending.code, "--mode 3: the scene has 2 modes" in ending.stderr) == (2, True)
    ending = mbsim("modes", "two.yaml", "--mode", "1")
    assert (ending.code, "add -o FILE.h5" in ending.stderr) == (2, True)
    at = mbsim("modes", "two.yaml", "--at", "0.05s", "--json")
    assert len(json.loads(at.stdout)["modes"]) == 2
    ending = mbsim("modes", "two.yaml", "--at", "0.0505s")
    assert (ending.code, "--at" in ending.stderr) == (2, True)


@pytest.mark.parametrize("suffix", ["npz", "json", "mat"])
def test_matrices_in_each_format(mbsim: Command, folder: Path, suffix: str) -> None:
    (folder / "two.yaml").write_text(SCENE)
    name = f"two.{suffix}"
    ending = mbsim("linearize", "two.yaml", "--to", name, "--output", "bodies/b/com[x]", "--input", "force/two")
    assert (ending.code, ending.stdout) == (0, f"{name}: 6 states, 1 input, 1 output, at t = 0 s\n")
    path = folder / name
    if suffix == "json":
        data = json.loads(path.read_text())
    else:
        data = dict(np.load(path)) if suffix == "npz" else loadmat(path, squeeze_me=True)
    assert [str(one) for one in data["states"]] == ["q/one", "q/two", "q/free", "v/one", "v/two", "v/free"]
    np.testing.assert_allclose(np.ravel(data["C"]), [1, 1, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.asarray(data["A"])[3], [-100, 100, 0, -0.2, 0, 0], atol=1e-10)
    assert mbsim("linearize", "two.yaml", "--to", name).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "a.txt"], "--to a.txt: expected a name that ends in .npz, .mat, .json"),
        (["--to", "a.npz", "--input", "force/tow"], "--input force/tow: no such input"),
        (["--to", "a.npz", "--output", "joints/one/w"], "no channel `joints/one/w`"),
        (["--to", "a.npz", "--at", "noon"], "--at noon"),
    ],
)
def test_refusals_of_linearize(mbsim: Command, folder: Path, words: list[str], message: str) -> None:
    (folder / "two.yaml").write_text(SCENE)
    ending = mbsim("linearize", "two.yaml", *words)
    assert (ending.code, message in ending.stderr) == (2, True), ending.stderr
