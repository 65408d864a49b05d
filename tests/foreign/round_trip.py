"""Scenes beside their exports: this program on both, at the same states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.options import Options
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.coordinate_fields import SoftLimits
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.packing.layout import joint_data
from multibody_cli.scene.body_kinds import IN_PLACE, Placement
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.rotations import quaternion_of_matrix, rotation_matrix
from multibody_cli.studies.equations_of_motion import EquationsOfMotion, places_by_name
from multibody_cli.studies.export import SUFFIXES, export_scene
from multibody_cli.studies.export.losses import Loss
from multibody_cli.studies.simulation import PreparedSimulation, prepare

SCENES = Path(__file__).parents[2] / "scenes"
EVERY = sorted([*SCENES.glob("gallery/*.yaml"), *SCENES.glob("validation/*.yaml")])

DAILY = {
    "anchors",
    "combinations",
    "composite_body",
    "composite_joint",
    "contact_filters",
    "couplings",
    "dc_motor",
    "filters",
    "floating_ring",
    "free_joint",
    "joint_brake",
    "limits",
    "massless_bodies",
    "paths",
    "planar_bodies",
    "point_bodies",
    "points",
    "servos",
    "spherical_joint",
    "springs",
    "states",
    "stewart_platform",
    "universal_joint",
}
"""Scenes of daily tests; the nightly ones have all."""

WITHOUT_FORCE = {"constraints", "couplings", "contacts", "simulation", "sensors", "inputs", "world", "bodies"}
"""Sections whose losses change neither mass matrix nor bias."""


def daily() -> list[Any]:
    """Return all scenes as parameters, which are nightly but for `DAILY`."""
    return [
        pytest.param(path, id=path.stem, marks=[] if path.stem in DAILY else [pytest.mark.nightly]) for path in EVERY
    ]


def written(text: str, folder: Path) -> Path:
    path = folder / "scene.yaml"
    path.write_text(f"mbsim: 1\nsimulation: {{duration: 1 s, step: 1 ms}}\n{text}")
    return path


def exported(source: Path, folder: Path, name: str) -> tuple[PreparedSimulation, Path, list[Loss]]:
    """Return a scene, its model in a format, and the losses."""
    simulation = prepare(source)
    states = {state: prepare(source, [f"simulation.state={state}"]) for state in simulation.loaded.states}
    text, losses = export_scene(simulation, name, folder, states)
    path = folder / f"model{SUFFIXES[name]}"
    path.write_text(text)
    return simulation, path, losses


def imported(path: Path, *overrides: str) -> tuple[Draft, PreparedSimulation]:
    draft = read_model(path, Options(merge="none"), Problems())
    return draft, prepare(ReadScene(path, draft.tree(), Usage()), overrides)


def keeps_forces(losses: list[Loss], scene: PreparedSimulation) -> bool:
    """Whether the losses change no force that M and b contain; a dropped loop may have springs."""
    for section, *rest in (loss.path for loss in losses):
        if rest[1:] == ["limits"] and any(
            isinstance(one, SoftLimits) for one in scene.scene.joints[rest[0]].limits or ()
        ):
            return False
        if section == "joints" and len(rest) == 1:
            joint = scene.scene.joints[str(rest[0])]
            if any(getattr(joint, key, None) is not None for key in ("stiffness", "damping", "force", "motion")):
                return False
        elif section not in WITHOUT_FORCE and not (
            section == "joints" and (not rest or rest[1] in ("limits", "friction", "restitution", "q"))
        ):
            return False
    return True


class Coordinates:
    """State of the import by the state of the scene, with v' = T v and a' = T a + c."""

    def __init__(self, scene: PreparedSimulation, model: PreparedSimulation) -> None:
        self._bodies: list[Any] = []
        places, others = places_by_name(scene.compiled.model), places_by_name(model.compiled.model)
        inboard, inboard_of_model = inboard_joints(scene.scene), inboard_joints(model.scene)
        for body in scene.scene.bodies:
            joint = scene.scene.joints.get(inboard[body]) if body in inboard else None
            if joint is not None and not joint.coordinates:
                continue
            chain = [inboard_of_model.get(body, body)]
            while chain[0] in inboard_of_model.values():  # bodies without mass may be between several joints
                carrier = model.scene.joints[chain[0]].parent
                if carrier in scene.scene.bodies or carrier not in inboard_of_model:
                    break
                chain.insert(0, inboard_of_model[carrier])
            new = [np.concatenate([np.r_[place[name]] for name in chain if name in place]) for place in others[:2]]
            own = [np.r_[place[inboard.get(body, body)]] for place in places[:2]]
            self._bodies.append((joint, model.scene.joints.get(chain[-1]), own, new))

    def convert(self, q: Any, v: Any, size: int, n: int) -> tuple[Any, Any, Any]:
        """Return q', T and c."""
        found, T, c = np.zeros(size), np.zeros((n, n)), np.zeros(n)
        for joint, other, (own_q, own_v), (new_q, new_v) in self._bodies:
            T[new_v, own_v] = 1.0
            code = next((part.code for part in joint_data(joint)[0] if part.nv), None) if joint else None
            if code is PartCode.BALL:
                C = joint_data(joint)[-1].rotation
                found[new_q] = quaternion_of_matrix((C @ rotation_matrix(q[own_q]) @ C.T).tolist())
                T[np.ix_(new_v, own_v)] = C
            elif len(own_q) == 7:
                frames = joint_data(joint)[-2:] if joint else (IN_PLACE, IN_PLACE)
                others = joint_data(other)[-2:] if other else (IN_PLACE, IN_PLACE)
                outer, inner = others[0].inverse() @ frames[0], frames[1].inverse() @ others[1]
                R, w = rotation_matrix(q[own_q][3:]), v[own_v][3:]
                pose = outer @ Placement(q[own_q][:3], R) @ inner
                arm, F = R @ inner.position, outer.rotation
                found[new_q] = [*pose.position, *quaternion_of_matrix(pose.rotation.tolist())]
                turning = np.array([np.cross(axis, arm) for axis in np.eye(3)]).T
                T[np.ix_(new_v, own_v)] = np.block([[F, F @ turning], [np.zeros((3, 3)), F]])
                c[new_v[:3]] = F @ np.cross(w, np.cross(w, arm))
            else:
                found[new_q] = q[own_q]
        return found, T, c


