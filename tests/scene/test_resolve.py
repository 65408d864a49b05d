"""Variables, templates, repeats, includes and overrides."""

import pytest
from scene_texts import ARM, BALL, HEAD, load, problems

from multibody_cli.errors import SceneError
from multibody_cli.scene.load import load_scene


def test_variables_use_one_another_in_any_order(tmp_path):
    loaded = load(tmp_path, HEAD + 'vars: {a: "${b*2}", b: "${c + 1}", c: 3}\nname: "n${a}"\n')
    assert loaded.scene.name == "n8"


def test_a_template_gives_values_of_any_type(tmp_path):
    text = HEAD + 'vars: {g: [0, 0, -1.62], shape: {type: plane}}\ngravity: "${g}"\nworld: {shapes: ["${shape}"]}\n'
    loaded = load(tmp_path, text)
    assert loaded.scene.gravity == (0.0, 0.0, -1.62)
    assert loaded.scene.world.shapes[0].type == "plane"


def test_a_variable_with_a_unit(tmp_path):
    loaded = load(tmp_path, HEAD + 'vars: {h: 2 ms}\noutput: {every: "${10*h}"}\n', "simulation.step=${h}")
    assert loaded.scene.output.every == pytest.approx(0.02)
    assert loaded.scene.simulation.step == 0.002
    assert loaded.data["simulation"]["step"] == "2 ms"


def test_a_variable_alone_keeps_its_dimension(tmp_path):
    assert problems(tmp_path, HEAD + 'vars: {h: 2 mm}\noutput: {every: "${h}"}\n') == [
        "scene.yaml:5:17: output.every: expected a time (s), but `2 mm` is a length"
    ]


@pytest.mark.parametrize(("value", "written"), [("0", "0.0"), ("-2", "-2.0"), ("3", "3.0")])
def test_variables_are_written_into_expressions_of_the_state(tmp_path, value, written):
    text = ARM + f'{{type: revolute, child: arm, force: "q * c"}}\nvars: {{c: {value}}}\n'
    [force] = load(tmp_path, text).scene.joints["hinge"].force
    assert force.expression.text == f"q * {written}"


def test_variables_are_written_into_expressions_of_time(tmp_path):
    text = ARM + '{type: revolute, child: arm, force: "${A}*sin(2*pi*t)**2 + ${A}**2"}\nvars: {A: -0.5}\n'
    force = load(tmp_path, text).scene.joints["hinge"].force[0]
    assert force.expression.text == "-0.5*sin(2*pi*t)**2 + (-0.5)**2"
    assert force.expression.evaluate({"t": 0.25}) == pytest.approx(-0.25)


CHAIN = """
mbsim: 1
vars: {n: 3, L: 0.5, axes: [[0, 1, 0], [1, 0, 0]]}
repeat:
  - count: ${n}
    bodies:
      link${i}: {mass: 1, shapes: [{type: box, size: [0.1, 0.1, "${L}"]}]}
    joints:
      joint${i}:
        type: revolute
        parent: "${'world' if i == 0 else concat('link', i - 1)}"
        child: link${i}
        axis: ${axes[i % 2]}
    forces:
      load${i}: {body: "link${i}", force: [0, 0, "${-i}"]}
    expect:
      - {at: final, channel: "joints/joint${i}/q", value: 0, atol: "${i + 1}"}
simulation: {duration: 1}
"""


def test_repeat(tmp_path):
    scene = load(tmp_path, CHAIN).scene
    assert list(scene.bodies) == ["link0", "link1", "link2"]
    assert [joint.parent for joint in scene.joints.values()] == ["world", "link0", "link1"]
    assert [joint.axis for joint in scene.joints.values()] == [(0, 1, 0), (1, 0, 0), (0, 1, 0)]
    assert [force.force[2].constant for force in scene.forces.values()] == [0, -1, -2]
    assert [expectation.atol for expectation in scene.expect] == [1, 2, 3]


def test_repeat_reaches_variables_that_are_set_from_outside(tmp_path):
    assert len(load(tmp_path, CHAIN, "vars.n=7").scene.bodies) == 7


def test_entries_of_repeat_keep_the_position_of_their_block(tmp_path):
    loaded = load(tmp_path, CHAIN)
    assert loaded.where("joints", "joint2", "axis").endswith("scene.yaml:13:9")
    error = loaded.error("cannot be", "joints", "joint2", "axis")
    assert str(error).endswith("scene.yaml:13:9: joints.joint2.axis: cannot be (repeat[0], i = 2)")


