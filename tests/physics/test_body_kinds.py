"""Point, planar and affine bodies against closed forms, rigid bodies and independent formulations."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

from multibody_cli import MemorySink, prepare
from multibody_cli.spec.rotations import rotation_matrix

METHODS = ["aba", "redmax", "baraff"]
G = 9.81
SOLVED = 1e-7  # error of some 50 steps of relative error 1e-9


@pytest.fixture
def run(tmp_path):
    """Run a scene that is given by its sections; the trajectory, and the simulation."""

    def run(method="baraff", duration=1.0, **sections):
        path = tmp_path / "scene.yaml"
        simulation = {"duration": duration, "method": method, "integrator": "dop853"}
        scene = {"mbsim": 1, "simulation": simulation} | sections
        path.write_text(json.dumps(scene, default=np.ndarray.tolist), encoding="utf-8")
        sink, prepared = MemorySink(), prepare(path)
        prepared.run(sink)
        return sink.trajectory(), prepared

    return run


def final(trajectory, channel):
    return trajectory.channel(channel).values[-1]


def spread(trajectory, channel):
    """Largest difference of a channel from its initial value."""
    values = trajectory.channel(channel).values
    return np.abs(values - values[0]).max()


def skew(a):
    return np.cross(np.eye(3), a)


def pin(**joint):
    return {"type": "spherical", **joint}


# --- points -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_a_free_point_draws_a_parabola(run, method):
    bead = {"kind": "point", "mass": 0.01, "position": [0, 0, 0.5], "velocity": {"linear": [1, 2, 3]}}
    found, prepared = run(method, bodies={"bead": bead})
    assert prepared.compiled.model.nv == 3
    np.testing.assert_allclose(final(found, "bodies/bead/position"), [1, 2, 3.5 - G / 2], atol=1e-12)
    np.testing.assert_array_equal(final(found, "bodies/bead/quaternion"), [1, 0, 0, 0])


@pytest.mark.parametrize("method", METHODS)
def test_a_point_on_a_rod_is_the_simple_pendulum(run, method):
    length, angle = 0.7, 1.2
    quarter = np.sqrt(length / G) * ellipk(np.sin(angle / 2) ** 2)
    start = [length * np.sin(angle), 0.0, -length * np.cos(angle)]
    rod = {"type": "distance", "between": [{"body": "world"}, {"body": "bead"}], "length": length}
    bead = {"kind": "point", "mass": 2.0, "position": start}
    found, _ = run(method, duration=float(quarter), bodies={"bead": bead}, constraints={"rod": rod})
    np.testing.assert_allclose(final(found, "bodies/bead/position"), [0, 0, -length], atol=SOLVED)
    assert spread(found, "energy/total") < SOLVED


@pytest.mark.parametrize("method", METHODS)
def test_three_points_on_rods_are_a_rigid_rotor(run, method):
    """Their positions are those of three points of a rigid body with their masses."""
    masses = np.array([1.0, 2.0, 3.0])
    places = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, -0.5, 1.0]])
    places -= masses @ places / masses.sum()
    spin = np.array([1.0, 2.0, -0.5])
    J = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, places, strict=True))
    bodies = {
        f"p{k}": {
            "kind": "point",
            "mass": float(masses[k]),
            "position": places[k].tolist(),
            "velocity": {"linear": np.cross(spin, places[k]).tolist()},
        }
        for k in range(3)
    }
    rods = {
        f"r{i}{j}": {
            "type": "distance",
            "between": [{"body": f"p{i}"}, {"body": f"p{j}"}],
            "length": float(np.linalg.norm(places[i] - places[j])),
        }
        for i, j in ((0, 1), (1, 2), (0, 2))
    }
    found, prepared = run(method, bodies=bodies, constraints=rods)
    assert not prepared.compiled.warnings
    rotor = {"mass": 6.0, "inertia": {"matrix": J.tolist()}, "velocity": {"angular": spin.tolist()}}
    rigid, _ = run("aba", bodies={"rotor": rotor})
    w, x, y, z = final(rigid, "bodies/rotor/quaternion")
    u = np.array([x, y, z])
    for k in range(3):
        turned = places[k] + 2 * w * np.cross(u, places[k]) + 2 * np.cross(u, np.cross(u, places[k]))
        expected = final(rigid, "bodies/rotor/position") + turned
        np.testing.assert_allclose(final(found, f"bodies/p{k}/position"), expected, atol=SOLVED)


@pytest.mark.parametrize("method", METHODS)
def test_a_point_at_the_end_of_an_arm_adds_its_mass(run, method):
    """A rigid arm carries it by a ball; with baraff both joints are in the tree, with a point below a rigid body."""
    arm = {"mass": 1.0, "inertia": {"principal": [0.02, 0.03, 0.01]}, "velocity": {"angular": [1, 2, 0]}}
    tip, extra = np.array([0.0, 0.3, -0.4]), 0.5
    bead = {"kind": "point", "mass": extra, "position": tip.tolist()}
    joints = {"root": pin(child="arm", v=[1, 2, 0])}
    joints["end"] = pin(parent="arm", child="bead", origin={"position": tip.tolist()})
    found, prepared = run(method, bodies={"arm": {k: arm[k] for k in ("mass", "inertia")}, "bead": bead}, joints=joints)
    if method == "baraff":
        assert prepared.compiled.model.system.rows["primary"].all()
    com = extra * tip / (1.0 + extra)
    J = np.diag([0.02, 0.03, 0.01]) + extra / (1 + extra) * (tip @ tip * np.eye(3) - np.outer(tip, tip))
    whole = {"mass": 1.0 + extra, "com": com.tolist(), "inertia": {"matrix": J.tolist()}}
    rigid, _ = run("aba", bodies={"arm": whole}, joints={"root": joints["root"]})
    for channel in ("bodies/arm/quaternion", "bodies/arm/angular_velocity"):
        np.testing.assert_allclose(final(found, channel), final(rigid, channel), atol=SOLVED)


@pytest.mark.parametrize("method", METHODS)
def test_a_bead_on_a_turning_rod(run, method):
    """It moves outward as r cosh(w t); the rod applies 2 m w dr/dt at the arm r."""
    r, speed, mass = 0.2, 1.5, 0.3
    parts = [{"type": "prismatic", "axis": [1, 0, 0]}]
    parts += [{"type": "revolute", "axis": axis} for axis in ([0, 0, 1], [0, 1, 0], [1, 0, 0])]
    bodies = {
        "rod": {"mass": 1.0, "inertia": {"principal": [1.0, 1.0, 1.0]}},
        "bead": {"kind": "point", "mass": mass, "position": [r, 0, 0], "velocity": {"linear": [0, r * speed, 0]}},
    }
    joints = {
        "shaft": {"type": "revolute", "child": "rod", "motion": {"velocity": speed}},
        "slot": {"type": "composite", "parent": "rod", "child": "bead", "parts": parts},
    }
    found, _ = run(method, bodies=bodies, joints=joints, gravity=[0, 0, 0])
    reach, rate = r * np.cosh(speed), r * speed * np.sinh(speed)
    expected = [reach * np.cos(speed), reach * np.sin(speed), 0.0]
    np.testing.assert_allclose(final(found, "bodies/bead/position"), expected, atol=SOLVED)
    assert final(found, "joints/slot/q")[0] == pytest.approx(reach, abs=SOLVED)
    assert final(found, "joints/shaft/force")[2] == pytest.approx(2 * mass * speed * rate * reach, rel=1e-5)


# --- planar bodies ------------------------------------------------------------------------------------------------
UPRIGHT = {"axis": [1, 0, 0], "angle": "90 deg"}
ROD = {"mass": 1.0, "inertia": {"principal": [0.0, 0.1, 0.1]}}


def hinged_rods(kind):
    """A double pendulum in the x-z plane, whose hinges turn about -y."""
    starts = [{"position": [x, 0, 0], "rotation": UPRIGHT, "kind": kind} for x in (0.5, 1.5)]
    placed = starts if kind == "planar" else [{}, {}]
    joints = {
        "first": {"type": "revolute", "child": "a", "origin": {"rotation": UPRIGHT}},
        "second": {"type": "revolute", "parent": "a", "child": "b", "origin": {"position": [0.5, 0, 0]}},
    }
    for joint in joints.values():
        joint["child_origin"] = {"position": [-0.5, 0, 0]}
    return {"bodies": {"a": {**ROD, **placed[0]}, "b": {**ROD, **placed[1]}}, "joints": joints}


@pytest.mark.parametrize("method", METHODS)
def test_a_planar_double_pendulum_moves_as_a_rigid_one(run, method):
    found, prepared = run(method, **hinged_rods("planar"))
    assert not prepared.compiled.warnings  # the planar motion of a body adds no rows to the hinges
    rigid, _ = run("aba", **hinged_rods("rigid"))
    for body in "ab":
        for field in ("position", "quaternion", "linear_velocity"):
            channel = f"bodies/{body}/{field}"
            np.testing.assert_allclose(final(found, channel), final(rigid, channel), atol=SOLVED)
    for joint in ("first", "second"):
        for quantity in ("q", "v", "acceleration"):
            channel = f"joints/{joint}/{quantity}"
            np.testing.assert_allclose(final(found, channel), final(rigid, channel), atol=20 * SOLVED)
        np.testing.assert_allclose(
            final(found, f"joints/{joint}/force")[3:], final(rigid, f"joints/{joint}/force")[3:], atol=100 * SOLVED
        )


def test_hinges_of_planar_bodies_are_nodes_of_two_rows(run):
    """A tree of planar bodies is a tree for Baraff's method: nothing fills in, and no row is left to the dual."""
    _, prepared = run(duration=0.01, **hinged_rods("planar"))
    system = prepared.compiled.model.system
    assert system.rows["primary"].tolist() == [1] * 4
    spans = system.tree.inboard_joints["last_row"] - system.tree.inboard_joints["first_row"]
    assert spans.tolist() == [0, 2, 2]


