"""`mbsim equations`: formulas and numbers of a scene agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sympy
from command_result import Command

TEXT = """
mbsim: 1
name: cart
bodies:
  cart: {mass: 3, shapes: [{type: box, size: [1, 1, 1]}]}
  bob: {mass: 2, shapes: [{type: sphere, radius: 0.1}]}
joints:
  slide: {type: prismatic, child: cart, axis: [1, 0, 0], stiffness: 40, rest: 0.2, damping: 0.5, q: 0.3, v: 1.1}
  hinge: {type: revolute, parent: cart, child: bob, axis: [0, 1, 0], child_origin: {position: [0, 0, 1.5]}, q: 0.4,
          v: -0.7, force: "0.3*cos(t)"}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""


@pytest.fixture
def cart(folder: Path) -> Path:
    path = folder / "cart.yaml"
    path.write_text(TEXT)
    return path


def test_formulas_of_a_cart_with_a_pendulum(mbsim: Command, cart: Path) -> None:
    ending = mbsim("equations", str(cart))
    assert ending.code == 0
    lines = ending.stdout.splitlines()
    assert lines[0] == "cart: M(q) dv/dt + h(q, v) = tau, 2 coordinates"
    assert "M[1, 1] = 5" in lines
    assert "tau[1] = -40*(q1 - 0.2) - 0.5*v1" in lines
    assert "tau[2] = 0.3*cos(t)" in lines
    found = dict(line.split(" = ") for line in lines if line.startswith(("M[", "h[")))
    v2, q2 = sympy.symbols("v2 q2")
    # the bob hangs at 1.5 m: M12 = -m l cos q, h1 = m l v^2 sin q, h2 = m g l sin q
    for place, formula in {
        "M[2, 1]": -3 * sympy.cos(q2),
        "M[2, 2]": 2 * 1.5**2 + 0.4 * 2 * 0.1**2,
        "h[1]": 3 * v2**2 * sympy.sin(q2),
        "h[2]": 2 * 9.81 * 1.5 * sympy.sin(q2),
    }.items():
        assert abs(sympy.sympify(found[place]) - formula).subs({v2: 0.7, q2: 0.9}) < 1e-9


def test_numbers_are_those_of_the_formulas(mbsim: Command, cart: Path) -> None:
    formulas = json.loads(mbsim("equations", str(cart), "--json").stdout)
    numbers = json.loads(mbsim("equations", str(cart), "--json", "--at", "0.25 s").stdout)
    state = numbers["state"]
    assert state["time"] == pytest.approx(0.25)
    place = {f"q{k + 1}": x for k, x in enumerate(state["q"])} | {f"v{k + 1}": x for k, x in enumerate(state["v"])}

    def worked_out(formula: str) -> float:
        return float(sympy.sympify(formula).subs(place))

    np.testing.assert_allclose(np.vectorize(worked_out)(formulas["M"]), numbers["M"], atol=1e-9)
    np.testing.assert_allclose(np.vectorize(worked_out)(formulas["h"]), numbers["h"], atol=1e-8)
    for body, J in formulas["jacobians"].items():
        np.testing.assert_allclose(np.vectorize(worked_out)(J), numbers["jacobians"][body], atol=1e-9)
    q, v = state["q"], state["v"]
    tau = [-40 * (q[0] - 0.2) - 0.5 * v[0], 0.3 * np.cos(0.25)]
    np.testing.assert_allclose(numbers["tau"], tau, atol=1e-9)


def test_latex_is_complete_and_agrees_with_the_formulas(mbsim: Command, cart: Path) -> None:
    text = mbsim("equations", str(cart), "--latex").stdout
    assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == 1
    assert r"M_{2,1} &= - 3 \cos{\left(q_{2} \right)} \\" in text
    assert r"\tau_{1} &= - 40 \left(q_{1} - 0.2\right) - 0.5 v_{1} \\" in text
    assert r"\tau_{2} &= 0.3 \cos{\left(t \right)}" in text
    assert text.count("bmatrix") == 4
    outside = text.split(r"\end{aligned}")[1]
    assert all(line.startswith(("%", "J_")) for line in outside.strip().splitlines())


