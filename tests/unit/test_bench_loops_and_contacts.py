"""Loops and contacts in peers of `mbsim bench`: export, motion, accuracy by closed forms, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import placed_bodies
from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import JointPrimitive, Mechanism, PeerKind, PeerRefusal
from multibody_cli.peers.mechanism import mechanism_of
from multibody_cli.peers.motion import ARM, energy_of, largest_speed, loop_error, motion_of
from multibody_cli.studies.bench import timing
from multibody_cli.studies.bench.against import PeerComparison, compare, quality_of, relative_difference
from multibody_cli.studies.bench.measurement import run_steps
from multibody_cli.studies.bench.options import setup_of
from multibody_cli.studies.simulation import PreparedSimulation, prepare

ROD = "{mass: 1, com: [0, 0, 0.25], inertia: {principal: [0.03, 0.02, 0.01]}}"
FOUR_BAR = f"""\
mbsim: 1
gravity: [1, -2, -9]
bodies:
  crank: {ROD}
  coupler: {{mass: 2, com: [0.5, 0.1, 0], inertia: {{principal: [0.03, 0.2, 0.18]}}}}
  rocker: {ROD}
joints:
  left: {{type: revolute, child: crank, axis: [0, 1, 0], q: 0.1, v: 2}}
  upper: {{type: spherical, parent: crank, child: coupler, origin: {{position: [0, 0, 0.5]}},
          q: {{rotvec: [0, -0.4, 0]}}}}
  right: {{type: revolute, child: rocker, axis: [0, 1, 0], origin: {{position: [1, 0, 0]}}}}
  last: {{type: spherical, parent: coupler, child: rocker, origin: {{position: [1, 0, 0]}},
         child_origin: {{position: [0, 0, 0.8]}}}}
simulation: {{duration: 1, step: 1 ms, assembly_tolerance: 0.1, integrator: semi_implicit_euler}}
"""
SPATIAL = ["joints.right.axis=[0.2, 1, 0.1]"]
HINGED = ["joints.last={type: revolute, parent: coupler, child: rocker, axis: [0, 1, 0], "
          "origin: {position: [1, 0, 0]}, child_origin: {position: [0, 0, 0.8]}}"]  # fmt: skip
PLANAR = [*HINGED, "joints.upper={type: revolute, parent: crank, child: coupler, axis: [0, 1, 0], "
          "origin: {position: [0, 0, 0.5]}, q: -0.4}"]  # fmt: skip
LOOPS = {"ball": SPATIAL, "hinge": HINGED, "planar": PLANAR}

SLIDERS = """\
mbsim: 1
world: {shapes: [{type: plane, position: [0, 0, -1]}]}
contacts: {friction: 0.4}
bodies:
  box: {shapes: [{type: box, size: [0.2, 0.3, 0.1], density: 500}], position: [0, 0, -0.95],
        velocity: {linear: [2, 0, 0]}}
  ball: {shapes: [{type: sphere, radius: 0.1, density: 500}], position: [0, 2, -0.9], velocity: {linear: [0, 2, 0]}}
  pill: {shapes: [{type: capsule, radius: 0.1, length: 0.4, density: 500}], position: [0, -2, -0.9],
         rotation: {axis: [0, 1, 0], angle: 90 deg}, velocity: {linear: [2, 0, 0]}}