@pytest.mark.parametrize("method", METHODS)
def test_a_slider_crank_of_planar_bodies(run, method):
    """The slider is at r cos(angle) + sqrt(l^2 - r^2 sin^2(angle))."""
    r, length, speed, angle = 0.3, 1.0, 5.0, 0.4
    y, x = r * np.sin(angle), r * np.cos(angle)
    reach = x + np.sqrt(length**2 - y**2)
    tilt = -np.arcsin(y / length)
    planar = {"kind": "planar", **ROD}
    bodies = {
        "crank": {**planar, "rotation": {"axis": [0, 0, 1], "angle": angle}},
        "rod": {**planar, "position": [float(x), float(y), 0], "rotation": {"axis": [0, 0, 1], "angle": float(tilt)}},
        "slider": {**planar, "position": [float(reach), 0, 0]},
    }
    joints = {
        "shaft": {"type": "revolute", "child": "crank", "motion": {"velocity": speed}, "q": angle},
        "pin": {"type": "revolute", "parent": "crank", "child": "rod", "origin": {"position": [r, 0, 0]}},
        "wrist": {"type": "revolute", "parent": "rod", "child": "slider", "origin": {"position": [length, 0, 0]}},
        "guide": {"type": "prismatic", "child": "slider", "axis": [1, 0, 0], "q": float(reach)},
    }
    found, prepared = run(method, bodies=bodies, joints=joints)
    assert not any("constraint_entries" in words for words in prepared.compiled.warnings)
    turned = angle + speed
    expected = r * np.cos(turned) + np.sqrt(length**2 - (r * np.sin(turned)) ** 2)
    np.testing.assert_allclose(final(found, "joints/guide/q"), expected, atol=SOLVED)


