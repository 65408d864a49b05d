"""Forces that depend on other coordinates, beside limits of joints: against all sets of limits, and exponentials."""

from __future__ import annotations

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from loops import start
from test_coupled_forces import OF_VELOCITIES, STRONG, carts, chain, closed, derivatives, exact
from test_implicit import implicit_evaluation

from multibody_cli.implicit.coupled_forces import step_to_bound
from multibody_cli.methods.integrators.sdirk2 import GAMMA
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare

CART = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}
RAIL = {"type": "prismatic", "axis": [1, 0, 0]}
METHODS = ("aba", "redmax", "symbolic", "baraff")


def solutions_of(matrix, known, J, G=None, g=()):
    """Of all sets of held limits, those with a solution x (n,): x and the set.

    matrix x = known + G^T m + J^T x', with G x = g, x' >= 0, J x >= 0, and one of both 0.
    """
    G, found, n = np.zeros((0, len(known))) if G is None else G, [], len(known)
    for held in product((False, True), repeat=len(J)):
        S = np.vstack([G, J[list(held)]])
        whole = np.block([[matrix, -S.T], [S, np.zeros((len(S), len(S)))]])
        x = np.linalg.lstsq(whole, np.concatenate([known, g, np.zeros(len(S) - len(G))]), rcond=None)[0]
        if (x[n + len(G) :] > 0.0).all() and (J[~np.array(held)] @ x[:n] > 0.0).all():
            found.append((x[:n], held))
    return found


def solution_of(*problem):
    """The only solution, and its set."""
    [one] = solutions_of(*problem)
    return one


# --- sliders on sliders, all at their limits --------------------------------------------------------------------------
def sliders(seed, n=4, size=10.0):
    """Each slider carries the next.  Forces are linear in all coordinates and rates; all sliders are at a limit.

    Returns the scene; M, K, D, and the forces f of the state; and the Jacobian of the limits.
    """
    rng, names = np.random.default_rng(seed), [f"s{i}" for i in range(n)]
    masses, q, f = rng.uniform(0.5, 2.0, n).tolist(), rng.uniform(-1.0, 1.0, n).tolist(), 20.0 * rng.normal(size=n)
    M = np.array([[sum(masses[max(i, j) :]) for j in range(n)] for i in range(n)])
    R, T, at_lower = rng.normal(size=(2, n, n)), rng.normal(size=(2, n, n)), rng.random(n) < 0.5
    K, D = (-size * unit * (R[k] @ R[k].T + T[k] - T[k].T) for k, unit in ((0, 1e4), (1, 1e2)))
    joints = {}
    for i, name in enumerate(names):
        terms = [f"({K[i, j]})*(joints.{to}.q - ({q[j]})) + ({D[i, j]})*joints.{to}.v" for j, to in enumerate(names)]
        joints[name] = {**RAIL, "parent": names[i - 1] if i else "world", "child": name, "q": q[i]}
        joints[name] |= {"force": " + ".join([str(f[i]), *terms])}
        joints[name] |= {"limits": [q[i], None] if at_lower[i] else [None, q[i]]}
    bodies = {name: {**CART, "mass": mass} for name, mass in zip(names, masses, strict=True)}
    scene = {"gravity": [0, 0, 0], "bodies": bodies, "joints": joints}
    return scene, (M, K, D, f), np.diag(np.where(at_lower, 1.0, -1.0))


CHANGES = {1: 0, 7: 0, 2: 1, 3: 1, 9: 1, 12: 1, 13: 1, 8: 2, 25: 2, 38: 2}
"""Seeds of sliders, with the number of limits that hold with or without the coupling alone."""


@pytest.mark.parametrize("seed", CHANGES)
def test_a_step_holds_the_limits_of_the_only_solution_of_all_sets(seed):
    """A = M - h D - h^2 K has a definite symmetric part, so that one set of limits has a solution."""
    scene, (M, K, D, f), J = sliders(seed)
    A = M - 0.01 * D - 1e-4 * K
    wanted, held = solution_of(A, f, J)
    _, before = solution_of(A * np.eye(4) + M * (1.0 - np.eye(4)), f, J)
    assert sum(one != other for one, other in zip(held, before, strict=True)) == CHANGES[seed]
    for method in METHODS if CHANGES[seed] == 2 else ("aba",):
        found, work = implicit_evaluation(scene, method)
        assert ((work.rows["multiplier"][-len(J) :] > 0.0) == held).all()
        assert np.count_nonzero(work.rows["multiplier"][-len(J) :]) == sum(held)
        size = np.abs(np.linalg.solve(A, f)).max()
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-11 * size, err_msg=method)