simulation: {duration: 1, step: 1 ms}
"""

Write = Callable[..., PreparedSimulation]


def writer(folder: Path, text: str) -> Write:
    path = folder / "scene.yaml"
    path.write_text(text)
    return lambda *settings: prepare(path, settings)


@pytest.fixture
def four_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setattr(timing, "SHORTEST_BLOCK", 0.001)
    return writer(tmp_path, FOUR_BAR)


@pytest.fixture
def sliders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setattr(timing, "SHORTEST_BLOCK", 0.001)
    return writer(tmp_path, SLIDERS)


def mechanism(simulation: PreparedSimulation, contact_model: str = "") -> Mechanism:
    compiled = simulation.compiled
    found = mechanism_of(compiled.model, compiled.state, 1e-3, "semi_implicit_euler")
    return replace(found, contact_model=contact_model)


def accelerations(simulation: PreparedSimulation) -> np.ndarray:
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    return state.a[: len(mechanism(simulation).v)]


# --- the mechanism, its motion and its accuracy --------------------------------------------------------------------
@pytest.mark.parametrize("loop", LOOPS)
def test_the_motion_of_a_mechanism_is_that_of_the_kernels(four_bar: Write, loop: str) -> None:
    simulation = four_bar(*LOOPS[loop])
    given = mechanism(simulation)
    found = motion_of(given.links, given.q, given.v)
    bodies = placed_bodies(simulation.compiled.model, simulation.fresh_state())[1 : len(given.links) + 1]
    rotations = bodies["R"].reshape(-1, 3, 3).transpose(0, 2, 1)
    arms = [R @ link.mass.com for R, link in zip(rotations, given.links, strict=True)]
    np.testing.assert_allclose(found.positions, bodies["x"], atol=1e-13)
    np.testing.assert_allclose(found.rotations, rotations, atol=1e-13)
    np.testing.assert_allclose(found.spins, bodies["w"], atol=1e-13)
    np.testing.assert_allclose(found.velocities, bodies["v"] + np.cross(bodies["w"], arms), atol=1e-13)


def test_only_a_hinge_whose_loop_leaves_its_plane_holds_its_axis(four_bar: Write) -> None:
    for loop, expected in {
        "ball": (JointPrimitive.BALL, False),
        "hinge": (JointPrimitive.HINGE, True),
        "planar": (JointPrimitive.HINGE, False),
    }.items():
        [closure] = mechanism(four_bar(*LOOPS[loop])).closures
        assert (closure.kind, closure.holds_axis) == expected


def test_loop_errors_are_distances_of_points(four_bar: Write) -> None:
    """A rocker that turns by an angle moves its end by the chord, and a point on its axis by the same."""
    given = mechanism(four_bar(*HINGED))
    assert loop_error(given, motion_of(given.links, given.q, given.v)) < 1e-12
    [(number, rocker)] = [(k, link) for k, link in enumerate(given.links) if link.position[0] == 1.0]
    q = given.q.copy()
    q[rocker.pieces[0].iq] += 0.3
    assert loop_error(given, motion_of(given.links, q, given.v)) == pytest.approx(2 * 0.8 * np.sin(0.15), rel=1e-12)
    # the axis of the rocker turns out of the plane: only the second pair of points shows it
    motion = motion_of(given.links, given.q, given.v)
    tilt = np.array([[1, 0, 0], [0, np.cos(0.1), -np.sin(0.1)], [0, np.sin(0.1), np.cos(0.1)]])
    [closure] = given.closures
    assert closure.child == number + 1
    end = motion.positions[number] + motion.rotations[number] @ closure.child_point
    motion.rotations[number] = tilt @ motion.rotations[number]
    motion.positions[number] = end - motion.rotations[number] @ closure.child_point
    assert loop_error(given, motion) == pytest.approx(2 * ARM * np.sin(0.05), rel=1e-12)


def test_the_energy_of_a_mechanism_is_that_of_its_bodies(four_bar: Write) -> None:
    given = mechanism(four_bar(*PLANAR))
    at_rest = motion_of(given.links, given.q, 0 * given.v)
    centers = [
        x + R @ link.mass.com for x, R, link in zip(at_rest.positions, at_rest.rotations, given.links, strict=True)
    ]
    potential = -sum(link.mass.mass * c @ [1, -2, -9] for c, link in zip(centers, given.links, strict=True))
    assert energy_of(given, at_rest) == pytest.approx(potential, rel=1e-13)
    alone = replace(given, links=given.links[:1])
    crank = motion_of(alone.links, given.q, given.v)
    kinetic = 0.5 * (0.02 + 1 * 0.25**2) * given.v[0] ** 2
    rest = motion_of(alone.links, given.q, 0 * given.v)
    assert energy_of(alone, crank) - energy_of(alone, rest) == pytest.approx(kinetic, rel=1e-12)
    assert largest_speed(crank) == pytest.approx(0.25 * abs(given.v[0]), rel=1e-12)


def test_penetration_is_the_depth_of_the_deepest_contact(sliders: Write) -> None:
    simulation = sliders()
    given, geometry = mechanism(simulation), simulation.compiled.model.system.contacts.geometry
    motion = motion_of(given.links, given.q, given.v)
    sunk = motion._replace(positions=motion.positions - [0.0, 0.0, 1e-3] * np.array([[1], [3], [2]]))
    found = quality_of(given, geometry, sunk)
    assert found.penetration == pytest.approx(3e-3, rel=1e-9)
    assert (found.loop_error, found.energy_change, found.speed) == (None, None, 2.0)
    raised = motion._replace(positions=motion.positions + np.array([0.0, 0.0, 0.1]))
    assert quality_of(given, geometry, raised).penetration == 0.0


def test_penetration_of_a_tilted_box_is_that_of_its_lowest_corner(sliders: Write) -> None:
    simulation = sliders()
    given, geometry = mechanism(simulation), simulation.compiled.model.system.contacts.geometry
    motion = motion_of(given.links, given.q, given.v)
    about_x = np.array([[1, 0, 0], [0, np.cos(0.3), -np.sin(0.3)], [0, np.sin(0.3), np.cos(0.3)]])
    about_y = np.array([[np.cos(0.5), 0, np.sin(0.5)], [0, 1, 0], [-np.sin(0.5), 0, np.cos(0.5)]])
    motion.rotations[0] = about_x @ about_y
    lowest = np.abs(motion.rotations[0][2]) @ [0.1, 0.15, 0.05] - 0.05
    assert quality_of(given, geometry, motion).penetration == pytest.approx(lowest, rel=1e-9)


def test_shapes_for_peers_are_in_joint_frames(sliders: Write) -> None:
    given = mechanism(sliders())
    assert [solid.kind for solid in given.solids] == [GeomKind.PLANE, GeomKind.BOX, GeomKind.SPHERE, GeomKind.CAPSULE]
    assert [solid.size for solid in given.solids] == [(), (0.1, 0.15, 0.05), (0.1,), (0.1, 0.2)]
    assert [solid.link for solid in given.solids] == [0, 1, 2, 3]
    np.testing.assert_allclose(given.solids[0].position, [0, 0, -1])
    assert given.friction == 0.4


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (["contacts.restitution=0.5"], "restitution"),
        (["bodies.box.shapes.0.friction=0.1"], "surfaces with different coefficients of friction"),
        (
            ["contacts.friction={static: 0.4, kinetic: 0.3}"],
            "different coefficients of static and kinetic friction",
        ),
        (
            ["bodies.box.shapes.0={type: cylinder, radius: 0.1, length: 0.1, density: 500}"],
            "collision shapes other than planes, spheres, capsules and boxes",
        ),
    ],
)
def test_contacts_that_peers_lack_are_refused_by_name(sliders: Write, settings: list[str], named: str) -> None:
    with pytest.raises(PeerRefusal) as refusal:
        mechanism(sliders(*settings))
    assert str(refusal.value).endswith(f"this scene has {named}")


def test_other_loop_joints_are_refused_by_name(four_bar: Write) -> None:
    sliding = "joints.last={type: cylindrical, parent: coupler, child: rocker, axis: [0, 1, 0], "
    with pytest.raises(PeerRefusal, match="joints that close loops and are neither hinges nor balls"):
        mechanism(four_bar(sliding + "origin: {position: [1, 0, 0]}, child_origin: {position: [0, 0, 0.8]}}"))


# --- peers that are installed -----------------------------------------------------------------------------------------
def loops_of(peers: dict[str, PeerKind]) -> list[tuple[str, str]]:
    """Return each peer with each loop; Exudyn is built with hinges that are parallel."""
    return [(name, loop) for name in peers for loop in (["planar"] if name == "exudyn" else LOOPS)]


@pytest.mark.parametrize("loop", [loop for loop in LOOPS if loop != "planar"])
def test_loops_in_space_are_refused_by_exudyn(four_bar: Write, loop: str) -> None:
    pytest.importorskip("exudyn")
    with pytest.raises(PeerRefusal, match="only with joints that are one hinge"):
        PEERS["exudyn"].build(mechanism(four_bar(*LOOPS[loop])))


@pytest.mark.parametrize(("name", "loop"), loops_of({name: kind for name, kind in PEERS.items() if kind.closures}))
def test_a_peer_has_the_same_accelerations_with_a_loop(four_bar: Write, name: str, loop: str) -> None:
    """Also when the loop changes them: without it they differ by more than a hundred times as much."""
    pytest.importorskip(PEERS[name].module)
    simulation = four_bar(*LOOPS[loop])
    given, expected = mechanism(simulation), accelerations(simulation)
    found = PEERS[name].build(given).accelerations()
    difference = relative_difference(expected, found)
    assert difference < 0.3 * PEERS[name].closed_agreement
    opened = PEERS[name].build(replace(given, closures=())).accelerations()
    assert relative_difference(expected, opened) > 100 * difference


@pytest.mark.parametrize(
    ("name", "loop"), loops_of({name: kind for name, kind in PEERS.items() if kind.closures and kind.motion})
)
def test_a_peer_moves_a_loop_as_here(four_bar: Write, name: str, loop: str) -> None:
    """After 50 ms the crank has turned by 0.1 rad, and positions agree to a hundredth of it."""
    pytest.importorskip(PEERS[name].module)
    simulation = four_bar(*LOOPS[loop])
    given = mechanism(simulation)
    peer, motion = PEERS[name].build(given), PEERS[name].motion
    assert motion is not None
    assert np.isfinite(peer.advance(50))
    theirs, state = motion(peer), run_steps(simulation, 50).state
    ours = motion_of(given.links, state.q, state.v)
    start = motion_of(given.links, given.q, given.v)
    assert np.abs(ours.rotations - start.rotations).max() > 0.05
    np.testing.assert_allclose(theirs.positions, ours.positions, atol=1e-3)
    np.testing.assert_allclose(theirs.rotations, ours.rotations, atol=1e-3)
    np.testing.assert_allclose(theirs.velocities, ours.velocities, atol=2e-2)
    np.testing.assert_allclose(theirs.spins, ours.spins, atol=5e-2)


@pytest.mark.parametrize(
    ("name", "contact_model"), [(name, model) for name, kind in PEERS.items() for model in kind.contact_models]
)
def test_bodies_slide_in_a_peer_with_our_friction(sliders: Write, name: str, contact_model: str) -> None:
    """A box and a capsule decelerate with mu g, and a ball slides until it rolls, both to the softness of the peer."""
    pytest.importorskip(PEERS[name].module)
    simulation = sliders()
    given = mechanism(simulation, contact_model)
    peer, motion = PEERS[name].build(given), PEERS[name].motion
    assert motion is not None
    assert np.isfinite(peer.advance(100))
    theirs, state = motion(peer), run_steps(simulation, 100).state
    ours = motion_of(given.links, state.q, state.v)
    assert ours.velocities[0, 0] == pytest.approx(2 - 0.4 * 9.81 * 0.1, rel=1e-2)
    np.testing.assert_allclose(
        theirs.velocities[[0, 1, 2], [0, 1, 0]], ours.velocities[[0, 1, 2], [0, 1, 0]], rtol=0.03
    )
    assert theirs.spins[1, 0] == pytest.approx(ours.spins[1, 0], rel=0.1)
    depth = quality_of(given, simulation.compiled.model.system.contacts.geometry, theirs).penetration
    assert depth is not None
    assert 0.0 < depth < 5e-3


def test_pairs_without_contacts_have_none_in_a_peer(sliders: Write) -> None:
    """Only the ball may touch the plane: the others fall through it."""
    pytest.importorskip("mujoco")
    simulation = sliders("contacts.pairs=[[world, ball]]")
    given = mechanism(simulation, "elliptic")
    peer = PEERS["mujoco"].build(given)
    peer.advance(100)
    motion = PEERS["mujoco"].motion
    assert motion is not None
    heights = motion(peer).positions[:, 2]
    np.testing.assert_allclose(heights, [-0.95 - 0.0495, -0.9, -0.9 - 0.0495], atol=2e-3)


# --- comparing --------------------------------------------------------------------------------------------------------
def compared(simulation: PreparedSimulation, name: str, duration: float | None = None) -> list[PeerComparison]:
    return list(compare(simulation, [name], 1, setup_of(simulation), duration))


def test_loops_take_the_same_steps_in_both_programs(four_bar: Write) -> None:
    pytest.importorskip("mujoco")
    [found] = compared(four_bar(*PLANAR), "mujoco", 0.2)
    assert (found.status, found.reason, found.unsolved) == ("timed", "", None)
    assert found.step is not None
    assert found.evaluation is not None
    assert found.step.ours.count == found.step.peer.count
    assert found.ours is not None
    assert found.theirs is not None
    assert found.ours.loop_error is not None
    assert found.theirs.loop_error is not None
    assert found.ours.loop_error < 1e-12 < found.theirs.loop_error < 1e-2
    assert found.ours.energy_change == pytest.approx(found.theirs.energy_change, abs=2e-3)


def test_a_duration_is_the_simulated_time_of_a_block(sliders: Write) -> None:
    """In 0.25 s the box comes to rest, in both friction cones."""
    pytest.importorskip("mujoco")
    comparisons = compared(sliders("bodies.box.velocity.linear=[0.5, 0, 0]"), "mujoco", 0.25)
    assert [one.contact_model for one in comparisons] == ["elliptic", "pyramidal"]
    for one in comparisons:
        assert one.step is not None
        assert (one.evaluation, one.unsolved) == (None, 0)
        assert one.step.ours.count == one.step.peer.count == 250
        assert one.ours is not None
        assert one.theirs is not None
        assert one.ours.penetration is not None
        assert one.theirs.penetration is not None
        assert one.ours.penetration < 1e-9 < one.theirs.penetration


def test_a_peer_without_loops_or_contacts_refuses_them(
    four_bar: Write, sliders: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PEERS, "plain", PeerKind("plain", "numpy", "numpy", lambda _: pytest.fail("built"), {}, ""))
    [found] = compared(sliders(), "plain")
    assert (found.status, found.reason) == ("refused", "plain is not built with contacts")
    [found] = compared(writer(tmp_path, FOUR_BAR)(*PLANAR), "plain")
    assert (found.status, found.reason) == ("refused", "plain is not built with loops that a turning part closes")