def planar_ladder(n, turned):
    """n four-bars of planar bodies, in the plane of the axes x and y of a turned frame, with loads out of the plane."""
    place = rotation_matrix(turned)

    def body(x, y, angle):
        about = Rotation.from_matrix(place) * Rotation.from_euler("z", angle)
        frame = {
            "position": (place @ [x, y, 0]).tolist(),
            "rotation": {"quaternion": np.roll(about.as_quat(), 1).tolist()},
        }
        return {"kind": "planar", **ROD, **frame}

    world = {"quaternion": list(turned)}
    bodies = {f"up{k}": body(k, 0.5, np.pi / 2) for k in range(n + 1)}
    bodies |= {f"rail{k}": body(k + 0.5, 1, 0) for k in range(n)}
    joints = {
        f"pin{k}": {
            "type": "revolute",
            "child": f"up{k}",
            "origin": {"position": (place @ [k, 0, 0]).tolist(), "rotation": world},
            "child_origin": {"position": [-0.5, 0, 0]},
        }
        for k in range(n + 1)
    }
    for k in range(n):
        end, inner = {"position": [0.5, 0, 0]}, {"position": [-0.5, 0, 0]}
        joints[f"left{k}"] = {
            "type": "revolute",
            "parent": f"up{k}",
            "child": f"rail{k}",
            "origin": end,
            "child_origin": inner,
        }
    for k in range(n):
        joints[f"right{k}"] = {
            "type": "revolute",
            "parent": f"rail{k}",
            "child": f"up{k + 1}",
            "origin": end,
            "child_origin": end,
        }
    return {"bodies": bodies, "joints": joints, "gravity": [3.0, 1.0, -G]}