# --- joints of any kind -----------------------------------------------------------------------------------------------
COLUMNS, BOUNDS = [1, 2, 3], [0.3, -0.2, 0.1]
"""Coordinates of the chain at limits, at rest: those of a universal joint and of a slider."""


def resting(scene):
    """The scene at rest."""
    one = {**scene["joints"]["one"], "v": 0.0}
    return {**scene, "joints": {**scene["joints"], "one": one}}


def at_limits(scene, sides):
    """The scene with a lower (1) or upper (-1) limit at each of `COLUMNS`; without, if there are no sides."""
    two, three = ({**scene["joints"][name], "v": v} for name, v in (("two", [0.0, 0.0]), ("three", 0.0)))
    if sides:
        pairs = [[q, None] if side > 0 else [None, q] for q, side in zip(BOUNDS, sides, strict=True)]
        two, three = {**two, "limits": pairs[:2]}, {**three, "limits": pairs[2]}
    return {**scene, "joints": {**scene["joints"], "two": two, "three": three}}


SIDES = [(1, -1, 1), (-1, -1, -1), (1, 1, 1), (-1, 1, -1)]
SCENES = {"strong": chain(STRONG), "of velocities": chain(OF_VELOCITIES[0]), "rod": resting(closed("rod", STRONG))}


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("sides", SIDES)
def test_limits_of_a_chain_hold_as_those_of_the_dense_step(name, sides):
    """(M - h D - h^2 K) x = M a + h K v + (h^2 K + h D) bias, with limits and a rod, and a without them.

    The strong forces have an indefinite matrix: with some limits two sets have a solution, with others none.
    """
    scene = SCENES[name]
    h, free = 0.01, at_limits(scene, ())
    M, G, K, D = derivatives(free)
    state, n = start(free, "aba", integrator="semi_implicit_euler", step=h).state, len(M)
    known = M @ state.a + h * K[:, :n] @ state.v + h * h * K[:, n] + h * D[:, n]
    A, J = M - h * D[:, :n] - h * h * K[:, :n], np.eye(n)[COLUMNS] * np.reshape(sides, (3, 1))
    solutions = solutions_of(A, known, J, G, G @ state.a)
    assert len(solutions) == (1 if name == "of velocities" else 2 if sides in SIDES[:2] else 0)
    size = np.abs(np.linalg.solve(A, known)).max()
    for method in METHODS:
        found, work = implicit_evaluation(at_limits(scene, sides), method)
        assert work.coupling.unsolved[0] == (not solutions)
        assert (J @ found[:n] > -1e-9 * size).all()
        assert min((np.abs(found[:n] - wanted).max() for wanted, _ in solutions), default=0.0) < 1e-7 * size, method


# --- runs -------------------------------------------------------------------------------------------------------------
def carts_at_a_limit():
    """The two carts of a stiff controller, and a third one that is pressed against its limit, all of them coupled."""
    scene = carts()
    a, b = scene["joints"].values()
    a = {**a, "force": f"{a['force']} - 3000*joints.c.q - 400*joints.c.v"}
    c = {**RAIL, "child": "c", "limits": [0, None], "force": "-1e4 + 3000*joints.a.q - 400*joints.b.v"}
    return {**scene, "bodies": dict.fromkeys("abc", CART), "joints": {"a": a, "b": b, "c": c}}


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_a_stiff_coupled_controller_beside_a_limit_needs_no_small_steps(integrator):
    """The fast modes turn by 4 rad a step; with their coupling explicit, steps amplify them by 4 or more."""
    run = start(carts_at_a_limit(), "aba", integrator=integrator, step=0.01).advance(1.0)
    assert np.abs(run.state.q[:2]).max() < 1.0
    assert np.abs(run.state.v[:2]).max() < 10.0
    assert abs(run.state.q[2]) < 1e-12
    np.testing.assert_allclose(run.method.work.rows["multiplier"], 1e4, rtol=0.1)


