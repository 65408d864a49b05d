"""Followers of couplings start where their leaders place them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from loops import loaded
from test_assembly import bar, geared, refusal

from multibody_cli.compile import compile_scene


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("leader", ["a", "b", "c", ""])
def test_followers_of_couplings_start_where_the_given_coordinate_puts_them(reduce, leader):
    """Far from the default of 0, without a message, whichever wheel is given, and if none is."""
    q, v = np.array([0.7, -1.1, -4.4]), np.array([1.5, -3.0, -12.0])
    place = "abc".find(leader)
    scene = geared(reduce, **({leader: {"q": q[place], "v": v[place]}} if leader else {}))
    found = compile_scene(loaded(scene))
    if leader:
        np.testing.assert_allclose([found.state.q[:3], found.state.v[:3]], [q, v], rtol=1e-14)
    else:
        a, b, c = found.state.q[:3]
        assert (b, c) == pytest.approx((0.3 - 2.0 * a, 4.0 * b), abs=1e-15)
        np.testing.assert_array_equal(found.state.v[:3], 0)
    assert not found.warnings


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize(("word", "good", "bad"), [("q", -1.1, -1.2), ("v", -3.0, 3.0)])
def test_given_coordinates_that_contradict_a_coupling_are_refused_with_both_names(reduce, word, good, bad):
    leader = {"q": 0.7, "v": 1.5}
    assert not compile_scene(loaded(geared(reduce, a=leader, b={word: good}))).warnings
    message = refusal(geared(reduce, a=leader, b={word: bad}))
    names = r"joints.b.{0}: contradicts `{0}` of `a`" if reduce else r"couplings.first: .* between b and a"
    assert re.search(names.format(word), message)
    assert "omit" in message or "correct" in message


def test_a_wheel_follows_a_prescribed_motion_and_one_with_backlash_stays():
    scene = geared(False, a={"motion": {"position": "0.7 + 1.5*t"}})
    del scene["couplings"]["second"]["reduce"]
    scene["couplings"]["second"]["backlash"] = 20.0
    state = compile_scene(loaded(scene)).state
    np.testing.assert_allclose([state.q[1], state.v[1], state.q[2]], [-1.1, -3.0, 0.0], atol=1e-14)


def sliders(couplings, **given):
    """Bodies on slides, of which a starts at 0.5 with the rate 2; `given` are laid over the joints."""
    names = "abcde"
    joints = {name: {"type": "prismatic", "child": name, "axis": [0, 0, 1]} for name in names}
    for name, more in {"a": {"q": 0.5, "v": 2.0}, **given}.items():
        joints[name] |= more
    return {"bodies": {name: bar(1.0) for name in names}, "joints": joints, "couplings": couplings}


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("order", ["wxyz", "zyxw", "yzwx"])
def test_outputs_of_functions_follow_their_inputs_and_lead_couplings(reduce, order):
    """In any order of the couplings: b = a^2, c = 3 b, d = c^2 + 5 a b, e = d - c."""
    couplings = {
        "w": {"type": "function", "output": "b", "inputs": {"u": "a"}, "value": "u**2"},
        "x": {"type": "linear", "terms": {"c": 1, "b": -3}, "reduce": reduce},
        "y": {"type": "function", "output": "d", "inputs": {"u": "c", "s": "a", "t": "b"}, "value": "u**2 + 5*s*t"},
        "z": {"type": "function", "output": "e", "inputs": {"u": "d", "s": "c"}, "value": "u - s"},
    }
    state = compile_scene(loaded(sliders({name: couplings[name] for name in order}))).state
    b, c, d = 0.25, 0.75, 0.75**2 + 5 * 0.5 * 0.25
    vb, vc = 2 * 0.5 * 2.0, 6.0
    vd = 2 * c * vc + 5 * (2.0 * b + 0.5 * vb)
    np.testing.assert_allclose(state.q[:5], [0.5, b, c, d, d - c], rtol=1e-13)
    np.testing.assert_allclose(state.v[:5], [2.0, vb, vc, vd, vd - vc], rtol=1e-13)


def test_an_output_that_is_given_is_kept():
    function = {"type": "function", "output": "b", "inputs": {"u": "a"}, "value": "u**2"}
    message = refusal(sliders({"f": function}, b={"q": 0.4}))
    assert "couplings.f: has an initial error of 0.15 m or rad between a and b" in message
    state = compile_scene(loaded(sliders({"f": function}, b={"q": 0.25, "v": 2.0}))).state
    np.testing.assert_array_equal(state.q[:2], [0.5, 0.25])


def test_a_wheel_with_backlash_stays_within_the_play_of_an_output():
    """c = 2 b - 0.5 with a play of 0.3: b = 0 would move c, and b = 0.25 does not."""
    couplings = {
        "play": {"type": "gear", "joints": ["b", "c"], "ratio": 2, "offset": -0.5, "backlash": 0.3},
        "f": {"type": "function", "output": "b", "inputs": {"u": "a"}, "value": "u**2"},
    }
    hinge = {"type": "revolute"}
    assert compile_scene(loaded(sliders(couplings, b=hinge, c=hinge))).state.q[2] == 0.0
    np.testing.assert_allclose(
        compile_scene(loaded(sliders(couplings, a={"q": 0.8}, b=hinge, c=hinge))).state.q[1:3], [0.64, 0.63], rtol=1e-14
    )