def test_repeat_index_may_not_hide_a_variable(tmp_path):
    assert problems(tmp_path, CHAIN.replace("count: ${n}", "count: 1\n    index: L")) == [
        "scene.yaml:6:12: repeat[0].index: `L` is already the name of a variable"
    ]


def test_include(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.yaml").write_text(f"include: [wheel.yaml]\nname: arm\nbodies: {{arm: {BALL}}}\n")
    (tmp_path / "parts" / "wheel.yaml").write_text(f"vars: {{L: 2}}\nbodies: {{wheel: {BALL}}}\n")
    text = HEAD + 'include: [parts/arm.yaml, parts/wheel.yaml]\nname: "all ${L}"\n'
    loaded = load(tmp_path, text)
    assert list(loaded.scene.bodies) == ["wheel", "arm", "ball"]
    assert loaded.scene.name == "all 2"
    assert loaded.where("bodies", "wheel").endswith("parts/wheel.yaml:2:10")


def test_include_cycle_of_two(tmp_path):
    (tmp_path / "other.yaml").write_text("include: [scene.yaml]\n")
    assert problems(tmp_path, HEAD + "include: [other.yaml]\n") == [
        f"other.yaml:1:11: include[0]: circular include: `scene.yaml` includes itself through {tmp_path}/other.yaml"
    ]


def test_mesh_files_stand_beside_the_file_that_names_them(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part.stl").write_text("solid")
    (tmp_path / "parts" / "arm.yaml").write_text(
        "bodies: {arm: {density: 1, shapes: [{type: mesh, file: part.stl}]}}\n"
    )
    loaded = load(tmp_path, HEAD + "include: [parts/arm.yaml]\n")
    path = loaded.resolve_path("part.stl", "bodies", "arm", "shapes", 0)
    assert path == tmp_path / "parts" / "part.stl"


def test_overrides(tmp_path):
    loaded = load(
        tmp_path,
        HEAD,
        "simulation.step=2 ms",
        "output.every=0.1",
        "bodies.ball.shapes[0].radius=0.3",
        "gravity=[0, 0, 0]",
        "name=other",
    )
    assert loaded.scene.simulation.step == 0.002
    assert loaded.scene.output.every == 0.1
    assert loaded.scene.bodies["ball"].shapes[0].radius == 0.3
    assert loaded.scene.gravity == (0, 0, 0)
    assert loaded.scene.name == "other"


def test_an_override_with_null_removes_an_entry(tmp_path):
    text = HEAD + "contacts: {}\n"
    assert load(tmp_path, text).scene.contacts is not None
    assert load(tmp_path, text, "contacts=null").scene.contacts is None
    removed = load(tmp_path, text, "bodies.ball.position=[0, 0, 5]", "bodies.ball.position=")
    assert removed.scene.bodies["ball"].position == (0, 0, 0)
    assert "position" not in removed.scene.bodies["ball"].model_fields_set


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("vars.m=1", "`vars.m`: unknown key `m`; valid: n"),
        ("bodies.bal.mass=1", "`bodies.bal`: unknown key `bal`; did you mean `ball`?"),
        (
            "bodies.ball.velocity.linear=[1, 0, 0]",
            "`bodies.ball.velocity`: the scene has no entry `velocity` here, only mass, shapes; "
            "set a new entry as a whole: `bodies.ball.velocity={...}`",
        ),
        (
            "bodies.ball.velocity=null",
            "`bodies.ball.velocity`: the scene has no entry `velocity` here, only mass, shapes",
        ),
        ("simulation.stop=1", "simulation.stop: unknown key `stop`; did you mean `step`?"),
        ("simulation.step=1 kg", "simulation.step: expected a time (s), but `1 kg` is a mass"),
        ("bodies.ball.shapes[3].radius=1", "`bodies.ball.shapes[3]`: expected an index below 1"),
        ("bodies.ball.mass.x=1", "`bodies.ball.mass.x`: this value has no entries to set"),
        ("step", "expected KEY=VALUE, as in `vars.n=100` or `simulation.step=2 ms`"),
        ("name=[1", "name: `[1` is not a YAML value"),
    ],
)
def test_invalid_overrides_are_refused(tmp_path, override, message):
    assert problems(tmp_path, HEAD + "vars: {n: 1}\n", override) == [f"--set {override}: {message}"]


