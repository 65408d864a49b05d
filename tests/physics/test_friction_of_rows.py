"""Dry friction of combinations of coordinates and of paths: closed forms, rest without creep, other elements."""

from __future__ import annotations

import json
from contextlib import nullcontext

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
H = 1e-3


def body(mass=2.0, **fields):
    return {"mass": mass, "inertia": {"principal": [0.2, 0.2, 0.2]}, **fields}


def loaded(scene, method, duration=0.3, **simulation):
    own = {} if METHODS[method].own_integrator else {"integrator": "semi_implicit_euler"}
    settings = {"duration": duration, "step": H, "method": method, **own, **simulation}
    scene = {"mbsim": 1, "gravity": [0, 0, 0], "output": {"every": H}, **scene, "simulation": settings}
    return mbsim.load(json.dumps(scene, indent=1))


def run(scene, method, **settings):
    found = loaded(scene, method, **settings).run()
    return lambda name: found[name].values


# --- combinations -----------------------------------------------------------------------------------------------------
def sliders(forces, **combination):
    """Two sliders of 2 and 3 kg across each other, with forces on both."""
    return {
        "bodies": {"a": body(2.0), "b": body(3.0)},
        "joints": {
            "x": {"type": "prismatic", "child": "a", "axis": [1, 0, 0], "force": forces[0]},
            "y": {"type": "prismatic", "child": "b", "axis": [0, 1, 0], "force": forces[1]},
        },
        "combinations": {"sum": combination},
    }


W = 1.0 / 2.0 + 4.0 / 3.0  # of x - 2 y


@every_method
@pytest.mark.parametrize("limit", [0.0, 0.4, 0.45, 0.46, 0.6])
def test_a_combination_holds_below_its_friction_and_slips_beyond(method, limit):
    """Forces of 3 and 1 N drive x - 2 y with 3/2 - 2/3 m/s^2, which a force of 5/11 N balances."""
    found = run(sliders((3.0, 1.0), terms={"x": 1.0, "y": -2.0}, friction=limit), method)
    time, x, y = found("time"), found("joints/x/v")[:, 0], found("joints/y/v")[:, 0]
    held = min(limit, 5.0 / 6.0 / W)
    np.testing.assert_allclose(x, (3.0 - held) / 2.0 * time, rtol=0, atol=1e-13)
    np.testing.assert_allclose(y, (1.0 + 2.0 * held) / 3.0 * time, rtol=0, atol=1e-13)
    if limit > 0.0:
        np.testing.assert_allclose(found("combinations/sum/friction")[1:], -held, rtol=1e-10)
        lost = held * (5.0 / 6.0 - held * W) * 0.3**2 / 2.0
        np.testing.assert_allclose(found("energy/dissipation/combinations/sum/friction")[-1], lost, atol=1e-12)
        np.testing.assert_allclose(found("joints/y/force")[-1, 4], 1.0 + 2.0 * held, rtol=1e-12)  # the drive as well
    assert np.abs(found("energy/ledger_residual")).max() < 1e-13


@every_method
def test_a_combination_at_rest_does_not_creep(method):
    """The value stays to round-off, with a force just below the limit."""
    found = run(sliders((2.0, 0.0), terms={"x": 1.0}, friction=2.0 * (1 + 1e-9)), method, duration=1.0)
    assert np.ptp(found("combinations/sum/value")) < 1e-15
    assert np.abs(found("combinations/sum/rate")).max() < 1e-15


@every_method
def test_a_coefficient_of_zero_leaves_a_coordinate_alone(method):
    found = run(sliders((3.0, 1.0), terms={"x": 1.0, "y": 0.0}, friction=0.5), method)
    np.testing.assert_allclose(found("joints/x/v")[-1], 2.5 / 2.0 * 0.3, rtol=1e-12)
    np.testing.assert_allclose(found("joints/y/v")[-1], 1.0 / 3.0 * 0.3, rtol=1e-12)


def arm(friction=None, **more):
    """Three hinges at right angles under gravity."""
    joints, parent = {}, "world"
    for k, axis in enumerate(([0, 1, 0], [1, 0, 0], [0, 0, 1])):
        joints[f"j{k}"] = {"type": "revolute", "parent": parent, "child": f"b{k}", "axis": axis, "v": 0.7 - 0.5 * k,
                           "origin": {"position": [0.3 * (k > 0), 0, 0]}}  # fmt: skip
        parent = f"b{k}"
    if friction:
        joints["j1"]["friction"] = {"torque": friction}
    bodies = {f"b{k}": body(1.0, com=[0.15, 0.05, 0.0]) for k in range(3)}
    return {"gravity": [0, 0, -9.81], "bodies": bodies, "joints": joints, **more}


