"""`mbsim codegen`: the generated module computes the accelerations of the scene."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from command_result import Command

from multibody_cli.studies.simulation import prepare

TREE = """
mbsim: 1
name: tree
bodies:
  trunk: {mass: 2, shapes: [{type: box, size: [0.1, 0.2, 0.8]}]}
  left: {mass: 1, shapes: [{type: box, size: [0.1, 0.1, 0.5]}]}
  right: {mass: 1.5, shapes: [{type: box, size: [0.1, 0.1, 0.4]}]}
  bead: {mass: 0.3, shapes: [{type: sphere, radius: 0.05}]}
joints:
  base: {type: spherical, child: trunk, child_origin: {position: [0, 0, 0.4]}, q: {rotvec: [0.3, 0.2, 0]}, v: [1, 2, 3]}
  a: {type: revolute, parent: trunk, child: left, axis: [1, 2, 2], origin: {position: [0, 0, -0.4]}, q: 0.4, v: -1}
  b: {type: %s, parent: trunk, child: right, origin: {position: [0.1, 0, -0.4]}, %s}
  c: {type: curve, parent: left, child: bead, q: 1.3, v: 2, orientation: tangent,
      curve: {type: bspline, points: [[0, 0, 0], [0.1, 0.1, 0], [0.2, 0, 0.1], [0.3, 0, 0], [0.3, 0.2, 0]]}}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""
OTHERS = {
    "universal": ("universal", "q: [0.3, -0.2], v: [1, 2]"),
    "exponential": ("spherical", "parametrization: exponential, q: {rotvec: [0.4, 0.1, 0]}, v: [1, 0, 2]"),
}


@pytest.mark.parametrize("joint", OTHERS.values(), ids=OTHERS)
def test_the_module_computes_the_accelerations_of_the_scene(
    mbsim: Command, folder: Path, joint: tuple[str, str]
) -> None:
    (folder / "tree.yaml").write_text(TREE % joint)
    ending = mbsim("codegen", "tree.yaml", "-o", "tree.py")
    assert (ending.code, ending.stdout) == (0, "tree.py\n")
    module = runpy.run_path("tree.py")
    simulation = prepare("tree.yaml")
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    found = module["accelerations"](state.q.tolist(), state.v.tolist(), [0.0] * len(state.v))
    np.testing.assert_allclose(found, state.a, rtol=0, atol=1e-11 * np.abs(state.a).max())


def test_forces_on_coordinates_are_an_input(mbsim: Command, folder: Path) -> None:
    (folder / "tree.yaml").write_text(TREE % OTHERS["universal"])
    mbsim("codegen", "tree.yaml", "-o", "tree.py")
    numbers = json.loads(mbsim("equations", "tree.yaml", "--json", "--at", "0").stdout)
    tau = np.linspace(-1, 1, len(numbers["h"]))
    state = numbers["state"]
    found = runpy.run_path("tree.py")["accelerations"](state["q"], state["v"], tau.tolist())
    expected = np.linalg.solve(numbers["M"], tau - numbers["h"])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_another_ending_than_that_of_python_is_refused(mbsim: Command, folder: Path) -> None:
    (folder / "tree.yaml").write_text(TREE % OTHERS["universal"])
    ending = mbsim("codegen", "tree.yaml", "-o", "tree.c")
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr == "error: tree.c: the program is written as Python: write tree.py\n"
    assert not (folder / "tree.c").exists()


def test_the_source_names_its_equations_and_its_omissions(mbsim: Command, folder: Path) -> None:
    (folder / "tree.yaml").write_text(
        TREE % OTHERS["universal"] + "forces: {wind: {body: bead, force: [1, 0, 0], frame: world}}\n"
    )
    text = mbsim("codegen", "tree.yaml").stdout
    for words in (
        "(18)-(23)",
        "(24)-(33)",
        "(34), (35)",
        "(28), (32), (33)",
        "Omitted: forces `wind`.",
        "v[0]: joint base",
    ):
        assert words in text
    assert text == mbsim("codegen", "tree.yaml").stdout
    assert max(map(len, text.splitlines())) < 200


