"""Refusals of the readers of scenes that no scene of `broken/` reaches."""

from __future__ import annotations

import pytest
from scene_texts import BALL, HEAD, load, problems

from multibody_cli.errors import QuantityError
from multibody_cli.spec import units
from multibody_cli.spec.quantities import read_any, read_quantity

TWO = f"mbsim: 1\nbodies:\n  a: {BALL}\n  b: {BALL}\nsimulation: {{duration: 1}}\n"
LOOP = "joints:\n  j: {type: revolute, child: a, axis: [1,0,0]}\n  k: {type: revolute, child: a, axis: [1,0,0]}\n"
FORCE = "forces: {f: {body: ball, force: "
AFFINE = """\
mbsim: 1
bodies: {a: {kind: affine, mass: 1, shapes: [{type: sphere, radius: 0.1}]}}
joints: {j: {type: revolute, child: a, axis: [1, 0, 0], friction: {coefficient: 0.1, surface: {type: plane}}}}
simulation: {duration: 1, method: baraff}
"""

REFUSED = {
    "includes that are no list": (HEAD + "include: other.yaml\n", "4:10: include: expected a list of files"),
    "an unknown count": (HEAD + 'vars: {n: "${1/0}"}\nrepeat: [{count: "${n}"}]\n', "4:11: vars.n: `1/0`: division"),
    "a fraction as count": (HEAD + "repeat: [{count: 1.5}]\n", "repeat[0].count: expected a nonnegative integer"),
    "a huge whole number": (
        HEAD + "world: {shapes: [{type: sphere, radius: 1, priority: 1e300}]}\n",
        "world.shapes[0].priority: expected a whole number of at most 9007199254740992, found `1e+300`",
    ),
    "a circle": (HEAD + 'vars: {a: "${b}", b: "${a}"}\n', "circular definition: "),
    "a table in file 3": (
        HEAD + FORCE + "[0, 0, {file: 3, times: t, values: f}]}}\n",
        "forces.f.force[2].file: expected the name of a file",
    ),
    "a column 3": (
        HEAD + FORCE + "[0, 0, {file: a.csv, times: 3, values: f}]}}\n",
        "forces.f.force[2].times: expected the name of a column of the file",
    ),
    "a key twice": (
        HEAD + 'vars: {n: f}\nforces: {f: {body: ball, force: [0, 0, 1]}, "${n}": {}}\n',
        "forces.f: duplicate key after evaluation of `${...}`",
    ),
    "a template as a result": (HEAD + "name: \"${concat('$', '{x')}\"\n", "name: `${concat('$', '{x')}`: unclosed"),
    "a list in a text": (HEAD + 'vars: {l: [1]}\nname: "x${l}"\n', "must be a number or a string"),
    "a list compared": (HEAD + 'vars: {l: [1]}\nname: "${1 if l < 2 else 2}"\n', "found a list of 1"),
    "a list as text": (HEAD + 'vars: {l: [1]}\nname: "${concat(l)}"\n', "joins numbers and texts, found a list"),
    "a vector of two": (HEAD + FORCE + "[0, 0]}}\n", "expected a list [x, y, z]"),
    "a text as vector": (HEAD + FORCE + "up}}\n", "or an expression of t, found `up`"),
    "two signs": (HEAD + "gravity: [0, 0, 1 m//s]\n", "gravity[2]: `m//s` is not a unit"),
    "empty brackets": (HEAD + "gravity: [0, 0, 1 m/()]\n", "gravity[2]: `m/()` is not a unit"),
    "an open bracket": (HEAD + "gravity: [0, 0, 1 m/(s*s]\n", "gravity[2]: `m/(s*s` is not a unit"),
    "an option of another type": (
        HEAD.replace("duration: 1", "duration: 1, options: {stabilization: 3}"),
        "simulation.options.stabilization: expected `projection`, `baumgarte` or `baumgarte_velocity`, found `3`",
    ),
    "a coupling of a loop": (
        TWO + LOOP + "couplings:\n  b: {type: gear, joints: [j, k], ratio: 2}\n"
        "  c: {type: gear, joints: [j, k], ratio: 2, reduce: true}\n",
        "couplings.c.joints[1]: `k` closes a loop",
    ),
    "limits beside a joint that does not move": (
        (TWO + LOOP[: LOOP.index("  k:")])
        .replace("1,0,0]", "1,0,0], limits: [0, 1]")
        .replace("joints:\n", "joints:\n  a_weld: {type: fixed, child: b}\n")
        .replace("duration: 1", "duration: 1, integrator: dop853"),
        "joints.j.limits: integrator `dop853` has a variable step size",
    ),
    "a duration and an output interval": (
        HEAD.replace("duration: 1", "duration: 1.0005, step: 1e-3") + "output: {every: 1.5e-3}\n",
        "output.every: expected `every`, 0.0015 s, to be a multiple of `step`",
    ),
    "a text of 60 characters": (HEAD + f"gravity: [0, 0, {'x' * 60}]\n", f"`{'x' * 60}`"),
    "a text of 61 characters": (HEAD + f"gravity: [0, 0, {'x' * 61}]\n", f"`{'x' * 57}...`"),
    "limits and adaptive steps": (
        (TWO + LOOP[: LOOP.index("  k:")])
        .replace("1,0,0]", "1,0,0], limits: [0, 1]")
        .replace("duration: 1", "duration: 1, integrator: dop853"),
        "joints.j.limits: integrator `dop853` has a variable step size",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages_of_readers(tmp_path, name):
    text, message = REFUSED[name]
    assert any(message in problem for problem in problems(tmp_path, text)), problems(tmp_path, text)


def test_sections_of_two_types_are_not_merged(tmp_path):
    (tmp_path / "other.yaml").write_text("mbsim: 1\nbodies: [a]\n")
    found = problems(tmp_path, HEAD + "include: [other.yaml]\n")
    assert found == [f"scene.yaml:2:1: bodies: already defined in {tmp_path}/other.yaml:2:1: leave out one of them"]


def test_a_cell_of_a_table_has_a_largest_length(tmp_path):
    (tmp_path / "a.csv").write_text('t,f\n"' + "1" * 140_000 + '",1\n')
    found = problems(tmp_path, HEAD + FORCE + "[0, 0, {file: a.csv, times: t, values: f}]}}\n")
    assert found == [
        f"scene.yaml:4:47: forces.f.force[2].file: {tmp_path}/a.csv:2: cannot read the cells: field larger than "
        "field limit (131072)"
    ]


def test_quotes_and_comments_in_a_table(tmp_path):
    (tmp_path / "a.csv").write_text('# table\n"t" , f\n\n 0,"1"\n # later\n1 ,2\n')
    force = load(tmp_path, HEAD + FORCE + "[0, 0, {file: a.csv, times: t, values: f}]}}\n").scene.forces["f"].force[2]
    assert (force.times, force.values) == ((0.0, 1.0), (1.0, 2.0))


@pytest.mark.parametrize("cell", ["", "x", "nan", "inf", "1 2"])
def test_a_cell_that_is_no_number_is_refused_with_its_line(tmp_path, cell):
    (tmp_path / "a.csv").write_text(f"t,f\n\n0,1\n1,{cell}\n")
    (found,) = problems(tmp_path, HEAD + FORCE + "[0, 0, {file: a.csv, times: t, values: f}]}}\n")
    assert found.endswith(f"a.csv:4: column `f`: expected a number, found `{cell}`")


def test_an_entry_of_a_list_is_set_by_its_number(tmp_path):
    text = HEAD + "gravity: [0, 0, -9]\n"
    assert load(tmp_path, text, "gravity.2=-1").scene.gravity == (0.0, 0.0, -1.0)
    assert problems(tmp_path, text, "gravity.3=1") == ["--set gravity.3=1: `gravity.3`: expected an index below 3"]
    assert problems(tmp_path, text, "gravity.x=1") == ["--set gravity.x=1: `gravity.x`: expected an index below 3"]


def test_a_text_that_is_almost_a_quantity_is_a_text(tmp_path):
    assert load(tmp_path, HEAD + 'vars: {l: 5 foo}\nname: "${l}"\n').scene.name == "5 foo"


def test_numbers_out_of_bounds_are_refused():
    with pytest.raises(QuantityError, match="not finite"):
        read_quantity(10**400, units.NUMBER)
    with pytest.raises(QuantityError, match=r"expected a number of at least 0, found `-1\.0`"):
        read_any("-1 m", 0.0)
    assert read_any("2 km", 0.0) == 2000.0


def test_values_are_counted_in_each_file_and_in_all_together(tmp_path, monkeypatch):
    (tmp_path / "other.yaml").write_text("mbsim: 1\nvars: {a: 1, b: 2}\n")  # 5 values, and 11 in HEAD
    monkeypatch.setenv("MBSIM_LIMITS", "values=11")
    load(tmp_path, HEAD)
    both = HEAD + "include: [other.yaml]\n"  # 2 more
    (found,) = problems(tmp_path, both)
    assert found.startswith("scene.yaml:4:10: expected at most 11 values")
    monkeypatch.setenv("MBSIM_LIMITS", "values=18")
    load(tmp_path, both)
    monkeypatch.setenv("MBSIM_LIMITS", "values=17")
    (found,) = problems(tmp_path, both)
    assert "other.yaml:1:1: expected at most 17 values" in found


def test_numbers_of_bodies_and_joints_are_refused_before_they_are_generated(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "elements=5")
    block = f'{{bodies: {{"b${{i}}": {BALL}}}, joints: {{"j${{i}}": {{type: free, child: "b${{i}}"}}}}, count: '
    assert len(load(tmp_path, HEAD + f"repeat: [{block}2}}]\n").scene.bodies) == 3
    (found,) = problems(tmp_path, HEAD + f"repeat: [{block}3}}]\n")
    assert "repeat[0]: expected at most 5 bodies and joints, with those of strands, found 7;" in found
    other = f'{{bodies: {{"c${{i}}": {BALL}}}, count: '
    (found,) = problems(tmp_path, HEAD + f"repeat: [{block}1}}, {other}2}}, {block}3}}, {other}4}}]\n")
    assert "repeat[2]: expected at most 5 bodies and joints, with those of strands, found 15;" in found, "of all blocks"
    bodies = "".join(f"  b{k}: {BALL}\n" for k in range(6))
    (found,) = problems(tmp_path, f"mbsim: 1\nsimulation: {{duration: 1}}\nbodies:\n{bodies}")
    assert found.startswith("scene.yaml:3:1: bodies: expected at most 5 bodies and joints")