def test_a_scene_with_many_coordinates_is_shown_in_numbers(mbsim: Command, folder: Path) -> None:
    names = [f"b{k}" for k in range(6)]
    bodies = "\n".join(f"  {name}: {{mass: 1, shapes: [{{type: box, size: [1, 1, 1]}}]}}" for name in names)
    joints = "\n".join(
        f"  j{k}: {{type: revolute, parent: {parent}, child: {name}, origin: {{position: [0, 1, 0]}}}}"
        for k, (parent, name) in enumerate(zip(["world", *names], names, strict=False))
    )
    (folder / "chain.yaml").write_text(
        f"mbsim: 1\nname: chain\nbodies:\n{bodies}\njoints:\n{joints}\nsimulation: {{duration: 1 s, step: 1 ms}}\n"
    )
    found = json.loads(mbsim("equations", "chain.yaml", "--json").stdout)
    M, a, h = (np.array(found[word]) for word in ("M", "tau", "h"))
    assert M.shape == (6, 6)
    np.testing.assert_allclose(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    np.testing.assert_allclose(a, 0.0, atol=1e-9 * np.abs(h).max())


def test_omitted_terms_are_named(mbsim: Command, cart: Path) -> None:
    cart.write_text(TEXT + "springs: {tether: {between: [{body: cart}, {body: bob}], stiffness: 1, rest_length: 1}}\n")
    assert mbsim("equations", str(cart)).stdout.splitlines()[-1] == "beside tau: springs `tether`"


BOWL = """
mbsim: 1
name: bowl
bodies: {ball: {mass: 1, shapes: [{type: sphere, radius: 0.1}]}}
joints:
  touch: {type: surface_surface, child: ball, origin: {rotation: {axis: [0, 1, 0], angle: 90 deg}}, q: [0.9, 0, 0, 0],
          parent_surface: {type: sphere, radius: 0.5, inside: true}, child_surface: {type: sphere, radius: 0.1}}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""


def test_a_ball_in_a_bowl_has_short_formulas_without_round_off(mbsim: Command, folder: Path) -> None:
    (folder / "bowl.yaml").write_text(BOWL)
    lines = mbsim("equations", "bowl.yaml").stdout.splitlines()
    inertia = 0.4 * 0.1**2  # about any axis through the centre, which moves on a sphere of 0.4 m
    assert f"M[3, 3] = {inertia:.10g}" in lines
    assert f"M[4, 4] = {inertia:.10g}" in lines
    assert f"M[2, 2] = {0.4**2 + inertia:.10g}" in lines
    assert "e-" not in " ".join(lines)


WIRE = """
mbsim: 1
name: wire
bodies: {{bead: {{mass: 1, inertia: {{principal: [0.1, 0.2, 0.25]}}, com: [0.05, 0.02, -0.1]}}}}
joints: {{wire: {{type: curve, child: bead, {0}}}}}
simulation: {{duration: 2 s, step: 1 ms, integrator: rk4}}
output: {{every: 10 ms}}
"""
BEZIER = "curve: {type: bezier, points: [[0, 0, 0.5], [0.1, 0, -0.2], [0.5, 0.2, 0.1], [0.8, 0, 0.4]]}"
ROUND = "curve: {type: bspline, closed: true, points: [[0.5, 0, 0], [0, 0.5, 0.1], [-0.5, 0, 0], [0, -0.4, 0.1]]}"


def test_long_formulas_are_written_by_intermediate_quantities(mbsim: Command, folder: Path) -> None:
    (folder / "wire.yaml").write_text(WIRE.format(f"q: 0.3, v: 0.7, orientation: tangent, {BEZIER}"))
    formulas = json.loads(mbsim("equations", "wire.yaml", "--json").stdout)
    numbers = json.loads(mbsim("equations", "wire.yaml", "--json", "--at", "0").stdout)
    place = {"q1": 0.3, "v1": 0.7}
    for word, formula in formulas["intermediate"].items():
        place[word] = float(sympy.sympify(formula).subs(place))
    for word in ("M", "h"):
        found = np.vectorize(lambda formula: float(sympy.sympify(formula).subs(place)))(formulas[word])
        np.testing.assert_allclose(found, numbers[word], rtol=1e-7)
    assert r"z_{1} &= " in mbsim("equations", "wire.yaml", "--latex").stdout


@pytest.mark.parametrize(("q", "lower"), [(-0.7, -1), (2.3, 2), (7.3, 7)])
def test_a_closed_spline_is_written_on_the_piece_where_it_is(
    mbsim: Command, folder: Path, q: float, lower: int
) -> None:
    (folder / "wire.yaml").write_text(WIRE.format(f"q: {q}, v: 0.3, {ROUND}"))
    assert f"  for q1 from {lower} to {lower + 1}" in mbsim("equations", "wire.yaml").stdout.splitlines()
    numbers = json.loads(mbsim("equations", "wire.yaml", "--json", "--at", "0").stdout)
    assert abs(numbers["h"][0]) > 0.1
    assert abs(numbers["tau"][0]) < 1e-12  # nothing pushes the bead: M dv/dt = -h


def test_no_numbers_beyond_the_domain_of_a_joint(mbsim: Command, folder: Path) -> None:
    (folder / "wire.yaml").write_text(WIRE.format(f"q: 0, {BEZIER}"))
    ran, refused = mbsim("run", "wire.yaml"), mbsim("equations", "wire.yaml", "--at", "1 s")
    assert (ran.code, refused.code) == (1, 2)
    assert "joint `wire` left its domain before t = 0.64 s" in refused.stderr
    assert refused.stderr.removeprefix("error: ") in ran.stderr
    assert mbsim("equations", "wire.yaml", "--at", "0.6 s").code == 0


FOURBAR = """
mbsim: 1
name: fourbar
bodies:
  crank: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
  coupler: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}, com: [0.5, 0, 0]}
  rocker: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  shaft: {type: revolute, child: crank, axis: [0, 1, 0]}
  elbow: {type: revolute, parent: crank, child: coupler, axis: [0, 1, 0], origin: {position: [0, 0, 1]}}
  pivot: {type: revolute, child: rocker, axis: [0, 1, 0], origin: {position: [1, 0, 0]}}
  wrist: {type: revolute, parent: rocker, child: coupler, axis: [0, 1, 0], origin: {position: [0, 0, 1]},
          child_origin: {position: [1, 0, 0]}}