@pytest.mark.parametrize(("integrator", "order", "least"), [("linearly_implicit_euler", 1, 128), ("sdirk2", 2, 32)])
def test_the_order_of_convergence_is_kept_beside_a_limit(integrator, order, least):
    time, errors = 0.02, []
    for n in (least, 2 * least, 4 * least):
        state = start(carts_at_a_limit(), "aba", integrator=integrator, step=time / n).advance(time).state
        errors.append(np.abs(state.q[:2] - exact(time)[:2]).max())
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), order, atol=0.15)


def test_limits_that_are_not_reached_change_no_bit():
    limited = carts()
    limited["joints"] = {name: {**joint, "limits": [-100, 100]} for name, joint in limited["joints"].items()}
    found, wanted = (
        start(scene, "aba", integrator="linearly_implicit_euler", step=0.01).advance(0.2).state
        for scene in (limited, carts())
    )
    assert found.q.tobytes() == wanted.q.tobytes()
    assert found.v.tobytes() == wanted.v.tobytes()


# --- steps without a solution -----------------------------------------------------------------------------------------
def pair(coupling):
    """Two carts at rest, each pushed by the rate of the other: A = [[1, h c], [h c, 1]]; the first one at its limit."""
    forces = {"a": f"1 - {coupling}*joints.b.v", "b": f"-{coupling}*joints.a.v"}
    joints = {name: {**RAIL, "child": name, "force": force} for name, force in forces.items()}
    joints["a"]["limits"] = [0, None]
    return {"gravity": [0, 0, 0], "bodies": {"a": CART, "b": CART}, "joints": joints}


def test_a_step_without_a_solution_counts_as_unsolved_and_meets_the_limit():
    """h c = 2: free, the first cart has the acceleration -1/3; held, it needs the multiplier -1."""
    run = start(pair(200.0), "aba", integrator="linearly_implicit_euler", step=0.01)
    reports = [run.method.advance(run.state, time) for time in (0.01, 0.01)]
    assert [report.implicit_unsolved > 0 for report in reports] == [True, False]
    assert run.state.q[0] >= 0.0
    assert run.state.v[0] >= 0.0


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_a_singular_step_is_reported_with_its_cause_and_a_remedy(integrator, tmp_path):
    """h c = 1; a step of sdirk2 solves with h (1 - 1/sqrt(2))."""
    h = 0.01 if integrator == "linearly_implicit_euler" else 0.01 / GAMMA
    scene = pair(100.0)
    del scene["joints"]["a"]["limits"]
    simulation = {"duration": 10 * h, "step": h, "integrator": integrator, "method": "aba"}
    path = tmp_path / "pair.yaml"
    path.write_text(json.dumps({"mbsim": 1, **scene, "simulation": simulation}), encoding="utf-8")
    outcome = prepare(path).run(MemorySink()).outcome
    assert outcome.status == "diverged"
    assert "forces that depend on other coordinates or on bodies (coupled forces) destabilize" in outcome.message
    assert f"reduce `simulation.step` to {h / 10:.6g} s" in outcome.message


def test_forces_that_are_not_finite_are_not_reported_as_singular(tmp_path):
    scene = pair("sqrt(0.02 - t)")
    path = tmp_path / "pair.yaml"
    simulation = {"duration": 0.1, "step": 0.01, "integrator": "linearly_implicit_euler", "method": "aba"}
    path.write_text(json.dumps({"mbsim": 1, **scene, "simulation": simulation}), encoding="utf-8")
    outcome = prepare(path).run(MemorySink()).outcome
    assert outcome.status == "diverged"
    assert "no finite value at t = 0.02 s" in outcome.message
    assert "coupled" not in outcome.message


@pytest.mark.plain  # its records have no arrays
@pytest.mark.parametrize(("slack", "length"), [(3.0, 1.0), (2.0, 1.0), (1.0, 0.5), (0.0, 0.0), (-1.0, 0.0)])
def test_a_step_ends_at_the_bound_and_not_before_its_start(slack, length):
    """The slack changes by -2; rows that contradict each other may have a negative one."""
    rows, dual = np.rec.array([(1,)], [("one_sided", "i8")]), SimpleNamespace(active_rows=[0])
    C = SimpleNamespace(forces=[0], values=[1.0], slacks=np.array([[-2.0], [slack]]))
    assert step_to_bound(SimpleNamespace(rows=rows, dual=dual, coupling=C), 1) == (length, -1 if length == 1.0 else 0)
    assert C.slacks[1, 0] == slack - 2.0 * length
