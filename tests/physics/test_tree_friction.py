"""Dry friction of trees in O(n): its laws by inverse dynamics that is written here, and the same problem as rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from friction_trees import (
    PLAIN,
    H,
    compare_with_rows,
    most_passes,
    prepared,
    require_losses,
    simulated,
    started,
    started_with_rows,
)
from scipy.optimize import lsq_linear

import mbsim
from multibody_cli import prepare
from multibody_cli.contact_solver import staggered_tree_friction, tree_friction

G, L, MASS, SPIN = 9.81, 0.5, 1.5, 0.04
MU, RADIUS = 0.4, 0.03
SCENES = Path(__file__).parents[2] / "scenes"


def plane_chain(n, swing=0.3):
    """Rods about y below one another, each held at its upper end, its centre of mass in the middle."""
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"rod{i}"] = {"mass": MASS, "com": [0, 0, -L / 2], "inertia": {"principal": [SPIN, SPIN, 0.01]}}
        joints[f"hinge{i}"] = {
            "type": "revolute",
            "axis": [0, 1, 0],
            "parent": f"rod{i - 1}" if i else "world",
            "child": f"rod{i}",
            "origin": {"position": [0, 0, -L if i else 0]},
            "q": float(swing * np.sin(1 + i)),
            "v": float(swing * np.cos(2 + 3 * i)),
            "friction": {"coefficient": MU, "surface": {"radius": RADIUS, "length": 0.1}},
        }
    return simulated(bodies, joints)


def hinge_torques_and_loads(q, v, a):
    """Torques about y, and loads |f_x| + |f_z| in the axes of the rods, of all hinges: Newton and Euler."""
    angle, spin, turning = np.cumsum(q), np.cumsum(v), np.cumsum(a)
    down = 0.5 * L * np.array([-np.sin(angle), -np.cos(angle)]).T  # from the hinge to the centre of mass, (x, z)
    across = 0.5 * L * np.array([-np.cos(angle), np.sin(angle)]).T
    pull = across * turning[:, None] - down * spin[:, None] ** 2
    hinges = np.vstack([np.zeros(2), np.cumsum(2 * pull, axis=0)[:-1]])
    needed = MASS * (hinges + pull + [0, G])
    torques, loads, force, torque = np.zeros(len(q)), np.zeros(len(q)), np.zeros(2), 0.0
    for i in reversed(range(len(q))):
        torque += SPIN * turning[i] + moment(down[i], needed[i]) + moment(2 * down[i], force)
        force = force + needed[i]
        c, s = np.cos(angle[i]), np.sin(angle[i])
        loads[i] = abs(c * force[0] - s * force[1]) + abs(s * force[0] + c * force[1])
        torques[i] = torque
    return torques, loads


def moment(arm, force):
    """Moment about y of a force in the plane x, z."""
    return arm[1] * force[0] - arm[0] * force[1]


def test_hinges_of_a_chain_stick_within_their_limit_and_slide_at_it(tmp_path):
    """Coulomb's law for the mean acceleration of each step, by inverse dynamics that share nothing with the program."""
    state, method = started(prepared(tmp_path, plane_chain(30)))
    sticks = slides = 0
    for _ in range(400):
        q, v = state.q.copy(), state.v.copy()
        assert method.step(state, 1) is None
        torques, loads = hinge_torques_and_loads(q, v, (state.v - v) / H)
        limit, stuck = MU * RADIUS * loads, state.v == 0.0
        accuracy = 1e-9 * limit.max()
        assert (np.abs(torques[stuck]) <= limit[stuck] + accuracy).all()
        np.testing.assert_allclose(torques[~stuck], (-np.sign(state.v) * limit)[~stuck], atol=accuracy)
        sticks += stuck.sum()
        slides += (~stuck).sum()
    assert sticks > 1000
    assert slides > 1000


@pytest.mark.parametrize("method", ["aba", "baraff"])
@pytest.mark.parametrize("n", [20, 200])
def test_the_number_of_passes_does_not_grow_with_the_number_of_joints(tmp_path, n, method):
    assert most_passes(prepared(tmp_path, plane_chain(n), f"simulation.method={method}")) <= 12


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_a_chain_only_loses_energy(tmp_path, method):
    require_losses(prepared(tmp_path, plane_chain(20), "simulation.duration=0.5", f"simulation.method={method}"))


