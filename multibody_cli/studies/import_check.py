"""An imported scene beside the engine of its file, at several states, and the program that contradicts itself.

Compared are the mass matrix M, the bias b, the inverse dynamics and the gravity of each joint, and center of mass,
momenta and energies of all bodies, each by a routine of its own in both programs.  Differences are relative to sizes
that vanish at no state with velocities v and accelerations a about 1:

    M_ij                    sqrt(M_ii M_jj)
    b_i, gravity_i          sqrt(M_ii) max(|b_k|/sqrt(M_kk), sqrt(v^T M v))
    forces_i                the same, with M a + b in place of b, and sqrt(a^T M a) too
    center of mass          sqrt(J/m)
    linear momentum         sqrt(2 m T)
    angular momentum        sqrt(2 J T)
    energies                T, or the largest change of the potential energy

with the kinetic energy T, the mass m of the bodies that move and their polar moment of inertia J about the world's
origin: by the Cauchy-Schwarz inequality, no momentum is larger.  Center of mass and potential energy are compared
as differences from the initial pose, since programs differ in the bodies without motion that they count.  Accelerations
with loops are those of `import_loops`.  Where a joint of the scene takes the place of a free joint of the source, the
comparison is that of the scene with the free joint, in which that joint closes a loop.

The kinetic energy is 1/2 v^T M v, so that the power of the Coriolis and centrifugal forces c is that of dM/dt:

    v^T c(q, v) = 1/2 v^T (dM/dt) v,    c(q, v) = (b(q, v) + b(q, -v))/2 - b(q, 0),

A program whose M and b differ from this contradicts itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from multibody_cli.document.source import ReadScene
from multibody_cli.errors import listed, series
from multibody_cli.foreign.draft import WORLD, Coordinate, Draft, Joint
from multibody_cli.foreign.renaming import unused
from multibody_cli.immutable import Immutable
from multibody_cli.limits import Usage
from multibody_cli.model import Floats
from multibody_cli.peers.engine import Engine, EngineJoint, Quantities
from multibody_cli.studies.import_elements import differences_of_elements
from multibody_cli.studies.import_loops import differences_of_loops
from multibody_cli.studies.imported_scene import EngineMotion, Equations, ImportedScene, Values, moved
from multibody_cli.studies.simulation import PreparedSimulation, prepare

AGREEMENT = 1e-10
"""Largest relative difference that counts as agreement."""

AGREEMENT_OF_ELEMENTS = 1e-6
"""Largest relative difference of the forces of an element that counts as agreement: fibers are in equilibrium to it."""

OFFSET = 1e-4
"""Half of the time between the mass matrices of dM/dt, s; the error is about its square."""

CONTRADICTION = 1e-6
"""Largest relative difference of both sides of the identity above that counts as round-off and truncation."""

QUANTITIES_OF_JOINTS = ("mass_matrix", "bias", "inverse_dynamics", "gravity")
QUANTITIES_OF_BODIES = ("mass_moment", "linear_momentum", "angular_momentum", "kinetic_energy", "potential_energy")
"""Compared quantities, each of a joint or of all bodies."""


class JointDifference(Immutable):
    """Largest relative differences of the quantities of a joint."""

    name: str
    mass_matrix: float
    bias: float
    inverse_dynamics: float
    gravity: float

    @property
    def values(self) -> dict[str, float]:
        """The differences by quantity."""
        return {name: getattr(self, name) for name in QUANTITIES_OF_JOINTS}


class ImportCheck(Immutable):
    """The outcome of a comparison.

    Parameters
    ----------
    engine
        Title of the engine.
    states
        Number of states.
    joints
        Differences by joint, in the order of the engine.
    whole
        Differences of center of mass, momenta and energies, and of accelerations where loops are closed.
    elements
        Differences of the forces of elements, where the engine has these; NaN where an element has none to compare.
    absent
        Joints of the engine that the scene does not have.
    scene_contradiction, engine_contradiction
        Largest relative differences of v^T c and 1/2 v^T (dM/dt) v in both programs.
    """

    engine: str
    states: int
    joints: tuple[JointDifference, ...]
    whole: Mapping[str, float]
    elements: Mapping[str, float]
    absent: tuple[str, ...]
    scene_contradiction: float
    engine_contradiction: float

    @property
    def differences(self) -> dict[str, float]:
        """The largest difference of each quantity."""
        of_joints = {
            name: max((joint.values[name] for joint in self.joints), default=0.0) for name in QUANTITIES_OF_JOINTS
        }
        return of_joints | dict(self.whole)

    @property
    def agrees(self) -> bool:
        """Whether all quantities agree to `AGREEMENT`, and elements to `AGREEMENT_OF_ELEMENTS`."""
        return max(self.differences.values()) <= AGREEMENT and not self.differing

    @property
    def differing(self) -> dict[str, float]:
        """The elements whose forces differ."""
        return {name: found for name, found in self.elements.items() if found > AGREEMENT_OF_ELEMENTS}

    @property
    def contradicting(self) -> str:
        """The program that contradicts itself; empty if none does, or both, as where forces saturate."""
        values = {self.engine: self.engine_contradiction, "mbsim": self.scene_contradiction}
        found = [name for name, value in values.items() if value > CONTRADICTION]
        return found[0] if len(found) == 1 else ""

    def lines(self) -> Iterator[str]:
        """Yield the lines of a report; joints are listed where they differ."""
        yield f"{self.engine}: {len(self.joints)} joint{'s' * (len(self.joints) != 1)} at {self.states} states"
        remark = " largest relative difference"
        for name, difference in self.differences.items():
            yield f"  {_title(name):<22}{difference:.1e}{remark}"
            remark = ""
        compared = {name: found for name, found in self.elements.items() if not math.isnan(found)}
        if compared:
            yield f"  {'forces of elements':<22}{max(compared.values()):.1e} of {len(compared)} elements"
        for name, found in self.differing.items():
            yield f"    {name}: {found:.1e}"
        missing = [name for name in self.elements if name not in compared]
        if missing:
            yield f"  {'not compared':<22}{listed(missing, 5)}: not in the scene, or without an equilibrium"
        if self.absent:
            yield f"  {'not compared':<22}{series(self.absent, 'and')}: not in the scene"
        for joint in self.joints:
            if max(joint.values.values()) > AGREEMENT:
                yield f"  {joint.name}: " + ", ".join(f"{_title(name)} {x:.1e}" for name, x in joint.values.items())
        if not self.agrees and self.contradicting:
            yield f"  {self.contradicting} contradicts itself: its bias is not that of the change of its mass matrix"

    def data(self) -> dict[str, Any]:
        """Return the comparison as plain data, for JSON."""
        return {
            "engine": self.engine,
            "states": self.states,
            "agrees": self.agrees,
            "differences": self.differences,
            "elements": {name: None if math.isnan(found) else found for name, found in self.elements.items()},
            "joints": {joint.name: joint.values for joint in self.joints},
            "absent": list(self.absent),
            "contradicting": self.contradicting,
        }


def _title(name: str) -> str:
    return name.replace("_", " ")


def check_import(simulation: PreparedSimulation, draft: Draft, engine: Engine, states: int = 6) -> ImportCheck:
    """Compare an imported scene with the engine of its file.

    The states are the initial pose, one of right angles, and random ones, with random velocities and accelerations.

    Parameters
    ----------
    simulation
        The scene.
    draft
        The import that it comes from.
    engine
        The file in its own engine.
    states
        Number of states, at least 3.
    """
    if held := _held_bodies(draft):
        draft = _with_free_bodies(draft, held)
        simulation = prepare(ReadScene(draft.source, draft.tree((*engine.leaves_out, "states")), Usage()))
    scene = ImportedScene(simulation, draft, engine)
    random = np.random.default_rng(1)
    of_joints, contradictions = np.zeros((len(QUANTITIES_OF_JOINTS), scene.size)), np.zeros(2)
    pairs, sizes = [], []
    for number in range(states):
        motion = scene.motion(number, random)
        if number >= 2:  # the others may be at the ends of tables, where dM/dt jumps
            found = [contradiction(one, motion.q, motion.v, scene.joints) for one in scene.programs]
            contradictions = np.maximum(contradictions, found)
        pairs.append((scene.quantities(motion), scene.quantities_of_engine(motion)))
        of_joints = np.maximum(of_joints, _differences_of_joints(scene, motion, pairs[-1], engine.has_dampers))
        sizes.append(scene.sizes(motion))
    rows = [
        JointDifference(joint.name, *of_joints[:, columns].max(axis=1).tolist()) for joint, columns in scene.columns()
    ]
    whole = _differences_of_bodies(pairs, sizes) | differences_of_loops(scene, random)
    elements = differences_of_elements(draft, engine)
    return ImportCheck(engine.title, states, tuple(rows), whole, elements, scene.absent, *contradictions.tolist())


def _held_bodies(draft: Draft) -> dict[str, str]:
    """Return bodies by the free joints of the source that other joints of the scene take the place of."""
    return {
        name: found.joint
        for name, found in draft.coordinates.items()
        if found.joint in draft.bodies and found.joint not in draft.joints and draft.inboard(found.joint)
    }


def _with_free_bodies(draft: Draft, held: Mapping[str, str]) -> Draft:
    """Return a draft with the free joints of the source, so that the joints in their place close loops."""
    found = copy(draft)
    found.joints, found.coordinates = {}, dict(draft.coordinates)
    for source, body in held.items():
        own, pose = unused(body, draft.joints), draft.bodies[body].pose
        q = {"position": pose.position.tolist(), "rotation": dict(pose.rotation_data)}
        found.joints[own] = Joint(own, draft.bodies[body].origin, "free", WORLD, body, fields={"q": q})
        found.coordinates[source] = Coordinate(own)
    for name, joint in draft.joints.items():
        closes = joint.child in held.values()
        fields = {key: value for key, value in joint.fields.items() if key != "q" or not closes}
        found.joints[name] = replace(joint, fields=fields)
    return found


def _differences_of_joints(
    scene: ImportedScene, motion: EngineMotion, pair: tuple[Quantities, Quantities], has_dampers: bool
) -> Floats:
    """Return the relative differences (4, n) of the quantities of joints at a state.

    Forces of dampers, which are odd in v, are left out if the engine does not have them.
    """
    (M, b), (M_own, b_own) = (program(motion.q, motion.v) for program in scene.programs)
    (forces, gravity, *_), (forces_own, gravity_own, *_) = pair
    if not has_dampers:
        dampers = (b - scene.equations(motion.q, _opposite(motion.v))[1]) / 2
        b, forces = b - dampers, forces - dampers
    scale = np.sqrt(np.maximum(np.diag(M_own), np.finfo(float).tiny))
    inertial = [float(np.sqrt(x @ M_own @ x)) for x in (scene.row(motion.v), scene.row(motion.a))]
    found = [(np.abs(M - M_own) / np.outer(scale, scale)).max(axis=1, initial=0.0)]
    for values, own, sizes in (
        (b, b_own, inertial[:1]),
        (forces, forces_own, inertial),
        (gravity, gravity_own, inertial[:1]),
    ):
        size = max(float(np.abs(own / scale).max(initial=0.0)), *sizes) or 1.0
        found.append(np.abs(values - own) / scale / size)
    return np.array(found)


def _differences_of_bodies(
    pairs: Sequence[tuple[Quantities, Quantities]], sizes: Sequence[tuple[float, float]]
) -> dict[str, float]:
    """Return the largest relative differences of the quantities of all bodies.

    Parameters
    ----------
    pairs
        The quantities of the scene and of the engine at each state, the first of which is the initial pose.
    sizes
        Mass and polar moment of inertia of the bodies that move.
    """
    m, J = np.array(sizes).T
    values = {  # (states, 2, components)
        name: np.array([[np.atleast_1d(getattr(one, name)) for one in pair] for pair in pairs])
        for name in QUANTITIES_OF_BODIES
    }
    for name in ("mass_moment", "potential_energy"):
        values[name] = values[name] - values[name][0]
    T = values["kinetic_energy"][:, 1, 0]
    scales = {
        "mass_moment": np.sqrt(m * J),
        "linear_momentum": np.sqrt(2 * m * T),
        "angular_momentum": np.sqrt(2 * J * T),
        "kinetic_energy": T,
        "potential_energy": np.maximum(T, np.abs(values["potential_energy"]).max()),
    }
    return {
        name: float((np.ptp(found, axis=1).max(axis=1) / np.maximum(scales[name], np.finfo(float).tiny)).max())
        for name, found in values.items()
    }


def _opposite(v: Values) -> dict[str, Floats]:
    return {name: -value for name, value in v.items()}


def contradiction(equations: Equations, q: Values, v: Values, joints: tuple[EngineJoint, ...]) -> float:
    """Return the difference of v^T c and 1/2 v^T (dM/dt) v, relative to the sizes of their terms."""
    M, b = equations(q, v)
    still = {name: np.zeros_like(value) for name, value in v.items()}
    c = (b + equations(q, _opposite(v))[1]) / 2 - equations(q, still)[1]
    before, after = (equations(moved(q, v, joints, h), v)[0] for h in (-OFFSET, OFFSET))
    speeds = np.concatenate([np.zeros(0), *(v[joint.name] for joint in joints)])
    rate = speeds @ (after - before) @ speeds / (4 * OFFSET)
    scale = np.abs(speeds) @ np.abs(c) + np.abs(speeds) @ np.abs(M) @ np.abs(speeds)
    return float(abs(speeds @ c - rate) / (scale or 1.0))
