"""Mass matrix, bias, inverse dynamics, Jacobians and linearization, against dense equations and finite differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from machines import accelerations, pack
from strategies import machines
from test_forward_dynamics import dense, largest

import mbsim
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.tree.configuration import displace, displacement_between

ARM = """
mbsim: 1
name: arm
bodies:
  base: {mass: 2.0, inertia: {principal: [0.02, 0.03, 0.04]}}
  upper: {mass: 1.0, com: [0.0, 0.02, 0.3], inertia: {principal: [0.03, 0.04, 0.01]}}
  lower: {mass: 0.5, com: [0.1, 0.0, 0.2], inertia: {principal: [0.02, 0.01, 0.03]}}
  loose: {mass: 0.7, com: [0.0, 0.1, 0.0], inertia: {principal: [0.02, 0.05, 0.03]}, position: [2, 0, 0]}
joints:
  slide: {type: prismatic, child: base, axis: [1, 0, 0], q: 0.1, v: 0.3, stiffness: 20, damping: 2}
  shoulder: {type: spherical, parent: base, child: upper, v: [0.4, -0.7, 0.9], damping: [0.1, 0.1, 0.1],
    origin: {position: [0, 0, 0.1]}, q: {axis: [1, 2, 0], angle: 40 deg}}
  elbow: {type: revolute, parent: upper, child: lower, axis: [0, 1, 0], q: 30 deg, v: -1.1, force: 0.2,
    origin: {position: [0, 0, 0.6]}, child_origin: {position: [0, 0, -0.1]}}
simulation: {duration: 1 s, step: 0.1 ms}
"""

ROTOR = (
    "actuators={motor: {type: motor, joint: elbow, gear: 20, rotor_inertia: 1e-4, command: 0.3, "
    "stall_torque: 1, no_load_speed: 1000}}"
)
"""A rotor of 0.04 kg*m^2, as seen from the elbow."""

FOUR_BAR = """
mbsim: 1
name: four_bar
bodies:
  crank: {mass: 1.0, com: [0.2, 0, 0], inertia: {principal: [0.01, 0.02, 0.02]}}
  coupler: {mass: 1.5, com: [0.5, 0, 0], inertia: {principal: [0.01, 0.1, 0.1]}}
  rocker: {mass: 1.0, com: [0.4, 0, 0], inertia: {principal: [0.01, 0.05, 0.05]}}
joints:
  a: {type: revolute, child: crank, axis: [0, 1, 0], q: -70 deg, v: 2.0}
  b: {type: revolute, parent: crank, child: coupler, axis: [0, 1, 0], origin: {position: [0.4, 0, 0]}}
  d: {type: revolute, child: rocker, axis: [0, 1, 0], origin: {position: [0.9, 0, 0]}, stiffness: 3}
  c: {type: revolute, parent: coupler, child: rocker, axis: [0, 1, 0],
    origin: {position: [1.0, 0, 0]}, child_origin: {position: [0.8, 0, 0]}}
simulation: {duration: 1 s, step: 0.1 ms, assembly_tolerance: 10}
"""


def loaded(text: str, overrides=()) -> mbsim.Simulation:
    """A simulation of a scene that may be assembled with a warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.Simulation(mbsim.load(text, overrides))


@given(machines())
@settings(max_examples=60)
def test_mass_matrix_and_inverse_dynamics_of_random_trees(machine):
    packed = pack(machine)
    state, _, _ = accelerations(packed, t=0.35)
    _, M, h, Q, _, _ = dense(packed, state)
    equations = EquationsOfMotion(packed.model)
    a = np.random.default_rng(1).normal(size=packed.model.nv)
    expected = M @ a + h - Q
    bound = 1e-10 * largest(expected, h, Q, M)
    np.testing.assert_allclose(equations.mass_matrix(state), M.astype(float), rtol=0, atol=bound)
    np.testing.assert_allclose(equations.inverse_dynamics(state, a), expected.astype(float), rtol=0, atol=bound)