def random_tree(rng, n, mu, sliders, integrator="semi_implicit_euler", crosses=0.0):
    """A tree of hinges, sliders, crosses and balls in space; most hinges, all sliders and crosses have friction."""
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"b{i}"] = {
            "mass": float(rng.uniform(0.5, 2.0)),
            "com": rng.uniform(-0.3, 0.3, 3).tolist(),
            "inertia": {"principal": rng.uniform(0.02, 0.03, 3).tolist()},
        }
        axis = rng.normal(size=3)
        joint = {
            "parent": f"b{rng.integers(max(0, i - 3), i)}" if i else "world",
            "child": f"b{i}",
            "origin": {"position": rng.uniform(-0.3, 0.3, 3).tolist()},
        }
        hinge = {"type": "revolute", "axis": (axis / np.linalg.norm(axis)).tolist(), "v": float(rng.normal())}
        friction = {"coefficient": float(mu * rng.uniform(0.3, 1.0)), "surface": {"radius": 0.03, "length": 0.12}}
        match rng.choice(5, p=[0.8 - sliders - crosses, sliders, 0.1, 0.1, crosses]):
            case 0:
                joint |= {**hinge, "friction": friction, "damping": 0.1, "force": float(rng.normal())}
            case 1:
                guide = {**friction, "surface": {"size": [0.4, 0.3, 0.3]}}
                joint |= {"type": "prismatic", "axis": [1, 0, 0], "stiffness": 200.0, "friction": guide}
            case 2:
                joint |= {"type": "spherical"}
            case 3:
                joint |= hinge
            case 4:
                joint |= {"type": "universal", "v": rng.normal(size=2).tolist(), "friction": friction}
        joints[f"j{i}"] = joint
    return simulated(bodies, joints, integrator)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "linearly_implicit_euler"])
@pytest.mark.parametrize("seed", range(4))
def test_random_trees_move_as_with_rows(tmp_path, monkeypatch, seed, integrator):
    """Loads across and along the axes are unequal here."""
    compare_with_rows(tmp_path, monkeypatch, random_tree(np.random.default_rng(seed), 10, 0.3, 0.1, integrator), "aba")


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
@pytest.mark.parametrize("seed", range(3))
def test_trees_with_crosses_move_as_with_rows(tmp_path, monkeypatch, seed, method):
    """Each hinge of a cross loads the other."""
    scene = random_tree(np.random.default_rng(seed), 8, 0.3, 0.1, crosses=0.4)
    compare_with_rows(tmp_path, monkeypatch, scene, method)


def test_a_chain_with_a_coupling_is_solved_as_rows(tmp_path):
    scene = plane_chain(3)
    for joint in scene["joints"].values():
        joint["v"] = 0.0
    scene["couplings"] = {"gears": {"type": "linear", "terms": {"hinge0": 1.0, "hinge2": 0.5}}}
    state, stepper = started(prepared(tmp_path, scene, "simulation.assembly_tolerance=10"))
    for _ in range(20):
        assert stepper.step(state, 1) is None
        assert abs(state.v[0] + 0.5 * state.v[2]) < 1e-10
    assert np.abs(state.v).max() > 1e-3
    assert stepper.contact_work.factors.rank.any(), "rows are solved"
    assert stepper.contact_work.diagnostics.unsolved_steps[0] == 0