simulation: {duration: 0.1 s, step: 1 ms, integrator: rk4}
"""


def test_a_loop_adds_no_coordinates(mbsim: Command, folder: Path) -> None:
    (folder / "fourbar.yaml").write_text(FOURBAR)
    for words in ((), ("--at", "0.05 s")):
        found = json.loads(mbsim("equations", "fourbar.yaml", "--json", *words).stdout)
        joints = [one["joint"] for one in found["coordinates"]]
        assert joints == ["joint shaft", "joint elbow", "joint pivot"]
        assert [len(found[word]) for word in ("M", "h", "tau")] == [3, 3, 3]
        assert all(len(row) == 3 for J in found["jacobians"].values() for row in J)
        assert found["beside"] == ["joints that close loops: `wrist`"]
    assert len(found["state"]["q"]) == len(found["state"]["v"]) == 3
    text = mbsim("codegen", "fourbar.yaml").stdout
    assert "at positions q (3,) and velocities v (3,)" in text


def test_dry_friction_is_named(mbsim: Command, cart: Path) -> None:
    with_friction = "friction: {coefficient: 0.3, surface: {type: cylinder, radius: 0.1, length: 0.2}}, force:"
    cart.write_text(TEXT.replace("force:", with_friction).replace("rk4", "semi_implicit_euler"))
    assert mbsim("equations", str(cart)).stdout.splitlines()[-1] == "beside tau: dry friction of `hinge`"
    assert "Omitted: dry friction of `hinge`." in mbsim("codegen", str(cart)).stdout


def test_forces_that_read_inputs_are_written_as_in_the_scene(mbsim: Command, cart: Path) -> None:
    cart.write_text(
        TEXT.replace("joints:", "inputs: {throttle: 0.5}\njoints:").replace("0.3*cos(t)", "3*inputs.throttle")
    )
    assert "tau[2] = (3*inputs.throttle)" in mbsim("equations", str(cart)).stdout.splitlines()


def test_a_result_file_replaces_its_scene_file(mbsim: Command, cart: Path) -> None:
    assert mbsim("run", str(cart), "-o", "result.h5", "--duration", "10 ms").code == 0
    for verb in ("equations", "codegen"):
        assert mbsim(verb, "result.h5").stdout == mbsim(verb, str(cart)).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at", "2 s"], "outside the simulated time"),
        (["--at", "2 m"], "expected a time"),
        (["--at", "0.1", "--latex"], "--latex requires formulas"),
    ],
)
def test_invalid_arguments_are_refused(mbsim: Command, cart: Path, words: list[str], message: str) -> None:
    ending = mbsim("equations", str(cart), *words)
    assert ending.code == 2
    assert message in ending.stderr


def test_methods_in_coordinates_of_bodies_have_the_same_equations(mbsim: Command, cart: Path) -> None:
    ours = mbsim("equations", str(cart)).stdout
    assert mbsim("equations", str(cart), "--set", "simulation.method=baraff").stdout == ours


def test_exponential_coordinates_are_refused(mbsim: Command, cart: Path) -> None:
    text = TEXT.replace("type: revolute", "type: spherical, parametrization: exponential").replace(
        "axis: [0, 1, 0], ", ""
    )
    text = text.replace('q: 0.4,\n          v: -0.7, force: "0.3*cos(t)"', "q: {rotvec: [0, 0.4, 0]}")
    cart.write_text(text)
    ending = mbsim("equations", str(cart))
    assert ending.code == 2
    assert "exponential coordinates" in ending.stderr


def test_affine_bodies_have_twelve_coordinates_and_a_constant_mass_matrix(mbsim: Command, folder: Path) -> None:
    (folder / "affine.yaml").write_text(
        "mbsim: 1\nname: affine\nbodies: {b: {mass: 1, kind: affine, shapes: [{type: box, size: [1, 1, 1]}]}}\n"
        "simulation: {duration: 1 s, step: 1 ms, method: baraff}\n"
    )
    ending = mbsim("equations", "affine.yaml", "--json")
    found = json.loads(ending.stdout)
    np.testing.assert_allclose(found["M"], np.diag([1.0] * 3 + [1.0 / 12.0] * 9), atol=1e-15)
    assert found["coordinates"][11]["joint"] == "body b/11"
