"""Scenes that ask for too much are refused, with the number and the limit, before the work is done."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import multibody_cli
from multibody_cli.errors import ArgumentError, SceneError, nearest
from multibody_cli.limits import LIMITS, LimitError, Usage, limit_of, require_within
from multibody_cli.scene.load import load_scene

ROOT = Path(multibody_cli.__file__).parents[1]
START = "mbsim: 1\nbodies: {a: {mass: 1 kg, shapes: [{type: sphere, radius: 0.1}]}}\n"
END = "simulation: {duration: 10 ms, step: 1 ms}\n"


def refusal(folder: Path, text: str) -> str:
    path = folder / "scene.yaml"
    path.write_text(text)
    with pytest.raises(SceneError) as error:
        load_scene(path)
    return str(error.value)


def growing(first: str, link: str, factor: int, joint: str = ",") -> str:
    """Variables of which each contains the one before `factor` times; `link` is around the copies."""
    chain = "".join(
        f"  a{k}: {link.replace('@', joint.join([link_name(link, k - 1)] * factor))}\n" for k in range(1, 9)
    )
    return f"vars:\n  a0: {first}\n{chain}"


def link_name(link: str, number: int) -> str:
    return f"a{number}" if "${" in link else f'"${{a{number}}}"'


CHAINS = {
    "texts": "vars:\n  a0: aaaaaaaaaa\n" + "".join(f'  a{k}: "{f"${{a{k - 1}}}" * 50}"\n' for k in range(1, 9)),
    "concat": growing("aaaaaaaaaa", '"${concat(@)}"', 90),
    "lists of expressions": growing('"${[1, 1, 1]}"', '"${[@]}"', 50),
    "lists of templates": growing("1", "[@]", 50),
    "aliases": "vars:\n  a0: &a0 [1, 1, 1]\n"
    + "".join(f"  a{k}: &a{k} [{','.join([f'*a{k - 1}'] * 50)}]\n" for k in range(1, 9)),
    "keys": "vars:\n  a0: aaaaaaaaaa\n"
    + "".join(f'  a{k}: "{f"${{a{k - 1}}}" * 50}"\n' for k in range(1, 4))
    + 'joints:\n  "'
    + "${a3}" * 50
    + '": {}\n',
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=list(CHAINS))
def test_growing_values_are_refused(tmp_path, monkeypatch, chain):
    monkeypatch.setenv("MBSIM_LIMITS", "values=20000,characters=100000")
    message = refusal(tmp_path, START + chain + END)
    assert "expected at most 20000 values" in message or "expected at most 100000 characters" in message
    assert "raises the limit" in message


def test_the_number_of_a_refused_list_is_that_of_its_values(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "values=20000")
    message = refusal(tmp_path, START + growing('"${[1, 1, 1]}"', '"${[@]}"', 50) + END)
    # the lists have 4, 201, 10051 and 502551 values, the scene and its variables a few more
    assert "vars.a3: expected at most 20000 values" in message
    assert "found 520000;" in message


def test_lists_of_variables_are_nested_to_a_limited_depth(tmp_path):
    chain = "".join(f'  a{k}: ["${{a{k - 1}}}"]\n' for k in range(1, 200))
    assert "nested more than 50 deep" in refusal(tmp_path, f"{START}vars:\n  a0: 1\n{chain}{END}")


def test_repeats_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "values=10000")
    block = '{count: 1000, bodies: {"b@-${i}": {mass: 1, shapes: [{type: sphere, radius: 1}]}}}'

    def scene(blocks: int) -> str:
        return f"{START}repeat: [{', '.join(block.replace('@', str(k)) for k in range(blocks))}]\n{END}"

    # 9 values each: one block fits, two do not
    path = tmp_path / "one.yaml"
    path.write_text(scene(1))
    assert len(load_scene(path).scene.bodies) == 1001
    assert "repeat[1]: expected at most 10000 values" in refusal(tmp_path, scene(2))


def test_tables_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "values=5000")
    (tmp_path / "t.csv").write_text("t,f\n" + "".join(f"{k},0\n" for k in range(2000)))
    table = "{file: t.csv, times: t, values: f}"
    one = f"{START}forces: {{f: {{body: a, force: [0, 0, {table}]}}}}\n{END}"
    (tmp_path / "one.yaml").write_text(one)
    assert len(load_scene(tmp_path / "one.yaml").scene.forces["f"].force[2].times) == 2000
    assert "force[2].file: expected at most 5000 values" in refusal(tmp_path, one.replace("[0, 0,", f"[0, {table},"))


def test_files_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "bytes=1000")
    (tmp_path / "other.yaml").write_text("mbsim: 1\n" + "#" * 600 + "\n")
    (tmp_path / "one.yaml").write_text(f"{START}include: [other.yaml]\n{END}")
    load_scene(tmp_path / "one.yaml")
    assert "expected at most 1000 bytes" in refusal(tmp_path, f"{START}include: [other.yaml]\n{END}" + "#" * 600)


def test_includes_are_nested_to_a_limited_depth(tmp_path):
    for k in range(60):
        (tmp_path / f"{k}.yaml").write_text("mbsim: 1\n" + (f"include: [{k + 1}.yaml]\n" if k < 59 else ""))
    assert "nested more than 50 files deep" in refusal(tmp_path, f"{START}include: [0.yaml]\n{END}")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_a_file_without_end_is_refused(device, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "bytes=1e6")
    with pytest.raises(SceneError, match=rf"{device}: expected at most 1e\+06 bytes"):
        load_scene(device)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ("duration: 1e9, step: 1 ms}\noutput: {every: 1 ms", "output.every: expected at most 1e+07 output instants"),
        ("duration: 1000000007 ms, step: 1 ms", "expected at most 1e+07 output instants, found 1.1e+09"),
        ("duration: 1, step: 1e-13", "simulation.duration: expected at most 1e+12 steps, found 1e+13"),
        ("duration: 1, step: 1e-30 ms", "simulation.duration: the ratio of `duration` to `step` is too large"),
        ("duration: 1e22, integrator: dop853}\noutput: {every: 10 ms", "`duration` to `every` is too large"),
        ("duration: 1e9, integrator: dop853}\noutput: {every: 10 ms", "found 1e+11"),
        ("duration: 1e308, step: 5e-324", "simulation.duration: the ratio of `duration` to `step` is too large"),
    ],
)
def test_steps_and_instants_are_limited(tmp_path, times, message):
    assert message in refusal(tmp_path, f"{START}simulation: {{{times}}}\n")


def test_an_expectation_at_a_huge_time_names_the_last_instant(tmp_path):
    text = f"{START}{END}expect: [{{at: 1e308, channel: energy/total, value: 0, atol: 1}}]\n"
    assert "the nearest to 1e+308 s is 0.01 s" in refusal(tmp_path, text)


def test_bodies_and_joints_are_counted_with_the_nodes_of_strands(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "elements=10")
    nodes = ", ".join(f"[{k}, 0, 0]" for k in range(12))
    strand = f"strands: {{s: {{nodes: [{nodes}], mass: 1, stiffness: 1}}}}\n"
    assert "strands: expected at most 10 bodies and joints" in refusal(tmp_path, START + strand + END)


@pytest.mark.parametrize(
    ("contacts", "place"),
    [('{exclude: [["b*", "*"]]}', "exclude"), ("{pairs: [[b0, b1]]}", "pairs")],
    ids=["wildcards", "a list"],
)
def test_excluded_pairs_are_limited(tmp_path, contacts, place):
    """Before they are formed: 4000 bodies have 8 million pairs."""
    ball = "{mass: 1 kg, shapes: [{type: sphere, radius: 0.1}]}"
    text = f'mbsim: 1\nrepeat: [{{count: 4000, bodies: {{"b${{i}}": {ball}}}}}]\ncontacts: {contacts}\n'
    words = f"contacts.{place}: expected at most 5e+06 pairs of bodies without contacts"
    assert words in refusal(tmp_path, text + END)


def test_control_points_are_limited(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_LIMITS", "curve_points=10")
    points = ", ".join(f"[{k}, 0, 0]" for k in range(11))
    joint = f"joints: {{j: {{type: curve, child: a, curve: {{type: bspline, points: [{points}]}}, q: 1}}}}\n"
    assert "joints.j.curve.points: expected at most 10 control points" in refusal(tmp_path, START + joint + END)


def test_a_hundred_problems_are_shown_and_the_others_counted(tmp_path):
    keys = "".join(f"unknown_{k}: 1\n" for k in range(300))
    lines = refusal(tmp_path, START + keys + END).splitlines()
    assert len(lines) == 101
    assert lines[-1] == "and at least 200 more problems"


def test_a_scene_with_a_thousand_problems_is_not_examined_further(tmp_path):
    keys = "".join(f"unknown_{k}: 1\n" for k in range(3000))
    path = tmp_path / "scene.yaml"
    path.write_text(START + keys + END)
    with pytest.raises(SceneError) as error:
        load_scene(path)
    assert len(error.value.problems) == 1000


def test_a_long_line_is_cut(tmp_path):
    key = f'? "{"k" * 100_000}"\n: 1\n'
    lines = refusal(tmp_path, START + END + key).splitlines()
    assert max(map(len, lines)) == 3000


def test_similar_names_are_found_among_many():
    words = {f"body{k}" for k in range(100_000)}
    assert nearest("body70000x", words) == "did you mean `body70000`?"
    assert nearest("BODY70000", words) == "did you mean `body70000`?"
    assert nearest("PD", ["pid", "pd"]) == "did you mean `pd`?"
    assert nearest("rod", ["Rod", "rot"]) == "did you mean `Rod`?"
    assert nearest("x" * 10_000_000, words).startswith("valid: body0, ")


def test_limits_are_raised_by_the_environment(monkeypatch):
    assert limit_of("steps") == LIMITS["steps"].default
    monkeypatch.setenv("MBSIM_LIMITS", "steps=2e3, values=7")
    assert (limit_of("steps"), limit_of("values"), limit_of("bytes")) == (2000, 7, LIMITS["bytes"].default)
    require_within("steps", 2000)
    with pytest.raises(LimitError, match="at most 2000 steps, found 2100; MBSIM_LIMITS=steps=2100 raises the limit"):
        require_within("steps", 2001)
    usage = Usage()
    usage.add("values", 5)
    assert usage.left("values") == 2
    with pytest.raises(LimitError, match="found 8"):
        usage.add("values", 3)


@pytest.mark.parametrize("text", ["valuse=1", "values", "values=", "values=0", "values=nan", "values=x", "=1"])
def test_invalid_limits_are_refused(monkeypatch, text):
    monkeypatch.setenv("MBSIM_LIMITS", text)
    with pytest.raises(ArgumentError, match="MBSIM_LIMITS="):
        limit_of("values")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from multibody_cli.cli.app import main
main(["validate", *sys.argv[2:]])
"""


def test_default_limits_hold_in_little_memory(tmp_path):
    """The refusal of texts and lists that would fill any memory, with 700 MB of address space."""
    paths = []
    for name in ("texts", "concat", "lists of expressions"):
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(START + CHAINS[name] + END)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(700 << 20), *map(str, paths)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout.count("expected at most") == 3
    assert done.stderr == ""


def test_a_variable_that_cannot_be_evaluated_is_one_problem(tmp_path):
    text = START + 'vars: {a: "${1/0}", b: "${a + 1}", c: ["${a}", 2], d: "x${b}", f: "${c}"}\n' + END
    assert refusal(tmp_path, text + 'description: "${d} ${f[0]}"\n').endswith("vars.a: `1/0`: division by zero")


@pytest.mark.parametrize("key", ["include", "repeat"])
def test_keys_that_are_resolved_first_cannot_be_set_by_an_option(tmp_path, key):
    path = tmp_path / "scene.yaml"
    path.write_text(START + END)
    with pytest.raises(SceneError, match=f"`{key}` cannot be set by an option"):
        load_scene(path, [f"{key}=[/etc/passwd]"])
