"""`mbsim equations`: formulas and numbers of one scene are the same equations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sympy
from ending import Command

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
    assert "tau[1] = -40*(q1 - 0.2) + -0.5*v1" in lines
    assert "tau[2] = (0.3*cos(t))" in lines
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


def test_latex_is_complete_and_says_the_same(mbsim: Command, cart: Path) -> None:
    text = mbsim("equations", str(cart), "--latex").stdout
    assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == 1
    assert r"M_{2,1} &= - 3 \cos{\left(q_{2} \right)} \\" in text
    assert text.count("bmatrix") == 4
    outside = text.split(r"\end{aligned}")[1]
    assert all(line.startswith(("%", "J_")) for line in outside.strip().splitlines())


def test_a_scene_with_many_coordinates_is_told_in_numbers(mbsim: Command, folder: Path) -> None:
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


def test_what_is_not_written_out_is_named(mbsim: Command, cart: Path) -> None:
    cart.write_text(TEXT + "springs: {tether: {between: [{body: cart}, {body: bob}], stiffness: 1, rest_length: 1}}\n")
    assert mbsim("equations", str(cart)).stdout.splitlines()[-1] == "beside tau: springs `tether`"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--at", "2 s"], "outside of the scene"),
        (["--at", "2 m"], "expected a time"),
        (["--at", "0.1", "--latex"], "--latex is for formulas"),
    ],
)
def test_wrong_words_are_refused(mbsim: Command, cart: Path, words: list[str], told: str) -> None:
    ending = mbsim("equations", str(cart), *words)
    assert ending.code == 2
    assert told in ending.stderr


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


def test_bodies_that_deform_have_no_such_equations(mbsim: Command, folder: Path) -> None:
    (folder / "affine.yaml").write_text(
        "mbsim: 1\nname: affine\nbodies: {b: {mass: 1, kind: affine, shapes: [{type: box, size: [1, 1, 1]}]}}\n"
        "simulation: {duration: 1 s, step: 1 ms, method: baraff}\n"
    )
    for verb in ("equations", "codegen"):
        ending = mbsim(verb, "affine.yaml")
        assert (ending.code, ending.stdout) == (2, "")
        assert "`kind: affine` have no equations" in ending.stderr