@pytest.mark.parametrize("turned", [(1.0, 0.0, 0.0, 0.0), (0.5, 0.5, -0.1, 0.7)])
def test_joints_within_a_plane_carry_planar_bodies(run, turned):
    """Joints form a tree, loops have two rows; motion and reactions are those of bodies with their own coordinates."""
    turned = tuple(np.array(turned) / np.linalg.norm(turned))
    found, prepared = run("aba", duration=0.5, **planar_ladder(2, turned))
    system = prepared.compiled.model.system
    assert len(system.tree.links) == 6
    assert system.tree.links["nv"].sum() == 5
    assert len(system.rows) == 4
    assert prepared.compiled.n_dofs == 1
    expected, _ = run("baraff", duration=0.5, **planar_ladder(2, turned))
    for body in ("up0", "up2", "rail1"):
        for field in ("position", "quaternion", "linear_velocity", "angular_velocity"):
            channel = f"bodies/{body}/{field}"
            np.testing.assert_allclose(final(found, channel), final(expected, channel), atol=20 * SOLVED)
    for joint in ("pin0", "pin1", "left1", "right0"):
        for field in ("q", "v", "acceleration", "force"):
            channel = f"joints/{joint}/{field}"
            np.testing.assert_allclose(final(found, channel), final(expected, channel), atol=200 * SOLVED)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "spherical"},
        {"type": "cylindrical", "axis": [0, 0, 1]},
        {"type": "revolute", "axis": [0, 0, 1], "child_origin": {"position": [-0.5, 0, 1e-9]}},
        {
            "type": "revolute",
            "axis": [0, 0, 1],
            "friction": {"coefficient": 0.1, "surface": {"radius": 0.01, "length": 0.1}},
        },
    ],
)
def test_other_joints_of_planar_bodies_close_loops(run, change):
    """Joints that could leave the plane, that are not exactly in it, or with dry friction."""
    joint = {"child": "a", "child_origin": {"position": [-0.5, 0, 0]}, **change}
    body = {"kind": "planar", **ROD, "position": [0.5, 0, 0]}
    simulation = {"duration": 0.01, "method": "aba", "integrator": "semi_implicit_euler", "step": 1e-3}
    _, prepared = run(bodies={"a": body}, joints={"j": joint}, simulation=simulation)
    assert len(prepared.compiled.model.system.tree.closures) == 1


