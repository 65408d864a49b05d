"""Peers of `mbsim bench`: export of scenes, agreement of accelerations, and messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from multibody_cli.errors import ArgumentError
from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import JointPrimitive, Mechanism, PeerKind, PeerRefusal
from multibody_cli.peers.mechanism import mechanism_of
from multibody_cli.studies.bench import against, timing
from multibody_cli.studies.bench.against import compare, relative_difference, require_packages
from multibody_cli.studies.bench.options import setup_of
from multibody_cli.studies.simulation import PreparedSimulation, prepare

TREE = """\
mbsim: 1
gravity: [1, -2, -9]
bodies:
  hub: {mass: 3, com: [0.1, 0.2, 0.3], inertia: {matrix: [[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]]}}
  arm: {mass: 1, com: [0, 0.3, 0], inertia: {principal: [1, 2, 2.5]}}
  hand: {mass: 0.5, com: [0.1, 0, 0], inertia: {principal: [0.1, 0.2, 0.25]}}
  tip: {mass: 0.2, com: [0, 0, 0.1], inertia: {principal: [0.01, 0.02, 0.025]}}
  cart: {mass: 2, inertia: {principal: [1, 1, 1]}}
  ball: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.02]}}
joints:
  float: {type: free, child: hub, origin: {position: [1, 2, 3], rotation: {axis: [1, 2, 3], angle: 0.7}},
          child_origin: {position: [0.1, 0, 0.2]},
          q: {position: [0.1, 0.2, 0.3], rotation: {rotvec: [0.3, -0.5, 0.2]}},
          v: {linear: [1, -2, 0.5], angular: [0.7, -0.9, 1.1]}}
  elbow: {type: universal, parent: hub, child: arm, origin: {position: [0, 1, 0], rotation: {rotvec: [0.2, 0.1, 0.4]}},
          q: [0.3, -0.4], v: [1, 2]}
  weld: {type: fixed, parent: arm, child: hand, origin: {position: [0, 0.6, 0], rotation: {rotvec: [0, 0.5, 0.1]}},
         child_origin: {position: [-0.1, 0, 0]}}
  wrist: {type: revolute, parent: hand, child: tip, axis: [1, 1, 0.5], origin: {position: [0.2, 0, 0]}, q: 0.6, v: -3}
  slide: {type: cylindrical, parent: hub, child: cart, axis: [0, 0, 1], q: [0.2, 0.5], v: [1, 0.3]}
  socket: {type: spherical, parent: cart, child: ball, q: {rotvec: [0.4, 0.2, -0.3]}, v: [1, 2, -1]}
simulation: {duration: 1, step: 1 ms, integrator: semi_implicit_euler}
"""

Write = Callable[..., PreparedSimulation]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setattr(timing, "SHORTEST_BLOCK", 0.001)
    path = tmp_path / "tree.yaml"
    path.write_text(TREE)
    return lambda *settings: prepare(path, settings)


def mechanism(simulation: PreparedSimulation) -> Mechanism:
    compiled = simulation.compiled
    return mechanism_of(compiled.model, compiled.state, 1e-3, "semi_implicit_euler")


def accelerations(simulation: PreparedSimulation) -> np.ndarray:
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    return state.a


@pytest.mark.parametrize("name", [name for name in PEERS if name != "exudyn"])
def test_a_peer_has_the_same_accelerations(tree: Write, name: str) -> None:
    """Free, universal, fixed, revolute, cylindrical and spherical joints with tilted frames; only with the extra."""
    pytest.importorskip(PEERS[name].module)
    simulation = tree()
    found = PEERS[name].build(mechanism(simulation)).accelerations()
    np.testing.assert_allclose(found, accelerations(simulation), rtol=1e-9, atol=1e-9)


def test_joints_other_than_hinges_are_refused_by_exudyn(tree: Write) -> None:
    pytest.importorskip("exudyn")
    with pytest.raises(PeerRefusal, match="only with joints that are one hinge"):
        PEERS["exudyn"].build(mechanism(tree()))


HINGES = """\
mbsim: 1
gravity: [1, -2, -9]
bodies:
  arm: {mass: 1, com: [0, 0.3, 0.1], inertia: {principal: [1, 2, 2.5]}}
  hand: {mass: 0.5, com: [0.1, 0, 0], inertia: {matrix: [[0.1, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.25]]}}