@pytest.mark.parametrize(
    ("seed", "integrator", "method"),
    [
        *((seed, "semi_implicit_euler", "aba") for seed in (2, 3, 4)),
        *((seed, "linearly_implicit_euler", "aba") for seed in (2, 4)),
        *((seed, "semi_implicit_euler", "baraff") for seed in (3, 4)),
    ],
)
def test_joints_that_jam_move_as_with_rows(tmp_path, monkeypatch, seed, integrator, method):
    """Much friction and long levers: sliding would press some joints by more than it moves them.

    With seed 2, a joint slides within joints that jam, which Newton's method solves alone.
    """
    simulation = prepared(
        tmp_path, random_tree(np.random.default_rng(seed), 6, 3.0, 0.3, integrator), f"simulation.method={method}"
    )
    (one, tree), (other, rows) = started(simulation), started_with_rows(monkeypatch, simulation)
    in_turn = 0
    for _ in range(10):
        tree.contact_work.factors.rank[:] = -1
        tree.contact_work.diagnostics.newton_steps[0] = 0
        other.q[:], other.v[:] = one.q, one.v
        rows.start(other)
        assert tree.step(one, 1) is None
        assert rows.step(other, 1) is None
        in_turn += tree.contact_work.diagnostics.newton_steps[0] > tree_friction.MAX_ITERATIONS
        assert (tree.contact_work.factors.rank == -1).all(), "no rows are solved"
        assert tree.contact_work.diagnostics.unsolved_steps[0] + rows.contact_work.diagnostics.unsolved_steps[0] == 0
        np.testing.assert_allclose(one.v, other.v, atol=1e-8 * np.abs(other.v).max())
        friction, expected = (one.contact_work.joint_friction.previous_impulses[:, 1] for one in (tree, rows))
        np.testing.assert_allclose(friction, expected, atol=1e-7 * np.abs(expected).max())
    assert (in_turn > 0) == (seed != 2)


def test_steps_of_a_long_chain_of_crosses_take_few_sweeps(tmp_path):
    """Newton's method ends from the states of the first sweeps, for any signs of their pivots."""
    simulation = prepare(SCENES / "bench" / "chain_of_crosses.yaml", [*PLAIN, "vars.n=100"])
    state, method = started(simulation)
    sweeps = []
    for _ in range(500):
        method.contact_work.diagnostics.newton_steps[0] = 0
        assert method.step(state, 1) is None
        sweeps.append(int(method.contact_work.diagnostics.newton_steps[0]) - tree_friction.MAX_ITERATIONS)
    assert not method.contact_work.factors.rank.any(), "no rows are solved"
    assert 0 < max(sweeps) <= 4


@pytest.mark.parametrize("solve", [staggered_tree_friction.exchange_states, staggered_tree_friction.project])
@pytest.mark.parametrize("seed", range(5))
def test_friction_for_given_limits_is_the_projection(tmp_path, solve, seed):
    """min 1/2 x . W x + x . u0 within the limits, with W = r^2 M^-1 at the radius r; the gradient is the slip."""
    n, rng = 8, np.random.default_rng(seed)
    simulation = prepared(tmp_path, plane_chain(n), "simulation.method=aba")
    system = simulation.compiled.model.system
    _, method = started(simulation)
    mass = mbsim.Simulation(mbsim.load(tmp_path / "scene.yaml")).mass_matrix()
    T, v = method.contact_work.tree_friction, rng.normal(size=n)
    momenta = np.abs(mass @ v) / RADIUS
    T.limit[:] = momenta * rng.uniform(0.0, 2.0, n)
    T.friction[:, 0] = T.limit * rng.uniform(-1.0, 1.0, n)
    T.share[:] = T.shared[:] = T.drag[:] = 0
    assert solve(system, method.work, method.contact_work.joint_friction, T, 0.0, v, 1e-10)
    root = RADIUS * np.linalg.inv(np.linalg.cholesky(mass))  # W = root^T root
    limit = T.limit + 1e-300
    wanted = lsq_linear(root, -np.linalg.solve(root.T, RADIUS * v), (-limit, limit), method="bvls", tol=1e-15).x
    assert 0 < (np.abs(wanted) >= (1 - 1e-9) * limit).sum() < n
    np.testing.assert_allclose(T.friction[:, 0], wanted, atol=1e-9 * momenta.max())
    np.testing.assert_allclose(T.slip[:, 0], RADIUS * v + root.T @ root @ wanted, atol=1e-9)


def high_slider(thrust=0.0):
    """A slider whose centre of mass is far above its guide: braking loads the guide by 5 times as much, and it jams."""
    body = {"mass": 2.0, "com": [0, 0, 1.0], "inertia": {"principal": [0.1, 0.1, 0.1]}}
    guide = {"coefficient": 1.0, "surface": {"size": [0.4, 0.3, 0.3]}}
    rail = {"type": "prismatic", "axis": [1, 0, 0], "child": "block", "v": 0.5, "force": thrust, "friction": guide}
    return simulated({"block": body}, {"rail": rail})