def slotted_rods(kind):
    """The second rod turns about a pin at the end of the first and slides over it: its constraint axes change."""
    turn, reach = 0.3, 0.6
    parts = [{"type": "revolute", "axis": [0, 0, 1]}, {"type": "prismatic", "axis": [1, 0, 0]}]
    place = [1 + reach * np.cos(turn), reach * np.sin(turn), 0]
    starts = [{"position": [0.5, 0, 0]}, {"position": place, "rotation": {"axis": [0, 0, 1], "angle": turn}}]
    a, b = [{"kind": kind, **start} for start in starts] if kind == "planar" else [{}, {}]
    slot = {"type": "composite", "parent": "a", "child": "b", "parts": parts, "q": [turn, reach], "stiffness": [0, 50]}
    joints = {
        "pin": {"type": "revolute", "child": "a", "child_origin": {"position": [-0.5, 0, 0]}},
        "slot": {**slot, "origin": {"position": [0.5, 0, 0]}, "rest": [0, reach]},
    }
    return {"bodies": {"a": {**ROD, **a}, "b": {**ROD, **b}}, "joints": joints, "gravity": [0, -G, 0]}


def pole_on_a_cart(kind):
    """A rigid cart, which could leave the plane, carries the pole."""
    start = {"kind": kind, "position": [0.5, 0, 0], "rotation": UPRIGHT} if kind == "planar" else {}
    joints = {
        "rail": {"type": "prismatic", "child": "a", "axis": [1, 0, 0]},
        "hinge": {
            "type": "revolute",
            "parent": "a",
            "child": "b",
            "origin": {"rotation": UPRIGHT},
            "child_origin": {"position": [-0.5, 0, 0]},
        },
    }
    cart = {"mass": 2.0, "inertia": {"principal": [1.0, 1.0, 1.0]}}
    return {"bodies": {"a": cart, "b": {**ROD, **start}}, "joints": joints}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("machine", [slotted_rods, pole_on_a_cart])
def test_planar_bodies_move_as_rigid_ones_do(run, method, machine):
    found, _ = run(method, **machine("planar"))
    rigid, _ = run("aba", **machine("rigid"))
    for body in "ab":
        for field in ("position", "quaternion", "linear_velocity"):
            channel = f"bodies/{body}/{field}"
            np.testing.assert_allclose(final(found, channel), final(rigid, channel), atol=SOLVED)


# --- affine bodies ------------------------------------------------------------------------------------------------
AFFINE = [*METHODS, "symbolic"]
SIZE = np.array([0.1, 0.2, 0.3])
MASS = 1000 * SIZE.prod()
MOMENTS = MASS * SIZE**2 / 12.0  # second moments of a box
JELLY = {"kind": "affine", "density": 1000.0, "shapes": [{"type": "box", "size": SIZE.tolist()}]}