@pytest.mark.parametrize("overrides", [(), (ROTOR,)])
def test_inverse_dynamics_is_the_inverse_of_the_motion(overrides):
    """The applied forces M a + bias cause the accelerations a, in simulated steps."""
    sim = loaded(ARM, overrides)
    sim.step(50)
    wanted = np.linspace(-2.0, 7.0, len(sim.a[...]))
    tau = sim.inverse_dynamics(wanted)
    free = {name: slice(0, 0) for name in sim.v}
    for name in sim.force:
        start = sim.v[name].__array_interface__["data"][0] - sim.v[...].__array_interface__["data"][0]
        free[name] = slice(start // 8, start // 8 + sim.v[name].size)
        sim.force[name][:] = tau[free[name]]
    sim.channel("time")  # the accelerations now
    for name in sim.force:
        np.testing.assert_allclose(sim.a[name], wanted[free[name]], rtol=0, atol=1e-9)
    assert "loose" not in sim.force
    expected = np.where(np.arange(len(tau)) < sim.force[...].size, tau, 0.0)  # the free body has no applied forces
    np.testing.assert_allclose(sim.inverse_dynamics(sim.a[...]), expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sim.mass_matrix() @ sim.a[...] + sim.bias(), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("overrides", [(), (ROTOR,)])
def test_the_mass_matrix_gives_the_kinetic_energy(overrides):
    sim = loaded(ARM, overrides)
    v = sim.v[...]
    np.testing.assert_allclose(0.5 * v @ sim.mass_matrix() @ v, sim.channel("energy/kinetic"), rtol=1e-13)


def test_moments_of_mass_and_energies_change_as_momenta_and_gravity_say():
    sim = loaded(ARM, ("joints.slide.stiffness=0",))
    sim.advance(0.05)
    equations, states = sim.equations, []
    for _ in range(3):
        states.append(sim._state._replace(q=sim._state.q.copy(), v=sim._state.v.copy()))
        sim.step()
    before, state, after = states
    step = sim.scene.step
    linear, angular = equations.momenta(state)
    mass, moment, polar = equations.moments_of_mass(state)
    kinetic, _ = equations.energies(state)
    assert mass == pytest.approx(2.0 + 1.0 + 0.5 + 0.7)
    rate = (equations.moments_of_mass(after)[1] - equations.moments_of_mass(before)[1]) / (2 * step)
    np.testing.assert_allclose(rate, linear, rtol=0, atol=1e-6)
    power = (equations.energies(after)[1] - equations.energies(before)[1]) / (2 * step)
    assert equations.gravity(state) @ state.v == pytest.approx(power, abs=1e-6)
    assert linear @ linear < 2 * mass * kinetic
    assert angular @ angular < 2 * polar * kinetic
    assert moment @ moment < mass * polar


@pytest.mark.parametrize(
    ("body", "point"), [("lower", (0.1, -0.2, 0.3)), ("loose", (0.0, 0.4, 0.1)), ("base", (1, 2, 3))]
)
def test_the_jacobian_maps_velocities_to_those_of_a_point(body, point):
    sim = loaded(ARM)
    sim.advance(0.05)
    J = sim.jacobian(body, point)
    before = position(sim, body, point)
    twist = J @ sim.v[...]
    np.testing.assert_allclose(twist[:3], sim.channel(f"bodies/{body}/angular_velocity"), rtol=0, atol=1e-13)
    sim.step()
    after = position(sim, body, point)
    middle = 0.5 * (twist + sim.jacobian(body, point) @ sim.v[...])
    np.testing.assert_allclose((after - before) / sim.scene.step, middle[3:], rtol=0, atol=1e-6)


def position(sim: mbsim.Simulation, body: str, point) -> np.ndarray:
    """World position of a point of a body."""
    w, x, y, z = sim.channel(f"bodies/{body}/quaternion")
    u, r = np.array([x, y, z]), np.array(point, float)
    return sim.channel(f"bodies/{body}/position") + r + 2.0 * np.cross(u, np.cross(u, r) + w * r)


WHEEL = """
mbsim: 1
name: wheel
bodies:
  wheel: {mass: 2.0, inertia: {principal: [0.05, 0.1, 0.05]}, position: [0, 0, 0.28190778623577255],
    rotation: {axis: [1, 0, 0], angle: 20 deg}}
  bob: {mass: 0.7, com: [0, 0.02, -0.1], inertia: {principal: [0.002, 0.003, 0.001]}}
joints:
  hub: {type: universal, parent: wheel, child: bob, q: [0.2, 0.3], v: [1, -2], damping: [0.02, 0.03],
    origin: {position: [0, 0.05, 0]}}
constraints:
  contact: {type: rolling, body: wheel, radius: 0.3, axis: [0, 1, 0]}
simulation: {duration: 1 s, step: 0.1 ms, assembly_tolerance: 10}
"""
"""A tilted wheel that rolls, with a pendulum on its hub."""

CLOSED_CHAIN = """
mbsim: 1
name: closed_chain
bodies:
  crank: {mass: 1.0, com: [0.1, 0, 0], inertia: {principal: [0.01, 0.02, 0.02]}}
  rod: {mass: 1.5, com: [0.2, 0, 0], inertia: {principal: [0.01, 0.1, 0.1]}}
  slider: {mass: 0.4, inertia: {principal: [2e-3, 3e-3, 4e-3]}}
joints:
  a: {type: revolute, child: crank, axis: [0.2, 1, 0.1], q: 50 deg}
  b: {type: spherical, parent: crank, child: rod, origin: {position: [0.2, 0, 0]}}
  c: {type: cylindrical, parent: rod, axis: [0.3, 1, 2], origin: {position: [0.6, 0, 0]}, child: slider}
  d: {type: spherical, child: slider, origin: {position: [0.5, 0.3, 0.2]}}
simulation: {duration: 1 s, step: 0.1 ms, assembly_tolerance: 10}
"""
"""A spatial loop with several degrees of freedom."""

SLEIGH = """
mbsim: 1
name: sleigh
gravity: [0, -2, -9.81]
bodies:
  sleigh: {mass: 3.0, com: [0.1, 0.02, 0], inertia: {principal: [0.1, 0.2, 0.3]}}
joints:
  ice: {type: free2d, child: sleigh, q: [0, 0, 0.4]}
constraints:
  blade: {type: knife_edge, body: sleigh, point: [-0.2, 0, 0], edge: [1, 0, 0]}
simulation: {duration: 1 s, step: 0.1 ms}
"""

COUPLED = """
mbsim: 1
name: coupled
bodies:
  a: {mass: 1.0, inertia: {principal: [0.5, 0.5, 0.5]}}
  b: {mass: 1.0, inertia: {principal: [0.3, 0.3, 0.3]}}
  c: {mass: 0.8, com: [0.05, 0, -0.4], inertia: {principal: [0.02, 0.03, 0.01]}}
  d: {mass: 2.0, inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  j: {type: revolute, child: a, axis: [1, 0, 0], q: 0.1, stiffness: 4, MORE}
  k: {type: revolute, child: b, axis: [1, 0, 0], origin: {position: [0, 1, 0]}, damping: 0.3, q: 0.2}
  p: {type: revolute, parent: b, child: c, axis: [0.3, 1, 0], origin: {position: [0, 0.2, 0]}, q: 0.3}
  r: {type: prismatic, child: d, axis: [0, 1, 0], stiffness: 30, q: 0.06}
couplings: {g: {type: gear, joints: [j, k], ratio: 2}}
constraints: {s: {type: rack_pinion, rack: r, pinion: k, radius: 0.3}}
simulation: {duration: 1 s, step: 0.1 ms, assembly_tolerance: 10}
"""
"""A gear that moves a rack, and a pendulum on its wheel."""

PLAY = COUPLED.replace("ratio: 2", "ratio: 2, backlash: 0.1").replace("q: 0.3}", "q: 0.3, limits: [0.29, 0.32]}")
"""The same within the play of the gear and between limits."""

PRESSED = (
    PLAY.replace("q: 0.1, stiffness: 4, MORE", "q: 0.125, v: 0.5, stiffness: 4, force: 20")
    .replace("damping: 0.3, q: 0.2", "damping: 0.3, q: 0.2, v: 1")
    .replace("[0.29, 0.32]", "[0.3, 0.32]")
    .replace("q: 0.06", "q: 0.06, v: 0.3")
)
"""The same with the torque of the pinion on the wheel, and the pendulum on its limit."""

PRESSED_AT_REST = PRESSED.replace(", v: 0.5", "").replace(", v: 1", "").replace(", v: 0.3", "")
"""In coordinates of bodies, a displacement of a moving state opens flanks: rates are those of other positions."""

EVERY_METHOD = {
    "aba": 1e-4, "redmax": 1e-4, "symbolic": 1e-4, "baraff": 1e-4, "variational": 2e-5, "variational_maximal": 2e-5
}  # fmt: skip

MOVING = {
    "arm": (ARM, {}),
    "four-bar": (FOUR_BAR, {}),
    "four-bar of bodies": (FOUR_BAR, {"simulation.method": "baraff"}),
    "closed chain": (CLOSED_CHAIN, {}),
    "sleigh": (SLEIGH, {}),
    "wheel": (WHEEL, {}),
    "wheel of bodies": (WHEEL, {"simulation.method": "baraff"}),
    "wheel by steps of momentum": (WHEEL, {"simulation.method": "variational", "simulation.step": 2e-5}),
    **{
        f"{name} {method}": (text, {"simulation.method": method, "simulation.step": step})
        for name, text in {
            "coupled": COUPLED.replace(", MORE", ""),
            "driven": COUPLED.replace("MORE", "motion: {velocity: 2 + sin(3*t)}"),
            "play": PLAY.replace(", MORE", ""),
            "pressed": PRESSED,
            "pressed at rest": PRESSED_AT_REST,
        }.items()
        for method, step in EVERY_METHOD.items()
        if name != "pressed" or method not in ("baraff", "variational_maximal")
    },
}


@pytest.mark.parametrize("name", MOVING)
def test_the_linear_model_of_a_motion_predicts_its_flow(name):
    """Differences of runs of t, 2 t and 3 t from displaced states, extrapolated to t = 0."""
    text, overrides = MOVING[name]
    sim = loaded(text, overrides)
    tree = sim._model.system.tree
    n = int(tree.links["nv"].sum())
    sim.v[...][:n] += (not name.startswith("pressed")) * np.random.default_rng(3).normal(0.0, 2.0, n)
    sim.step(0 if "at rest" in name else 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of limits and flanks
        model, data = sim.linearize(), sim.save()
    assert model.closed == (("joints.p", "couplings.g") if name.startswith("pressed") else ())
    assert model.touching == ()
    P, N = model.position_basis, model.basis
    n, p, k = len(N), P.shape[1], N.shape[1]
    assert p - k == {"sleigh": 1, "wheel": 2}.get(name.split()[0], 0)
    assert model.A.shape == (p + k, p + k)
    system, nv = sim._model.system, len(sim.v[...])
    steps = round(2e-4 / sim.scene.step)

    def reduced(q0: np.ndarray, v0: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [P.T @ displacement_between(system.tree, q0, sim.q[...])[:n], N.T @ (sim.v[...] - v0)[:n]]
        )

    def ends() -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for _ in range(4):
            found.append((sim.q[...].copy(), sim.v[...].copy()))
            sim.step(steps)
        return found

    sim.restore(data)
    base, deviations = ends(), []
    for direction in np.hstack([np.eye(p + k), -np.eye(p + k)]).T:
        sim.restore(data)
        shift, change = np.zeros((2, nv))
        shift[:n], change[:n] = 1e-4 * P @ direction[:p], 1e-3 * N @ direction[p:]
        displace(system.tree, sim.q[...], shift, 1.0)
        sim.v[...][:] += change
        sim.channel("time")  # back to the constraints
        deviations.append([])
        for number in range(4):
            deviations[-1].append(reduced(*base[number]))
            sim.step(steps)
    plus, minus = np.reshape(deviations, (2, p + k, 4, p + k))
    starts, *later = (plus - minus).transpose(1, 2, 0)
    t = steps * sim.scene.step
    rates = [(one @ np.linalg.inv(starts) - np.eye(p + k)) / (t * m) for m, one in enumerate(later, start=1)]
    found = 3.0 * rates[0] - 3.0 * rates[1] + rates[2]
    np.testing.assert_allclose(found, model.A, rtol=0, atol=3e-5 * np.abs(model.A).max())


WHEELS = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}, b: {mass: 1, inertia: {principal: [3, 3, 3]}}}
joints:
  j: {type: revolute, child: a, axis: [1, 0, 0], stiffness: 4}
  k: {type: revolute, child: b, axis: [1, 0, 0]}
couplings: {g: {COUPLING}}
simulation: {duration: 1 s, step: 1 ms}
"""


@pytest.mark.parametrize("method", EVERY_METHOD)
@pytest.mark.parametrize(
    ("coupling", "squares"),
    [
        ("type: gear, joints: [j, k], ratio: 2", [4 / 13]),
        ("type: linear, terms: {j: 1, k: 2}", [4 / 1.75]),
        ("type: gear, joints: [j, k], ratio: 2, backlash: 0.1", [4, 0]),
    ],
)
def test_a_coupling_leaves_the_modes_of_what_is_free(coupling, squares, method):
    """Inertias 1 and 3 with a spring of 4: within the play, the first one alone oscillates."""
    model = loaded(WHEELS.replace("COUPLING", coupling), {"simulation.method": method}).linearize()
    found = np.linalg.eigvals(model.A)
    expected = [sign * 1j * np.sqrt(square) for square in squares for sign in (1, -1)]
    np.testing.assert_allclose(np.sort(found.imag), np.sort(np.imag(expected)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.real, 0.0, atol=1e-9)
    assert (model.closed, model.touching) == ((), ())


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_what_is_pressed_is_closed_and_what_is_touched_is_open(method):
    """A pendulum on its limit has no degree of freedom; beside its limit, or at it without weight, it has one."""
    text = """
mbsim: 1
bodies: {a: {mass: 2, com: [0, 0, -1], inertia: {principal: [0.1, 0.1, 0.1]}}}
joints: {j: {type: revolute, child: a, axis: [0, 1, 0], q: 0.2, limits: [LIMIT, null]}}
simulation: {duration: 1 s, step: 1 ms}
"""
    overrides = {"simulation.method": method}
    sim = loaded(text.replace("LIMIT", "0.2"), overrides)
    sim.advance(0.01)
    with pytest.warns(mbsim.SceneWarning, match="keeps closed the limits and flanks .* pressed at .* of `joints.j`"):
        model = sim.linearize()
    assert model.A.shape == (0, 0)
    assert (model.closed, model.touching) == (("joints.j",), ())
    free = loaded(text.replace("LIMIT", "-1"), overrides).linearize()
    np.testing.assert_allclose(free.A[1, 0], -2 * 9.81 * np.cos(0.2) / 2.1, rtol=1e-9)
    near = loaded(text.replace("LIMIT", "0.19999"), overrides).linearize()
    np.testing.assert_array_equal(near.A, free.A)
    with pytest.warns(mbsim.SceneWarning, match="keeps open the limits and flanks .* without force, of `joints.j`"):
        touching = loaded(text.replace("LIMIT", "0.2"), overrides | {"gravity": [0, 0, 0]}).linearize()
    assert (touching.closed, touching.touching) == ((), ("joints.j",))
    np.testing.assert_allclose(touching.A, [[0, 1], [0, 0]], atol=1e-9)


def test_the_response_to_forces_is_that_of_the_motion():
    sim = loaded(ARM)
    model = sim.linearize()
    assert model.inputs[-1] == "elbow"
    a = {}
    for torque in (0.0, 1.0):
        sim.force["elbow"][:] = torque
        sim.channel("time")
        a[torque] = sim.a[...].copy()
    np.testing.assert_allclose(model.B[len(model.basis) :, -1], a[1.0] - a[0.0], rtol=0, atol=1e-9)
    assert not model.B[: len(model.basis)].any()


def test_maximal_coordinates_have_no_mass_matrix_of_joints():
    sim = loaded(ARM, {"simulation.method": "baraff"})
    with pytest.raises(mbsim.ArgumentError, match="`baraff` uses maximal coordinates"):
        sim.mass_matrix()


def test_accelerations_of_another_length_are_refused():
    with pytest.raises(mbsim.ArgumentError, match=r"expected accelerations of shape \(11,\), found \(2,\)"):
        loaded(ARM).inverse_dynamics([1.0, 2.0])
