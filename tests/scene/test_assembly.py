"""The start of scenes with loops: assembled where it is a little off, refused where it cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from loops import close_loops, loaded, start

from multibody_cli.compile import compile_scene
from multibody_cli.errors import SceneError


def bar(length):
    return {"mass": 1, "com": [length / 2, 0, 0], "inertia": {"principal": [0.02, 0.08, 0.09]}}


def four_bar(**fields):
    """A closed four-bar; `fields` are laid over its joints."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    scene = {
        "bodies": {"a": bar(0.5), "b": bar(1.2), "c": bar(0.9)},
        "joints": {
            "ja": {**hinge, "child": "a", "q": -0.9},
            "jb": {**hinge, "parent": "a", "child": "b", "origin": {"position": [0.5, 0, 0]}, "q": 0.7},
            "jc": {**hinge, "child": "c", "origin": {"position": [1.3, 0, 0]}, "q": -1.6},
            "close": {**hinge, "parent": "b", "child": "c", "origin": {"position": [1.2, 0, 0]}, "q": 0.3},
        },
    }
    close_loops(scene)
    del scene["joints"]["close"]["q"]
    for name, more in fields.items():
        scene["joints"][name] |= more
    return scene


def without(scene, joint, key):
    del scene["joints"][joint][key]
    return scene


def refusal(scene, **simulation):
    with pytest.raises(SceneError) as caught:
        compile_scene(loaded(scene, **simulation))
    return str(caught.value)


def test_a_closed_start_is_left_as_it_is():
    found = compile_scene(loaded(four_bar()))
    np.testing.assert_array_equal(found.state.q[:3], [-0.9, 0.7, -1.6])
    assert not any("assembled" in warning for warning in found.warnings)


def test_coordinates_that_are_written_are_kept():
    """The crank is written off by a little, the others are not written: they give way."""
    scene = four_bar(ja={"q": -0.895})
    run = start(without(without(scene, "jb", "q"), "jc", "q"), assembly_tolerance=5.0)
    assert run.compiled.state.q[0] == -0.895
    assert run.joint("ja", "coordinates")[0] == pytest.approx(-0.895, abs=1e-10)  # the run closes what 1e-10 leaves
    assert run.errors()[0] < 1e-10
    assert any("assembled" in warning for warning in run.compiled.warnings)


def test_where_all_are_written_all_give_way_in_the_metric_of_the_masses():
    """The move is M-orthogonal to what the loop leaves free: no other close start is nearer, to first order."""
    run = start(four_bar(ja={"q": -0.899}))
    moved = run.state.q[:3] - [-0.899, 0.7, -1.6]
    assert 1e-5 < np.abs(moved).max() < 2e-3
    assert run.errors()[0] < 1e-10
    from loops import oracle_of

    loops, _ = oracle_of(run)
    G, _ = loops.demands(np.zeros(loops.size))
    _, s, Vt = np.linalg.svd(G)
    tangent = Vt[(s > 1e-9 * s[0]).sum() :][0]
    M, _ = loops.mass_and_force(np.zeros(loops.size))
    tree, _, _, _ = (loops.hinges[name].columns.start for name in ("ja", "jb", "jc", "close"))
    # body motions that the joints of the tree make of the move
    held = G[:18]  # rows of the joints ja, jb, jc
    bodies = np.linalg.lstsq(held[:, :tree], -held[:, tree : tree + 3] @ moved, rcond=None)[0]
    inner = tangent[:tree] @ M[:tree, :tree] @ bodies
    sizes = np.sqrt(tangent[:tree] @ M[:tree, :tree] @ tangent[:tree] * (bodies @ M[:tree, :tree] @ bodies))
    assert abs(inner) < 1e-2 * sizes  # the move itself is of that size


def test_a_start_that_is_far_off_is_refused_with_a_better_one():
    message = refusal(four_bar(ja={"q": -0.5}))
    assert "joints.close: is off by" in message
    assert "assembly_tolerance" in message
    assert "joint j" in message


def test_a_loop_that_cannot_close_is_refused():
    message = refusal(four_bar(jc={"origin": {"position": [9, 0, 0]}}))
    assert "joints.close: cannot be closed" in message


def test_rates_follow_from_one_that_is_written():
    run = start(four_bar(ja={"v": 2.0}))
    assert run.joint("ja", "velocity")[0] == pytest.approx(2.0, abs=1e-12)
    assert run.errors()[1] < 1e-10
    assert abs(run.joint("jc", "velocity")[0]) > 0.1


def test_rates_that_contradict_each_other_are_refused():
    message = refusal(four_bar(ja={"v": 2.0}, jb={"v": 0.0}, jc={"v": 0.0}))
    assert "contradicts the velocities given at the start" in message


def test_a_rate_of_a_closing_joint_that_does_not_follow_is_refused():
    message = refusal(four_bar(ja={"v": 2.0}, close={"v": 11.0}))
    assert "joints.close.v" in message
    assert "this joint closes a loop" in message


def test_motions_that_contradict_each_other_are_refused():
    scene = four_bar(
        ja={"motion": {"velocity": "1"}}, jc={"motion": {"velocity": "-30"}}, jb={"motion": {"velocity": "3"}}
    )
    assert "prescribed motions or constraints contradict each other" in refusal(scene)


def test_redundant_rows_are_named():
    (warning,) = (w for w in compile_scene(loaded(four_bar())).warnings if "depend on the others" in w)
    assert "joints.close: 3 of its 5 constraint rows (along y, about x, about z) depend on the others" in warning


def test_a_closing_joint_may_hold_a_prescribed_position():
    """The tree assembles itself around it."""
    run = start(four_bar(close={"motion": {"position": "0.3 + 0.01"}}), assembly_tolerance=0.1)
    assert run.joint("close", "coordinates")[0] == pytest.approx(0.31, abs=1e-12)
    assert run.errors()[0] < 1e-10