@pytest.mark.parametrize("method", AFFINE)
def test_a_free_spinning_affine_body_stretches_linearly(run, method):
    """A(t) = A0 + dA/dt t; energy and both momenta stay, to round-off."""
    spin, A = np.array([1.0, 2.0, 3.0]), np.eye(3)[:, [1, 2, 0]]
    start = {"rotation": {"axis": [1, 1, 1], "angle": "120 deg"}, "velocity": {"angular": spin.tolist()}}
    found, _ = run(method, bodies={"jelly": {**JELLY, **start}}, gravity=[0, 0, 0])
    np.testing.assert_allclose(found.channel("bodies/jelly/deformation").values[0], A.ravel(), atol=1e-15)
    expected = A + skew(spin) @ A
    np.testing.assert_allclose(final(found, "bodies/jelly/deformation"), expected.ravel(), atol=1e-12)
    inertia = A @ np.diag(MOMENTS.sum() - MOMENTS) @ A.T
    assert found.channel("energy/kinetic").values[0] == pytest.approx(spin @ inertia @ spin / 2, rel=1e-12)
    np.testing.assert_allclose(found.channel("momentum/angular").values[0], inertia @ spin, rtol=1e-12)
    np.testing.assert_allclose(found.channel("bodies/jelly/angular_velocity").values[0], spin, atol=1e-12)
    for channel in ("energy/kinetic", "momentum/linear", "momentum/angular"):
        assert spread(found, channel) < 1e-12


def test_the_rotation_of_an_affine_body_is_that_of_its_polar_decomposition(run):
    """And its angular velocity is the rate of that rotation."""
    from scipy.linalg import polar
    from scipy.spatial.transform import Rotation

    found, _ = run("baraff", bodies={"jelly": {**JELLY, "velocity": {"angular": [0.5, 1.0, -0.3]}}}, gravity=[0, 0, 0])
    A = found.channel("bodies/jelly/deformation").values.reshape(-1, 3, 3)
    R = np.array([polar(one)[0] for one in A])
    for k in (100, 500, 900):
        shown = Rotation.from_quat(found.channel("bodies/jelly/quaternion").values[k], scalar_first=True).as_matrix()
        np.testing.assert_allclose(shown, R[k], atol=1e-12)
        dt = found.channel("time").values[k + 1] - found.channel("time").values[k - 1]
        rate = Rotation.from_matrix(R[k + 1] @ R[k - 1].T).as_rotvec() / dt
        np.testing.assert_allclose(found.channel("bodies/jelly/angular_velocity").values[k], rate, atol=1e-5)


@pytest.mark.parametrize("method", AFFINE)
def test_an_affine_body_pinned_at_a_corner(run, method):
    """The inverse effective mass at the pin is 1/m + sum X_k^2/P_k = 10/m: it supports a tenth of the weight."""
    spin, corner = np.array([1.0, -2.0, 0.5]), SIZE / 2
    velocity = np.cross(spin, -corner)
    start = {"position": -corner, "velocity": {"linear": velocity, "angular": spin}}
    joints = {"pin": pin(child="jelly", child_origin={"position": corner})}
    found, _ = run(method, bodies={"jelly": {**JELLY, **start}}, joints=joints)
    fallen = -corner + velocity - [0, 0, 0.45 * G]
    np.testing.assert_allclose(final(found, "bodies/jelly/position"), fallen, atol=SOLVED)
    R = Rotation.from_quat(final(found, "bodies/jelly/quaternion"), scalar_first=True)
    moment, force = np.split(final(found, "joints/pin/force"), 2)  # in the axes of the body
    np.testing.assert_allclose([moment, R.apply(force)], [[0, 0, 0], [0, 0, MASS * G / 10]], atol=SOLVED)
    corners = final(found, "bodies/jelly/position")
    corners = corners + final(found, "bodies/jelly/deformation").reshape(3, 3) @ corner
    assert np.abs(corners).max() < SOLVED
    assert spread(found, "energy/total") < SOLVED
    momenta = found.channel("momentum/angular").values
    assert np.ptp(momenta[:, 2]) < SOLVED  # about the vertical through the pin
    assert np.ptp(momenta[:, 0]) > 0.1