@pytest.mark.parametrize("thrust", [0.0, 5.0, -5.0])
def test_a_slider_that_jams_stops_at_once_in_few_passes(tmp_path, thrust):
    """Newton's method is enough for one joint.  The moment of the braking impulse loads both ends of the guide."""
    state, method = started(prepared(tmp_path, high_slider(thrust)))
    assert method.step(state, 1) is None
    assert state.v[0] == 0.0
    limit, friction, _ = method.contact_work.joint_friction.previous_impulses[0]
    assert limit == pytest.approx(2 * 0.5 * 2.0 / 0.4, rel=1e-12)
    assert friction == pytest.approx(-2.0 * 0.5 - H * thrust, rel=1e-12)
    assert method.contact_work.diagnostics.newton_steps[0] <= 5


def test_the_steps_in_which_a_slider_stops_and_starts_take_one_pass(tmp_path):
    """The thrust grows with time: the block slows down, sticks, and slides on with the thrust."""
    friction = {"coefficient": 0.5, "surface": {"size": [0.4, 0.3, 0.3]}}
    body = {"mass": 2.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    rail = {"type": "prismatic", "axis": [1, 0, 0], "child": "block", "v": 0.2, "force": "40*t", "friction": friction}
    state, method = started(prepared(tmp_path, simulated({"block": body}, {"rail": rail})))
    moves, passes = [], []
    for _ in range(400):
        method.contact_work.diagnostics.newton_steps[0] = 0
        assert method.step(state, 1) is None
        moves.append(state.v[0] > 0.0)
        passes.append(int(method.contact_work.diagnostics.newton_steps[0]))
    changes = 1 + np.flatnonzero(np.diff(moves))
    assert [moves[0], len(changes)] == [True, 2]
    assert set(passes[2:]) == {1}


def test_a_chain_in_which_many_hinges_jam_obeys_the_law_in_every_step(tmp_path):
    """From 0.2 s on, Newton's method for friction and loads at once cycles in some steps."""
    simulation = prepare(SCENES / "bench" / "chain_of_crosses.yaml", [*PLAIN, "vars.n=100"])
    state, stepper = started(simulation)
    work, in_turn = stepper.contact_work, 0
    for _ in range(300):
        work.diagnostics.newton_steps[0] = 0
        assert stepper.step(state, 1) is None
        in_turn += work.diagnostics.newton_steps[0] > tree_friction.MAX_ITERATIONS
        limit, friction, _ = work.joint_friction.previous_impulses.T
        slip = work.step.velocity_after.reshape(-1, 3)[: len(limit), 1]
        slides = np.abs(slip) > 1e-9 * np.abs(slip).max()
        tolerance = 1e-8 * limit.max()
        assert (np.abs(friction) <= limit + tolerance).all()
        np.testing.assert_allclose(friction[slides], -np.sign(slip[slides]) * limit[slides], atol=tolerance)
    assert in_turn > 0
    assert work.diagnostics.unsolved_steps[0] == 0
    assert not work.factors.rank.any(), "no rows are solved"


def machines_beside_contacts():
    """A chain with friction, one that is on a limit, one that lies on the floor, and a ball that slides."""
    scene = {"bodies": {}, "joints": {}}
    for name, x in (("free", 0.0), ("limited", 3.0), ("lying", 6.0)):
        chain = plane_chain(4)
        scene["bodies"] |= {f"{name}_{body}": fields for body, fields in chain["bodies"].items()}
        for joint, fields in chain["joints"].items():
            for end in ("parent", "child"):
                fields[end] = fields[end] if fields[end] == "world" else f"{name}_{fields[end]}"
            if fields["parent"] == "world":
                fields["origin"]["position"] = [x, 0, 0]
            scene["joints"][f"{name}_{joint}"] = fields
    scene["joints"]["limited_hinge1"] |= {"limits": [-0.01, 0.5], "q": 0.0, "v": -0.5}
    scene["bodies"]["lying_rod3"]["shapes"] = [{"type": "sphere", "radius": 0.1, "position": [0, 0, -L]}]
    scene["bodies"]["ball"] = {"mass": 1.0, "position": [9, 0, -1.815], "velocity": {"linear": [1, 0, -0.1]}}
    scene["bodies"]["ball"]["shapes"] = [{"type": "sphere", "radius": 0.1}]
    scene["world"] = {"shapes": [{"type": "plane", "position": [0, 0, -1.915]}]}
    scene["contacts"] = {"friction": 0.5, "tolerance": 1e-12}
    return simulated(scene["bodies"], scene["joints"]) | {"world": scene["world"], "contacts": scene["contacts"]}


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
def test_trees_with_contacts_and_limits_move_as_with_rows(tmp_path, monkeypatch, method):
    simulation, ends = prepared(tmp_path, machines_beside_contacts(), f"simulation.method={method}"), []
    for with_rows in (False, True):
        state, stepper = started_with_rows(monkeypatch, simulation) if with_rows else started(simulation)
        work, touched = stepper.contact_work, set()
        for _ in range(80):
            assert stepper.step(state, 1) is None
            if not with_rows and work.step.sizes["contacts"][0] + work.step.sizes["constraint_rows"][0] > 0:
                touched.add(tuple(work.joint_friction.solved_by_passes))
        assert work.diagnostics.unsolved_steps[0] == 0
        ends.append((state, work.joint_friction.previous_impulses[:4, 1].copy(), touched))
    (one, friction, touched), (other, expected, _) = ends
    alone = np.array(sorted(touched)).reshape(-1, 3, 4)
    assert alone.all()
    np.testing.assert_allclose(one.v, other.v, atol=1e-8 * np.abs(other.v).max())
    np.testing.assert_allclose(friction, expected, atol=1e-7 * np.abs(expected).max())
    # a hinge that stops at its limit determines the sum of the impulses of limit and friction only
    causes = [account.cause for account in simulation.compiled.model.names.accounts]
    limit, brake = (causes.index(f"joints/limited_hinge1/{cause}") for cause in ("limits", "friction"))
    for state in (one, other):
        state.ledger[limit] += state.ledger[brake]
        state.ledger[brake] = 0.0
    np.testing.assert_allclose(one.ledger, other.ledger, atol=1e-8 * np.abs(other.ledger).max())


def test_a_rod_that_is_a_node_of_baraff_is_solved_as_rows(tmp_path):
    """A free body hangs on the last rod: its constraint is a node of the elimination tree, but no joint."""
    scene = plane_chain(3, swing=0.0)
    ends = [{"body": "rod2", "point": [0, 0, -L]}, {"body": "bob"}]
    scene["bodies"]["bob"] = {"mass": 1.0, "inertia": {"principal": [0.1, 0.1, 0.1]}, "position": [0.3, 0, -1.9]}
    scene["constraints"] = {"rod": {"type": "distance", "between": ends, "length": 0.5}}
    state, stepper = started(prepared(tmp_path, scene, "simulation.method=baraff"))
    other, reference = started(prepared(tmp_path, scene))
    assert stepper.step(state, 1) is None
    assert reference.step(other, 1) is None
    assert stepper.contact_work.factors.rank.any(), "rows are solved"
    friction, expected = (one.contact_work.joint_friction.previous_impulses[:, 1] for one in (stepper, reference))
    np.testing.assert_allclose(friction, expected, atol=1e-8 * np.abs(expected).max())


def test_a_tree_of_baraff_with_a_prescribed_joint_is_solved_as_rows(tmp_path):
    """The friction is that of joint coordinates."""
    scene = plane_chain(3)
    base = {"mass": 1.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    scene["bodies"]["base"] = base
    rail = {"type": "prismatic", "axis": [1, 0, 0], "child": "base", "motion": {"position": "0.2*t + 3*t**2"}}
    scene["joints"]["rail"], scene["joints"]["hinge0"]["parent"] = rail, "base"
    friction = []
    for method in ("baraff", "aba"):
        state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
        assert stepper.step(state, 1) is None
        assert stepper.contact_work.factors.rank.any() == (method == "baraff")
        friction.append(stepper.contact_work.joint_friction.previous_impulses[:, 1])
    np.testing.assert_allclose(*friction, atol=1e-4 * np.abs(friction[1]).max())