joints:
  elbow: {type: revolute, child: arm, axis: [1, 1, 0.5], origin: {position: [1, 2, 3]}, q: 0.4, v: 2}
  wrist: {type: revolute, parent: arm, child: hand, axis: [1, 1, 0.5], origin: {position: [0.2, 0, 1]}, q: 0.6, v: -3}
simulation: {duration: 1, step: 1 ms, integrator: semi_implicit_euler}
"""


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_has_the_same_accelerations_of_hinges(tmp_path: Path, name: str) -> None:
    """Two parallel hinges with an oblique axis, which every peer supports."""
    pytest.importorskip(PEERS[name].module)
    (tmp_path / "hinges.yaml").write_text(HINGES)
    simulation = prepare(tmp_path / "hinges.yaml")
    found = PEERS[name].build(mechanism(simulation)).accelerations()
    np.testing.assert_allclose(found, accelerations(simulation), rtol=1e-6)


BRAKES = HINGES.replace("v: 2}", "v: 2, friction: {torque: 0.3}}").replace(
    "v: -3}", "v: -3, friction: {coefficient: 0, surface: {radius: 0.02, length: 0.1}, torque: 0.2}}"
)


def test_brakes_of_joints_are_those_of_a_peer(tmp_path: Path) -> None:
    """Limits are torques, with and without a surface; initial accelerations are those without friction."""
    (tmp_path / "brakes.yaml").write_text(BRAKES)
    simulation = prepare(tmp_path / "brakes.yaml")
    braked = mechanism(simulation)
    np.testing.assert_allclose([link.pieces[0].brake for link in braked.links], [0.3, 0.2], rtol=1e-15)
    pytest.importorskip("mujoco")
    peer = PEERS["mujoco"].build(braked)
    np.testing.assert_allclose(peer.accelerations(), accelerations(simulation), rtol=1e-6)
    np.testing.assert_allclose(peer._model.dof_frictionloss, [0.3, 0.2], rtol=1e-15)  # type: ignore[attr-defined]


def test_bodies_for_peers_are_in_joint_frames(tree: Write) -> None:
    links = mechanism(tree()).links
    kinds = sorted([piece.kind.name for piece in link.pieces] for link in links)
    assert kinds == [[], ["BALL"], ["FREE"], ["HINGE"], ["HINGE", "HINGE"], ["HINGE", "SLIDE"]]
    for number, link in enumerate(links, start=1):
        assert link.parent < number
        np.testing.assert_allclose(link.rotation @ link.rotation.T, np.eye(3), atol=1e-14)
    [free] = [link for link in links if any(piece.kind is JointPrimitive.FREE for piece in link.pieces)]
    np.testing.assert_allclose(free.position, [1, 2, 3])
    np.testing.assert_allclose(free.mass.com, [0.0, 0.2, 0.1])  # seen from the joint, not from the body frame


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("joints.wrist.stiffness=3", "springs or dampers of joints"),
        ("joints.wrist.force=2", "forces of joints"),
        ("joints.wrist.motion={acceleration: 1}", "prescribed motions"),
        ("joints.wrist.limits=[-1, 1]", "couplings, constraints or limits"),
        ("joints.wrist={type: screw, parent: hand, child: tip, pitch: 0.1}", "screws"),
        ("joints.socket.parametrization=exponential", "rotations in exponential coordinates"),
        ("forces={push: {body: tip, force: [1, 0, 0]}}", "forces on bodies"),
    ],
)
def test_features_missing_in_peers_are_refused_by_name(tree: Write, setting: str, named: str) -> None:
    with pytest.raises(PeerRefusal) as refusal:
        mechanism(tree(setting))
    assert str(refusal.value) == (
        "peers support only joints, loops of hinges and balls, and contacts under gravity, and this scene has " + named
    )


# --- comparing, with a peer of our own --------------------------------------------------------------------------------
class Fake:
    """A peer with our accelerations times a factor, and twice the requested time."""

    def __init__(self, given: np.ndarray, factor: float, seconds: float) -> None:
        self._given, self._factor, self._seconds = given, factor, seconds

    def accelerations(self) -> np.ndarray:
        return self._given * self._factor

    def evaluate(self, count: int) -> float:
        return count * self._seconds

    def advance(self, count: int) -> float:
        return count * self._seconds


def with_fake(
    monkeypatch: pytest.MonkeyPatch, simulation: PreparedSimulation, factor: float = 1.0, seconds: float = 1e-3
) -> None:
    kind = PeerKind(
        "fake", "numpy", "numpy", lambda _: Fake(accelerations(simulation), factor, seconds),
        MappingProxyType({"semi_implicit_euler": "Euler"}), "nothing",
    )  # fmt: skip
    monkeypatch.setitem(PEERS, "fake", kind)


def test_a_peer_that_agrees_is_timed(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = tree()
    with_fake(monkeypatch, simulation)
    [found] = compare(simulation, ["fake"], 3, setup_of(simulation))
    assert (found.status, found.difference, found.reason, found.peer_version) == ("timed", 0.0, "", np.__version__)
    for pair in (found.evaluation, found.step):
        assert pair is not None
        np.testing.assert_allclose(pair.peer.median, 1e-3)
        np.testing.assert_allclose(pair.ratio, pair.ours.median / 1e-3)
        assert pair.ours.blocks == pair.peer.blocks == 3


def test_a_peer_is_not_asked_for_steps_that_it_does_not_know(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = tree("simulation.integrator=rk4")
    with_fake(monkeypatch, simulation)
    [found] = compare(simulation, ["fake"], 1, setup_of(simulation))
    assert found.evaluation is not None
    assert (found.step, found.reason) == (None, "")


def test_a_peer_that_differs_is_not_timed(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = tree()
    with_fake(monkeypatch, simulation, factor=1.0 + 1e-5)
    [found] = compare(simulation, ["fake"], 1, setup_of(simulation))
    assert found.status == "differs"
    assert found.reason == "not timed: accelerations differ by 1.0e-05 of the largest, more than 1e-06"
    assert found.difference == pytest.approx(1e-5)
    assert (found.evaluation, found.step) == (None, None)


def test_failures_of_a_peer_are_reported(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = tree()
    with_fake(monkeypatch, simulation, seconds=float("nan"))
    [found] = compare(simulation, ["fake"], 1, setup_of(simulation))
    assert (found.evaluation, found.step) == (None, None)
    assert found.reason == (
        "an evaluation is too short to be separated from the cost of a call; its run diverges earlier than ours"
    )


def test_a_method_in_the_coordinates_of_the_bodies_is_refused(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = tree()
    with_fake(monkeypatch, simulation)
    maximal = tree("simulation.method=baraff")
    [found] = compare(maximal, ["fake"], 1, setup_of(maximal))
    assert found.status == "refused"
    assert found.reason.startswith("method `baraff` uses body coordinates")


def test_differences_are_relative_to_the_largest_acceleration() -> None:
    assert relative_difference(np.array([10.0, 1.0]), np.array([10.0, 2.0])) == pytest.approx(0.1)
    assert relative_difference(np.zeros(2), np.zeros(2)) == 0.0
    assert relative_difference(np.zeros(2), np.ones(2)) == np.inf
    assert relative_difference(np.ones(2), np.array([np.nan, 1.0])) == np.inf


def test_a_missing_package_is_reported_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against, "find_spec", lambda _: None)
    with pytest.raises(ArgumentError) as refusal:
        require_packages(["mujoco", "pinocchio"])
    assert str(refusal.value) == "`mujoco` and `pinocchio` cannot be imported: pip install mujoco pin"
