"""Mechanisms for tests: given or random, packed like scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from multibody_cli.constraints.elements import TablePacker
from multibody_cli.expressions import parse
from multibody_cli.forces.body_drag import DragSpec
from multibody_cli.forces.body_load import LoadSpec
from multibody_cli.forces.joint_control import COMMAND
from multibody_cli.immutable import replace
from multibody_cli.joints.contract import JointStart, Part
from multibody_cli.kernel import records
from multibody_cli.mass import MassProperties
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import StepControl
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.model import JointEntry, Model, SceneNames, State, System
from multibody_cli.observation.moment_arms import ARM
from multibody_cli.observation.sensors import FIXED_FRAME
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.packing.rows import ReductionPacker, RowPacker
from multibody_cli.packing.tree import PackedTree, pack_tree
from multibody_cli.scene.body_kinds import IN_PLACE, LinkData, Placement
from multibody_cli.spec import SignalSpec

NO_GRAVITY = (0.0, 0.0, 0.0)


def evaluate(system: System, *rest) -> None:
    """The accelerations of method `aba`."""
    METHODS["aba"].kernels.dynamics(system).evaluate(system, *rest)


NO_ARMS = (records(np.zeros(0, ARM)), np.zeros(0, np.int64))
NO_COMMANDS = records(np.zeros(0, COMMAND))
NO_FRAMES = records(np.zeros(0, FIXED_FRAME))


@dataclass(frozen=True)
class JointForces:
    """Forces on the coordinates of one joint; `motion` is (derivative, signal or None for each coordinate)."""

    stiffness: Sequence[float] | None = None
    damping: Sequence[float] | None = None
    armature: Sequence[float] | None = None
    force: Sequence[SignalSpec] | None = None
    motion: tuple[str, Sequence[SignalSpec | None]] | None = None


@dataclass(frozen=True)
class Machine:
    """Links in the order of their rows, and all forces on them."""

    tree_links: Sequence[LinkData]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    joint_forces: dict[int, JointForces] = field(default_factory=dict)
    loads: Sequence[tuple[int, LoadSpec]] = ()
    drags: Sequence[tuple[int, DragSpec]] = ()


@dataclass(frozen=True)
class Packed:
    """A machine as kernels see it."""

    machine: Machine
    model: Model
    tree: PackedTree

    def fresh_state(self) -> State:
        """The first state, for a run of its own."""
        accounts = len(self.model.names.accounts)
        q, v = self.tree.q.copy(), self.tree.v.copy()
        return State(np.zeros(1), q, v, np.zeros(self.model.nv), np.zeros(accounts), np.zeros(0))

    def method(self, integrator: str, step: float, rtol: float = 1e-9, atol: float = 1e-9, name="aba", **options):
        """A method bound to this model."""
        kind, control = METHODS[name], StepControl(step, rtol, atol)
        chosen = kind.Options.model_validate(options)
        return kind(self.model, INTEGRATORS[integrator], control, self.fresh_state(), chosen)


@dataclass(frozen=True)
class OneBody:
    """The body of a load or a drag, as packing asks for it."""

    packer: ForcePacker
    number: int
    at: Placement
    mass_center: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def row(self, _body: str) -> int:
        return self.number

    def com(self, body: str) -> np.ndarray:
        return self.attachment(body, self.mass_center)[1]

    def axes(self, _body: str) -> np.ndarray:
        return self.at.rotation

    def attachment(self, _body: str, point) -> tuple[int, np.ndarray]:
        return self.number, self.at.position + self.at.rotation @ np.array(point)

    def signal(self, spec: SignalSpec) -> int:
        return self.packer.signal(spec)


def constant(value: float) -> SignalSpec:
    return SignalSpec(constant=float(value))


def expression(text: str) -> SignalSpec:
    return SignalSpec(expression=parse(text))


def pack(machine: Machine) -> Packed:
    """Pack the tree and its forces the way the compiler of scenes does."""
    driven = {
        row: [s is not None for s in forces.motion[1]] for row, forces in machine.joint_forces.items() if forces.motion
    }
    has_armature = {
        row for row, forces in machine.joint_forces.items() if forces.stiffness or forces.damping or forces.armature
    }
    tree_links = [
        replace(
            tree_link,
            driven=driven.get(tree_link.row, [False] * n_dofs(tree_link.parts)),
            has_armature=tree_link.row in has_armature,
        )
        for tree_link in machine.tree_links
    ]
    tree = pack_tree(tree_links, machine.gravity)
    tree.tree = tree.tree._replace(armature=armature_of(machine, tree))
    packer = ForcePacker({}, {}, {}, {})
    for row, forces in machine.joint_forces.items():
        tree_link = tree_links[row - 1]
        motion = forces.motion and SimpleNamespace(given=forces.motion[0], signals=tuple(forces.motion[1]))
        spec = SimpleNamespace(
            active=True,
            coordinates=tuple(c for part in tree_link.parts for c in part.coordinates),
            stiffness=forces.stiffness and tuple(forces.stiffness),
            damping=forces.damping and tuple(forces.damping),
            force=forces.force and tuple(forces.force),
            motion=motion or None,
        )
        packer.add_joint(f"j{row}", spec, tree_link.parts, tree_link.start, row, tree.first_q[row], tree.first_v[row])
    for k, (row, load) in enumerate(machine.loads):
        packer.add("forces", f"load{k}", load, OneBody(packer, row, tree.frames[row]))
    for k, (row, drag) in enumerate(machine.drags):
        packer.add("forces", f"drag{k}", drag, OneBody(packer, row, tree.frames[row], tree_links[row - 1].mass.com))
    forces, motions = packer.pack()
    rows = np.arange(1, len(tree_links) + 1)
    firsts = [tree.first_v[tree_link.row] for tree_link in tree_links]
    entries = tuple(
        JointEntry(
            f"j{tree_link.row}", "composite", (), slice(first, first + n_dofs(tree_link.parts)), slice(0), tree_link.row
        )
        for tree_link, first in zip(tree_links, firsts, strict=True)
    )
    words = tuple(f"coordinate {k}" for k in range(len(tree.v)))
    names = SceneNames(tuple(f"b{row}" for row in rows), rows, entries, tuple(packer.accounts), words, (), ())
    com = np.array([tree_link.mass.com for tree_link in tree_links])
    row_table, terms = RowPacker().pack()
    constraints = TablePacker().pack(forces.signals, forces.points)
    reductions = ReductionPacker(tree.tree.driven).pack()
    system = System(tree.tree, motions, forces, constraints, reductions, row_table, terms, *NO_ARMS, NO_COMMANDS)
    model = Model(system, names, com, len(tree.q), len(tree.v), NO_FRAMES, NO_FRAMES, NO_FRAMES, tree.joint_maps)
    return Packed(machine, model, tree)


def armature_of(machine: Machine, tree: PackedTree) -> np.ndarray:
    """The armature of all coordinates, (nv,)."""
    armature = np.zeros(len(tree.v))
    for row, forces in machine.joint_forces.items():
        if forces.armature:
            armature[tree.first_v[row] : tree.first_v[row] + len(forces.armature)] = forces.armature
    return armature


def n_dofs(parts: Sequence[Part]) -> int:
    return sum(part.nv for part in parts)


def accelerations(packed: Packed, t: float = 0.0, name: str = "aba", **options):
    """The consistent state of a method at time t, its work arrays, and the powers of the ledger entries."""
    state, method = packed.fresh_state(), packed.method("rk4", 1e-3, name=name, **options)
    work, powers = method.work, np.zeros_like(state.ledger)
    method.dynamics.evaluate(packed.model.system, work, t, state.q, state.v, state.a, powers)
    state.time[0] = t
    return state, work, powers


def observed(packed: Packed, state: State, work) -> Samples:
    """One output instant."""
    from multibody_cli.output.observers import observe

    samples = samples_for(packed.model.names, 1)
    observe(packed.model.system, state, work, element_rows(packed.model), samples, 0)
    return samples


def tree_link(
    row: int,
    parent: int,
    parts: Sequence[Part],
    q: Sequence[float] = (),
    v: Sequence[float] = (),
    *,
    mass: float = 1.0,
    com: Sequence[float] = (0.0, 0.0, 0.0),
    inertia: Sequence[float] | np.ndarray = (0.1, 0.2, 0.25),
    origin: Placement = IN_PLACE,
    child_origin: Placement = IN_PLACE,
    rest: Sequence[float] | None = None,
) -> LinkData:
    """A link with defaults; `inertia` is a matrix or principal moments."""
    matrix = np.diag(inertia) if np.ndim(inertia) == 1 else np.asarray(inertia)
    q = q or resting(parts)
    start = JointStart(q, v or (0.0,) * n_dofs(parts), q if rest is None else rest)
    properties = MassProperties(mass, np.array(com, dtype=float), matrix.astype(float))
    return LinkData(row, parent, properties, parts, start, [False] * n_dofs(parts), origin, child_origin)


def resting(parts: Sequence[Part]) -> tuple[float, ...]:
    """Coordinates 0, as the numbers of the parts."""
    numbers: list[float] = []
    for part in parts:
        quaternion = part.nq - part.nv
        numbers += [0.0] * (part.nv - 3 * quaternion) + [1.0, 0.0, 0.0, 0.0] * quaternion
    return tuple(numbers)


def shift(x: float, y: float, z: float) -> Placement:
    return Placement(np.array([x, y, z], dtype=float), np.eye(3))