@every_method
def test_the_combination_of_one_coordinate_is_the_friction_of_its_joint(method):
    """A hinge in the middle of an arm, with a brake of its own and with one of a combination, scaled by 2.5."""
    expected = run(arm(0.3), method)
    found = run(arm(combinations={"one": {"terms": {"j1": -2.5}, "friction": 0.3 / 2.5}}), method)
    for name in ("joints/j0/v", "joints/j1/v", "joints/j2/v", "joints/j0/force", "joints/j1/force"):
        np.testing.assert_allclose(found(name), expected(name), rtol=0, atol=1e-9)
    for name in ("combinations/one", "joints/j1"):
        own = found if name.startswith("c") else expected
        assert own(f"energy/dissipation/{name}/friction")[-1] > 3e-3
    np.testing.assert_allclose(
        found("energy/dissipation/combinations/one/friction"), expected("energy/dissipation/joints/j1/friction"),
        rtol=0, atol=1e-11,
    )  # fmt: skip


def test_all_methods_move_alike():
    """An arm whose combination slips, turns back and sticks; variational steps are other ones, of the same order."""
    more = {"combinations": {"sum": {"terms": {"j0": 1.0, "j1": 0.5, "j2": -0.8}, "friction": 1.5}}}
    found = {method: run(arm(**more), method, duration=0.5) for method in METHODS}
    rates = {name: np.hstack([own(f"joints/j{k}/v") for k in range(3)]) for name, own in found.items()}
    for method in ("redmax", "symbolic"):
        np.testing.assert_allclose(rates[method], rates["aba"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(rates["variational_maximal"], rates["variational"], rtol=0, atol=1e-7)
    for method in ("baraff", "variational"):  # steps of other coordinates
        np.testing.assert_allclose(rates[method], rates["aba"], rtol=0, atol=0.03)


@every_method
def test_a_combination_that_sticks_is_a_coupling(method):
    """With more friction than it can take, an arm moves as with the linear coupling of the same terms.

    The value stays to round-off where it is linear in the coordinates of the method; those of `baraff` are of bodies.
    """
    start = {"j0": {"v": 0.0}, "j1": {"v": 0.0}, "j2": {"v": 0.0}}
    terms = {"j0": 1.0, "j1": 0.5, "j2": -0.8}
    scenes = [
        arm(combinations={"sum": {"terms": terms, "friction": 1e3}}),
        arm(couplings={"sum": {"type": "linear", "terms": terms}}),
    ]
    for scene in scenes:
        for name, fields in start.items():
            scene["joints"][name] |= fields
    found, expected = (run(scene, method, duration=0.5) for scene in scenes)
    drift = {"baraff": 1e-3, "variational": 1e-9, "variational_maximal": 1e-9}.get(method, 1e-13)
    assert np.abs(found("combinations/sum/value")).max() < drift
    for k in range(3):
        np.testing.assert_allclose(found(f"joints/j{k}/q"), expected(f"joints/j{k}/q"), rtol=0, atol=5e-3)
    lost = np.abs(found("energy/dissipation/combinations/sum/friction")).max()
    assert lost < (1e-4 if method == "baraff" else 1e-12)


# --- beside other elements --------------------------------------------------------------------------------------------
@every_method
def test_beside_limits_contacts_and_friction_of_joints(method):
    """Two blocks on a floor, whose difference has friction; one of them meets a limit, and one has a brake of its own.

    Friction of the floor holds 2 and 3 N, that of their difference 5.5 N, and the brake 1 N.
    """
    floor = {"type": "plane", "normal": [0, 0, 1]}
    scene = {
        "gravity": [0, 0, -10.0],
        "world": {"shapes": [floor]},
        "contacts": {"friction": 0.1},
        "bodies": {
            "a": body(2.0, shapes=[{"type": "box", "size": [0.2, 0.2, 0.2]}]),
            "b": body(3.0, shapes=[{"type": "box", "size": [0.2, 0.2, 0.2]}]),
        },
        "joints": {
            "x": {"type": "translational", "child": "a", "origin": {"position": [0, 0, 0.1]}, "force": [9, 0, 0],
                  "limits": [[None, 0.1], None, None]},
            "y": {"type": "translational", "child": "b", "origin": {"position": [0, 1, 0.1]}, "force": [0, 0, 0],
                  "friction": {"force": [1, 0, 0]}},
        },
        "combinations": {"difference": {"terms": {"x/0": 1.0, "y/0": -1.0}, "friction": 5.5}},
    }  # fmt: skip
    found = run(scene, method, duration=0.8)
    time, x, y = found("time"), found("joints/x/v")[:, 0], found("joints/y/v")[:, 0]
    free = time < 0.3
    np.testing.assert_allclose(x[free], (9.0 - 2.0 - 5.5) / 2.0 * time[free], rtol=0, atol=1e-7)
    np.testing.assert_allclose(y[free], (5.5 - 1.0 - 3.0) / 3.0 * time[free], rtol=0, atol=1e-7)
    assert np.abs(x[-50:]).max() < 1e-9  # at its limit
    assert np.abs(y[-50:]).max() < 1e-9  # the difference drags it no further: 5.5 N hold 4 N
    assert np.ptp(found("joints/y/q")[-50:, 0]) < 1e-12
    assert np.abs(found("energy/ledger_residual")).max() < 2e-3  # of the impact on the limit, in the order of the step


@every_method
def test_in_a_closed_loop(method):
    """A parallelogram turns as one coordinate: the friction of the sum of both cranks is twice that of one."""
    scene = {
        "bodies": {"left": body(1.0), "right": body(1.0), "top": body(1.0, com=[0.5, 0, 0])},
        "joints": {
            "l": {"type": "revolute", "child": "left", "axis": [0, 1, 0], "v": 2.0},
            "r": {"type": "revolute", "child": "right", "axis": [0, 1, 0], "origin": {"position": [1, 0, 0]}, "v": 2.0},
            "lt": {"type": "spherical", "parent": "left", "child": "top",
                   "origin": {"position": [0, 0, 1]}, "v": [0, -2.0, 0]},
            "rt": {"type": "cylindrical", "parent": "right", "child": "top", "axis": [0, 1, 0],
                   "origin": {"position": [0, 0, 1]}, "child_origin": {"position": [1, 0, 0]}, "v": [-2.0, 0]},
        },
        "combinations": {"cranks": {"terms": {"l": 1.0, "r": 1.0}, "friction": 0.5}},
    }  # fmt: skip
    inertia = 0.2 + 0.2 + 1.0 * 1.0  # two cranks about their hinges, and the bar on a circle
    found = run(scene, method, duration=3.5)
    time, rate = found("time"), found("joints/l/v")[:, 0]
    slows = time < 2.0 * inertia / 1.0 - 0.01
    np.testing.assert_allclose(rate[slows], 2.0 - 1.0 / inertia * time[slows], rtol=0, atol=4e-3)
    assert np.abs(rate[-300:]).max() < 1e-12
    assert np.ptp(found("joints/l/q")[-300:]) < 1e-12
    np.testing.assert_allclose(
        found("energy/dissipation/combinations/cranks/friction")[-1], 0.5 * inertia * 4.0, rtol=3e-3
    )


# --- paths ------------------------------------------------------------------------------------------------------------
def ring(friction, **mass):
    """A ring on a rod along z beside a nail at the height of 0: a path leads from a wall over the nail to the ring."""
    return {
        "bodies": {"ring": body(2.0)},
        "joints": {"z": {"type": "prismatic", "child": "ring", "axis": [0, 0, 1], **mass}},
        "paths": {
            "cord": {
                "path": [
                    {"body": "world", "point": [-1, 0, 0]},
                    {"body": "world", "point": [0, 0, 0.3]},
                    {"body": "ring", "point": [0, 0, -0.2]},
                ],
                "friction": friction,
            }
        },
    }


@every_method
@pytest.mark.parametrize(("force", "rate"), [(-3.0, -1.0), (3.0, 1.0), (-0.9, 0.0), (0.9, 0.0)])
def test_a_path_along_a_line_is_a_brake(method, force, rate):
    """1 N of friction; the ring below the nail lengthens the path as it falls."""
    found = run(ring(1.0, force=force, q=-1.0), method)
    tolerance = 1e-15 if rate == 0.0 else 1e-12
    assert np.abs(found("joints/z/v")[:, 0] - rate * found("time")).max() < tolerance
    np.testing.assert_allclose(found("paths/cord/friction")[1:], -np.clip(force, -1, 1), rtol=1e-10)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-13
    np.testing.assert_allclose(found("paths/cord/length")[0], 2.5440306508910548, rtol=1e-14)


@every_method
def test_a_path_at_right_angles_to_the_motion_has_no_friction(method):
    """Friction along a line of 1 m has the part z across it, m z'' = -f z, where brakes of a coordinate have f."""
    scene = ring(5.0, v=1e-3)
    scene["paths"]["cord"]["path"] = [
        {"body": "world", "point": [1, 0, 0]}, {"body": "ring", "point": [0, 0, 0]},
    ]  # fmt: skip
    found = run(scene, method, duration=0.05)
    time = found("time")
    np.testing.assert_allclose(found("joints/z/v")[:, 0], 1e-3 * np.cos(np.sqrt(2.5) * time), rtol=1e-4)
    np.testing.assert_allclose(found("paths/cord/friction")[5:], 5.0, rtol=1e-9)


@every_method
def test_a_path_between_free_bodies_takes_no_momentum(method):
    """Two bodies part on a line with 3 m/s; 2 N of friction stop that after m v / f, and leave the motion of both."""
    scene = {
        "bodies": {"a": body(1.0, position=[0, 0, 0], velocity={"linear": [-1, 0.5, 0]}),
                   "b": body(2.0, position=[1, 0, 0], velocity={"linear": [2, 0.5, 0]})},
        "paths": {"cord": {"path": [{"body": "a"}, {"body": "b"}], "friction": 4.0}},
    }  # fmt: skip
    found = run(scene, method, duration=0.7)
    reduced = 2.0 / 3.0
    rate, time = found("paths/cord/rate"), found("time")
    np.testing.assert_allclose(rate, np.maximum(3.0 - 4.0 / reduced * time, 0.0), rtol=0, atol=1e-11)
    np.testing.assert_allclose(found("momentum/linear")[-1], [3.0, 1.5, 0.0], rtol=0, atol=1e-12)
    lost = found("energy/dissipation/paths/cord/friction")[-1]
    np.testing.assert_allclose(lost, 0.5 * reduced * 9.0, rtol=1e-11)
    assert np.ptp(found("paths/cord/length")[-100:]) < 1e-12


@every_method
def test_a_branch_has_the_friction_over_its_divisor(method):
    scene = ring(1.0, force=-3.0, q=-1.0)
    scene["paths"]["cord"]["path"][1] |= {"divisor": 2.0}
    scene["paths"]["cord"]["path"].insert(1, {"body": "world", "point": [0, 0, 0.3]})
    found = run(scene, method)
    np.testing.assert_allclose(found("joints/z/v")[-1], -2.5 / 2.0 * 0.3, rtol=1e-11)


@every_method
@pytest.mark.parametrize(("force", "rate"), [(-3.0, -1.0), (0.9, 0.0)])
def test_a_path_over_a_drum_loads_its_axle(method, force, rate):
    """1 N of friction along a cord that turns by a right angle: the axle carries both lines, without a torque."""
    slide = {"type": "prismatic", "child": "ring", "axis": [0, 0, 1], "origin": {"position": [0.1, 0, -1]}}
    rim = {"type": "cylinder", "body": "drum", "radius": 0.1, "rotation": {"axis": [1, 0, 0], "angle": "90 deg"}}
    cord = [{"body": "world", "point": [-1, 0, 0.4]}, {"wrap": "rim", "side": [0.5, 1, 0]}, {"body": "ring"}]
    scene = {
        "bodies": {"ring": body(2.0), "drum": body(1.0)},
        "joints": {
            "z": slide | {"force": force},
            "axle": {"type": "revolute", "child": "drum", "axis": [0, 1, 0], "origin": {"position": [0, 0, 0.3]}},
        },
        "surfaces": {"rim": rim},
        "paths": {"cord": {"path": cord, "friction": 1.0}},
    }
    found = run(scene, method)
    np.testing.assert_allclose(found("paths/cord/length")[0], 1.0 + 0.05 * np.pi + 1.3, rtol=1e-14)
    np.testing.assert_allclose(found("joints/z/v")[:, 0], rate * found("time"), rtol=0, atol=1e-12)
    tension = -np.clip(force, -1.0, 1.0)
    np.testing.assert_allclose(found("joints/axle/force")[-1], [0, 0, 0, tension, 0, tension], rtol=0, atol=1e-9)
    assert np.abs(found("joints/axle/v")).max() < 1e-14


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
def test_a_path_that_sticks_keeps_its_length_as_it_turns(method):
    """Variational steps have the mean rate of the length: two bodies that circle each other stay apart to round-off."""
    scene = {
        "bodies": {"a": body(1.0, position=[0, 0, 0], velocity={"linear": [0, -1, 0]}),
                   "b": body(1.0, position=[1, 0, 0], velocity={"linear": [0, 1, 0]})},
        "paths": {"cord": {"path": [{"body": "a"}, {"body": "b"}], "friction": 4.0}},
    }  # fmt: skip
    found = run(scene, method, duration=1.0)
    np.testing.assert_allclose(found("paths/cord/length"), 1.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found("paths/cord/friction")[-1], 2.0, rtol=1e-4)  # m v^2 / r


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
@pytest.mark.parametrize("length", [2.0, None])
def test_the_force_of_a_path_is_the_sum_of_all_tensions(method, length):
    """A ring on a cord with a spring, a tension, a winch, friction, and a rope that is taut or slack: m a = T - m g."""
    scene = ring(1.0, q=-1.0, v=-0.2)
    scene |= {
        "gravity": [0, 0, -9.81],
        "springs": {"spring": {"path": "cord", "stiffness": 5.0, "damping": 0.3, "rest_length": 2.4},
                    "other": {"between": [{"body": "world"}, {"body": "ring"}], "stiffness": 1e-9, "rest_length": 1.0}},
        "forces": {"push": {"body": "ring", "force": [0, 0, 0]},
                   "tension": {"path": "cord", "tension": "2 + sin(9*t)"}},
        "actuators": {"winch": {"type": "general", "path": "cord", "force": "-3*t"}},
        "constraints": {"strut": {"type": "distance", "path": "cord", "limits": [0.1, 9.0]}},
    }  # fmt: skip
    if length:
        scene["constraints"]["rope"] = {"type": "distance", "path": "cord", "limits": [None, 2.5440306508910548]}
        scene["joints"]["z"]["v"] = 0.0
    found = run(scene, method, duration=0.1)
    total, a = found("paths/cord/force"), found("joints/z/acceleration")[:, 0]
    np.testing.assert_allclose(found("forces/tension/force"), 2.0 + np.sin(9.0 * found("time")), rtol=1e-12)
    parts = found("springs/spring/force") + found("forces/tension/force") - found("actuators/winch/force")[:, 0]
    parts = parts + found("paths/cord/friction")
    if length:
        parts = parts + found("constraints/rope/multiplier")[:, 0]
        assert found("constraints/rope/multiplier").max() > 1.0
    np.testing.assert_allclose(total, parts, rtol=0, atol=1e-12)
    np.testing.assert_allclose(2.0 * a[2:], total[2:] - 2.0 * 9.81, rtol=0, atol=1e-6)


# --- random mechanisms ------------------------------------------------------------------------------------------------
def mechanism(rng):
    """Four bodies on hinges and sliders, some with brakes, with combinations, their doubles, and a path."""
    joints, combinations, parent = {}, {}, "world"
    for k in range(4):
        kind = ("revolute", "prismatic")[rng.integers(2)]
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.6 else rng.normal(size=3)
        joints[f"j{k}"] = {"type": kind, "parent": parent, "child": f"b{k}", "axis": axis.tolist(), "v": rng.normal(),
                           "origin": {"position": rng.normal(size=3).tolist()}}  # fmt: skip
        if rng.random() < 0.3:
            joints[f"j{k}"]["friction"] = {"torque" if kind == "revolute" else "force": 2.0 * rng.random()}
        parent = f"b{k}" if rng.random() < 0.7 else "world"
    for c in range(rng.integers(1, 4)):
        terms = {f"j{k}": float(rng.integers(-2, 3)) for k in range(3)} | {"j3": 1.0}
        combinations[f"c{c}"] = {"terms": terms, "friction": 5.0 * rng.random()}
        if rng.random() < 0.4:
            combinations[f"d{c}"] = {"terms": {k: 2 * f for k, f in terms.items()}, "friction": 5.0 * rng.random()}
    path = [{"body": "world", "point": [0.1, 0.2, 0.3]}, {"body": "b1", "point": [0.3, 0, 0]},
            {"body": "b3", "point": [0, 0.4, 0]}]  # fmt: skip
    bodies = {f"b{k}": body(1.0 + rng.random(), com=rng.normal(size=3).tolist()) for k in range(4)}
    return {"gravity": [0, 0, -9.81], "bodies": bodies, "joints": joints, "combinations": combinations,
            "paths": {"cord": {"path": path, "friction": 5.0 * rng.random()}}}  # fmt: skip


@pytest.mark.parametrize("methods", [("aba", "redmax"), ("variational", "variational_maximal")])
@pytest.mark.parametrize("seed", range(5))
def test_random_mechanisms_obey_the_law(seed, methods):
    """Methods of one kind of steps agree; friction is within its limit, holds inside, and opposes the rate at it."""
    scene = mechanism(np.random.default_rng(seed))
    found, other = (run(scene, method, duration=0.1) for method in methods)
    rates = [np.hstack([one(f"joints/j{k}/v") for k in range(4)]) for one in (found, other)]
    np.testing.assert_allclose(rates[1], rates[0], rtol=0, atol=1e-8)
    elements = {f"combinations/{name}": one["friction"] for name, one in scene["combinations"].items()}
    for path, limit in (elements | {"paths/cord": scene["paths"]["cord"]["friction"]}).items():
        force, rate = found(f"{path}/friction")[1:], found(f"{path}/rate")[1:]
        force = -force if path == "paths/cord" else force
        assert (np.abs(force) <= limit * (1.0 + 1e-12)).all()
        if methods[0] == "aba" and path != "paths/cord":  # whose direction turns within the step
            inside = np.abs(force) < limit * (1.0 - 1e-6)
            assert not inside.any() or np.abs(rate[inside]).max() < 1e-9 * np.abs(rates[0]).max()
            assert (force * rate)[~inside].max(initial=0.0) < 1e-9


# --- refusals ---------------------------------------------------------------------------------------------------------
def test_a_prescribed_coordinate_is_refused():
    scene = sliders((3.0, 1.0), terms={"x": 1.0, "y": -2.0}, friction=1.0)
    scene["joints"]["x"] = {"type": "prismatic", "child": "a", "axis": [1, 0, 0], "motion": {"position": "0.1*sin(t)"}}
    with pytest.raises(SceneError, match="prescribed `motion` of `x`"):
        loaded(scene, "aba")


def slide(child, parent="world", **fields):
    return {"type": "prismatic", "parent": parent, "child": child, "axis": [1, 0, 0], **fields}


DRIVEN = {"motion": {"position": "0.1*t**2"}}


@pytest.mark.parametrize(
    ("joints", "refused"),
    [
        ({"x": slide("a", **DRIVEN)}, True),
        ({"x": slide("a", **DRIVEN), "y": slide("b", "a", **DRIVEN)}, True),
        ({"x": slide("a"), "y": slide("b", "a", **DRIVEN)}, False),
        ({"x": slide("a", **DRIVEN), "y": slide("b", "a")}, False),
        ({"x": slide("a", **DRIVEN)} | {"y": {"type": "fixed", "parent": "a", "child": "b"}}, True),
        ({"y": slide("b", "a", **DRIVEN)}, False),
    ],
    ids=["prescribed", "both", "on a free slide", "free on it", "fixed to it", "on a free body"],
)
def test_friction_of_a_path_between_prescribed_points_is_refused(joints, refused):
    """The rows of such a brake change no motion: its force and its loss were 0 without a word."""
    inertia = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}
    scene = {
        "bodies": {joint["child"]: inertia for joint in joints.values()} | {"a": inertia},
        "joints": joints,
        "paths": {"cord": {"path": [{"body": "world", "point": [2, 0, 0]}, {"body": [*joints.values()][-1]["child"]}]}},
    }
    scene["paths"]["cord"]["friction"] = 3.0
    message = "paths.cord.friction: has no effect on points that move by a prescribed `motion` alone"
    with pytest.raises(SceneError, match=message) if refused else nullcontext():
        loaded(scene, "aba", integrator="semi_implicit_euler")