def random_state(scene: PreparedSimulation, random: Any) -> Any:
    """Return a state with random coordinates that meets the couplings of two coordinates."""
    state = scene.fresh_state()
    state.v[:] = random.normal(size=len(state.v))
    prescribed = {name for name, joint in scene.scene.joints.items() if any(joint.driven)}
    positions, columns, _ = places_by_name(scene.compiled.model)
    for name, place in positions.items():
        if name not in prescribed:
            state.q[place] = random.normal(size=place.stop - place.start)
    for row in scene.compiled.model.system.tree.quaternions:
        part = slice(int(row["iq"]), int(row["iq"]) + 4)
        state.q[part] /= np.linalg.norm(state.q[part])
    couplings = list(scene.scene.couplings.values())
    for coupling in couplings * len(couplings):  # a coordinate may follow one that follows another
        relations = list(getattr(coupling, "relations", ()))
        terms, value = relations[0] if len(relations) == 1 else ({}, 0.0)
        if len(terms) == 2 and all("/" not in word and word in positions for word in terms):
            (first, a), (second, b) = terms.items()
            state.q[positions[first]] = (value - b * state.q[positions[second]]) / a
            state.v[columns[first]] = -b / a * state.v[columns[second]]
    return state


def differences(scene: PreparedSimulation, model: PreparedSimulation) -> tuple[float, float]:
    """Return the largest relative differences of M and of b at random states."""
    ours, theirs = (EquationsOfMotion(one.compiled.model) for one in (scene, model))
    assert ours.n == theirs.n
    coordinates, random, largest = Coordinates(scene, model), np.random.default_rng(0), np.zeros(2)
    for _ in range(3):
        state, other = random_state(scene, random), model.fresh_state()
        v = state.v[: ours.n]
        q, T, c = coordinates.convert(state.q, state.v, len(other.q), ours.n)
        other.q[:], other.v[: ours.n] = q, T @ v
        M, M_of_model = ours.mass_matrix(state), theirs.mass_matrix(other)
        b = ours.inverse_dynamics(state, np.zeros(ours.n))
        b_of_model = T.T @ theirs.inverse_dynamics(other, c)
        scale = np.sqrt(np.diag(M))
        errors = (
            np.abs((M - T.T @ M_of_model @ T) / np.outer(scale, scale)).max(initial=0.0),
            np.abs((b - b_of_model) / scale).max(initial=0.0) / np.abs(b / scale).max(initial=1.0),
        )
        largest = np.maximum(largest, errors)
    return float(largest[0]), float(largest[1])