FORK = """
mbsim: 1
name: fork
gravity: [1, 2, -9]
bodies:
  a: &rod {mass: 1, inertia: {principal: [0.1, 0.2, 0.25]}, com: [0.1, 0, -0.5]}
  b: *rod
  c: *rod
  d: *rod
joints:
  ja: {type: revolute, child: a, axis: [0, 1, 0], q: 0.3, v: 1}
  jb: {type: revolute, parent: a, child: b, axis: [0, 1, 0], q: 0.4, v: 1, origin: {position: [0, 0, -1]}}
  jc: {type: revolute, parent: a, child: c, axis: [0, 1, 0], q: -0.4, v: 1, origin: {position: [0, 0, -1]}}
  jd: {type: revolute, child: d, axis: [0, 1, 0], q: 0.7, v: 1}
simulation: {duration: 0.1 s, step: 1 ms, integrator: rk4}
"""


def test_similar_links_share_code_whatever_their_parent(mbsim: Command, folder: Path) -> None:
    # the state of their parents is read from memory then, where the ground rises against gravity
    (folder / "fork.yaml").write_text(FORK)
    mbsim("codegen", "fork.yaml", "-o", "fork.py")
    module = runpy.run_path("fork.py")
    q, v = [0.3, 0.4, -0.4, 0.7], [1.0] * 4
    formulas = json.loads(mbsim("equations", "fork.yaml", "--json", "--at", "0").stdout)
    expected = np.linalg.solve(formulas["M"], -np.array(formulas["h"]))
    np.testing.assert_allclose(module["accelerations"](q, v, [0.0] * 4), expected, rtol=0, atol=1e-11)
    single = -(9 * (0.5 * np.sin(0.7) - 0.1 * np.cos(0.7)) + 1 * (0.5 * np.cos(0.7) + 0.1 * np.sin(0.7)))
    assert expected[3] == pytest.approx(single / (0.2 + 0.5**2 + 0.1**2))  # a compound pendulum by itself


def test_joint_forces_are_documented_as_arguments(mbsim: Command, folder: Path) -> None:
    pendulum = (folder / "pendulum.yaml").read_text()
    assert "    tau[" not in mbsim("codegen", "pendulum.yaml").stdout
    spring = 'force: "0.2*sin(t)", stiffness: 4, rest: 0.1, damping: 0.5, q:'
    (folder / "sprung.yaml").write_text(pendulum.replace("q:", spring))
    text = mbsim("codegen", "sprung.yaml").stdout
    assert "    tau[0] = -4*(q[0] - 0.1) - 0.5*v[0] + 0.2*sin(t)\n" in text
    assert "pass them as tau" in text
    assert "origin.  1 link.\n" in text


def test_the_folder_of_the_module_is_created(mbsim: Command, folder: Path) -> None:
    assert mbsim("codegen", "pendulum.yaml", "-o", "new/pendulum.py").code == 0
    assert (folder / "new/pendulum.py").exists()


def test_an_existing_file_is_kept_unless_forced(mbsim: Command, folder: Path) -> None:
    (folder / "kept.py").write_text("mine")
    ending = mbsim("codegen", "pendulum.yaml", "-o", "kept.py")
    assert ending.code == 2
    assert "--force" in ending.stderr
    assert (folder / "kept.py").read_text() == "mine"
    assert mbsim("codegen", "pendulum.yaml", "-o", "kept.py", "--force").code == 0


def test_prescribed_coordinates_do_not_accelerate_and_are_named(mbsim: Command, folder: Path) -> None:
    text = (TREE % OTHERS["universal"]).replace("q: 0.4, v: -1}", "q: 0.4, motion: {velocity: 2}}")
    (folder / "tree.yaml").write_text(text)
    mbsim("codegen", "tree.yaml", "-o", "tree.py")
    assert "prescribed motions, whose dv/dt is set to 0: joint a." in (folder / "tree.py").read_text()
    simulation = prepare("tree.yaml")
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    found = runpy.run_path("tree.py")["accelerations"](state.q.tolist(), state.v.tolist(), [0.0] * len(state.v))
    np.testing.assert_allclose(found, state.a, rtol=0, atol=1e-11 * np.abs(state.a).max())
    assert found[3] == 0.0