def test_a_variable_of_a_scene_without_variables_is_refused(tmp_path):
    assert problems(tmp_path, HEAD, "vars.n=2") == ["--set vars.n=2: `vars`: the scene has no variables"]


SPRING = ARM + '{type: revolute, child: arm, force: "-k*(q - rest)", damping: "${c}"}\n'
SPRING += "vars: {k: 50 N*m/rad, c: 2 N*m*s/rad, rest: 0.1, word: abc}\n"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "joints.hinge.force=-k*(q - rst)",
            "joints.hinge.force: `-k*(q - rst)`: unknown name `rst`; did you mean `rest`?",
        ),
        ("joints.hinge.force=-xyz*q", "joints.hinge.force: `-xyz*q`: unknown name `xyz`; valid: c, k, q, rest, t, v"),
        ("joints.hinge.force=-word*q", "joints.hinge.force: `-word*q`: the variable `word` is not a number, but `abc`"),
        (
            "vars.k=50 m",
            "vars.k: expected a number, or a quantity as `50 N*m/rad` in the scene, but `50 m` is a length",
        ),
        (
            "vars.k=3 deg",
            "vars.k: expected a number, or a quantity as `50 N*m/rad` in the scene, "
            "but `3 deg` is a plain number or an angle",
        ),
        (
            "vars.c=3 s",
            "vars.c: expected a number, or a quantity as `2 N*m*s/rad` in the scene, but `3 s` is a time",
        ),
        (
            "vars.c=soft",
            "vars.c: expected a number, or a quantity as `2 N*m*s/rad` in the scene, found `soft`",
        ),
    ],
)
def test_overrides_name_the_variable_that_is_wrong(tmp_path, override, message):
    assert problems(tmp_path, SPRING, override) == [f"--set {override}: {message}"]


@pytest.mark.parametrize("value", ["60", "6e1 N*m", "${2*c}", "null", "60*t"])
def test_a_variable_is_replaced_by_a_value_of_its_dimension_or_without_a_unit(tmp_path, value):
    text = SPRING.replace("-k*(q - rest)", "${k}") if "t" in value else SPRING.replace("-k*(q - rest)", "q")
    assert load(tmp_path, text, f"vars.k={value}").scene.joints["hinge"].force


def test_aliases_are_repeated_in_full(tmp_path):
    text = f"mbsim: 1\nbodies: {{a: &ball {BALL}, b: *ball}}\nsimulation: {{duration: 1}}\n"
    scene = load(tmp_path, text).scene
    assert scene.bodies["a"] == scene.bodies["b"]


def test_all_problems_of_all_stages_are_reported_together(tmp_path):
    text = HEAD + 'name: "${nobody}"\nvars: {pi: 1}\ngravity: 9\njoints: {j: {type: revolute, child: bal}}\n'
    found = problems(tmp_path, text)
    assert [line.split(": ")[1] for line in found] == ["name", "vars.pi", "gravity", "joints.j.child"]


def test_five_thousand_links_are_repeated(tmp_path):
    assert len(load(tmp_path, CHAIN, "vars.n=5000").scene.joints) == 5000


def test_exit_code():
    assert SceneError([]).exit_code == 2


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("double-pendulum.yaml", "double-pendulum"),
        ("crank 2 (slow).v1.yml", "crank_2_slow_v1"),
        ("3 balls.yaml", "_3_balls"),
        ("été.yaml", "été"),
    ],
)
def test_a_scene_without_a_name_has_that_of_its_file(tmp_path, file, name):
    (tmp_path / file).write_text(HEAD)
    loaded = load_scene(tmp_path / file)
    assert loaded.scene.name == name
    again = tmp_path / "other.yaml"
    again.write_text(loaded.text)
    assert load_scene(again).scene.name == name


def test_a_scene_has_its_own_name_and_not_that_of_an_included_file(tmp_path):
    (tmp_path / "part.yaml").write_text(HEAD + "name: part\n")
    (tmp_path / "whole.yaml").write_text("mbsim: 1\ninclude: [part.yaml]\n")
    assert load_scene(tmp_path / "whole.yaml").scene.name == "whole"