@pytest.mark.parametrize("method", AFFINE)
def test_an_affine_body_pinned_at_three_points_is_sheared_by_a_force(run, method):
    """Only its third director d is free: P d'' = c F for the force F at the point c of the third axis."""
    points = {"x": [0.05, 0, 0], "y": [0, 0.1, 0], "o": [0, 0, 0]}
    joints = {
        name: pin(child="jelly", origin={"position": p}, child_origin={"position": p}) for name, p in points.items()
    }
    force, c = np.array([0.02, 0.01, 0.04]), 0.15
    forces = {"pull": {"body": "jelly", "point": [0, 0, c], "force": force.tolist()}}
    found, _ = run(method, bodies={"jelly": JELLY}, joints=joints, forces=forces, gravity=[0, 0, 0])
    expected = np.eye(3)
    expected[:, 2] += c * force / MOMENTS[2] / 2.0
    np.testing.assert_allclose(final(found, "bodies/jelly/deformation"), expected.ravel(), atol=1e-9)
    assert spread(found, "energy/ledger_residual") < 1e-9


def coupled(X, arm):
    """Accelerations of an affine body and a ball, on a rod from the point X to the arm of the ball, by Lagrange."""

    def rhs(t, y):
        p, A, x, R = y[:3], y[3:12].reshape(3, 3), y[12:15], y[15:24].reshape(3, 3)
        dp, dA, dx, w = y[24:27], y[27:36].reshape(3, 3), y[36:39], y[39:42]
        r = R @ arm
        d, u = x + r - p - A @ X, dx + np.cross(w, r) - dp - dA @ X
        f0 = np.array([0, 0, -G])
        drift = u @ u + d @ (np.cross(w, np.cross(w, r)))  # d.d'' of a free fall, as both fall alike
        W = d @ d / MASS + d @ d * (X**2 / MOMENTS).sum() + d @ d / 2.0 + np.cross(r, d) @ np.cross(r, d) / 0.05
        k = -drift / W  # on the ball along d, against it on the affine body
        ddA = -k * np.outer(d, X / MOMENTS)
        rates = [dp, dA.ravel(), dx, (skew(w) @ R).ravel()]
        return np.concatenate([*rates, f0 - k * d / MASS, ddA.ravel(), f0 + k * d / 2.0, k * np.cross(r, d) / 0.05])

    return rhs


@pytest.mark.parametrize("method", AFFINE)
def test_an_affine_body_on_a_rod_with_a_ball(run, method):
    """Compared with an independent formulation in 12 + 6 degrees of freedom."""
    X, arm, spin = np.array([0.05, 0.1, 0.15]), np.array([0.1, 0.0, 0.0]), np.array([1.0, 2.0, 3.0])
    place = np.array([0.5, 0.8, -0.2])
    length = float(np.linalg.norm(place + arm - X))
    jelly = {**JELLY, "velocity": {"angular": spin.tolist()}}
    ball = {"mass": 2.0, "inertia": {"principal": [0.05] * 3}, "position": place.tolist()}
    ends = [{"body": "jelly", "point": X.tolist()}, {"body": "ball", "point": arm.tolist()}]
    # both ends of the rod start with one velocity, so that nothing has to be completed
    rolling = np.array([0.5, -1.0, 2.0])
    drift = np.cross(spin, X) - np.cross(rolling, arm)
    ball["velocity"] = {"linear": drift, "angular": rolling}
    rod = {"type": "distance", "between": ends, "length": length}
    found, prepared = run(method, bodies={"jelly": jelly, "ball": ball}, constraints={"rod": rod})
    assert not prepared.compiled.warnings
    start = [np.zeros(3), np.eye(3).ravel(), place, np.eye(3).ravel()]
    start += [np.zeros(3), skew(spin).ravel(), drift, rolling]
    wanted = solve_ivp(coupled(X, arm), (0, 1), np.concatenate(start), rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(final(found, "bodies/jelly/position"), wanted[:3], atol=SOLVED)
    np.testing.assert_allclose(final(found, "bodies/jelly/deformation"), wanted[3:12], atol=10 * SOLVED)
    np.testing.assert_allclose(final(found, "bodies/ball/position"), wanted[12:15], atol=SOLVED)
