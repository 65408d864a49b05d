"""The contract of a force element: one entry of the catalogue, from which everything else follows.

A force element is one file with an entry `ELEMENT`, listed in `forces.elements.ELEMENTS`.  Its kernels run over the
records of its table.  They take their arguments in the order of `ARGUMENTS`:

    apply_force                  adds generalized forces to `tau` (nv,) or wrenches to the bodies, and the power of each
                                 record to its account in `powers` (na,), W; sets bits in `warnings` where `watched`
    elastic_energy               returns the elastic energy of all records, J
    implicit_joint_force         linearly implicit force and inertia of coordinates: see `forces.elements`
    stiffness_damping_product    adds K and D times a motion change to `wrenches`: see `forces.variation`
    add_stiffness_blocks         adds the diagonal blocks of the same K and D to `blocks`: see `forces.variation`

A product is evaluated in two ways.  `exact` is the derivative: it determines the stable step of explicit integrators.
Otherwise it is the symmetric positive semidefinite approximation of implicit integrators, for elements with `implicit`
alone.  An entry that lacks a part is refused where it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from multibody_cli.forces.muscle_spec import MuscleSpec
from multibody_cli.spec import BodyPoint, Pose, SignalSpec, Spec, Vector

Vector3 = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix3 = np.ndarray[tuple[int, int], np.dtype[np.float64]]

ARGUMENTS = {
    "apply_force": "table forces t q v bodies tau powers watched warnings",
    "elastic_energy": "table forces q bodies",
    "implicit_joint_force": "table h displacement_factor velocity_factor rates tau armature",
    "stiffness_damping_product": "table forces t bodies displacement_factor velocity_factor exact wrenches",
    "add_stiffness_blocks": "table forces t bodies displacement_factor velocity_factor blocks",
}
"""The arguments of each kernel of an element; `table` are its records, with a name of its own."""


class Site(Protocol):
    """The model into which a force element is packed.

    A body is identified by its row, 0 for the world.  Kernels know a body by its joint frame; specs give points and
    directions in its body frame.
    """

    def row(self, body: str) -> int:
        """Row of a body."""
        ...

    def com(self, body: str) -> Vector3:
        """Centre of mass in the joint frame, m."""
        ...

    def axes(self, body: str) -> Matrix3:
        """Rotation of the body frame in the joint frame."""
        ...

    def spot(self, body: str, point: Vector) -> tuple[int, Vector3]:
        """Row that moves with a point of a body, and the point in the frame of that row, m."""
        ...

    def frame(self, body: str, pose: Pose) -> tuple[int, Vector3, Matrix3]:
        """Row of a body, and a frame that is fixed in it: origin and rotation in the joint frame."""
        ...

    def cable(self, points: Sequence[BodyPoint]) -> tuple[int, int]:
        """Add the points of a cable to `Forces.points`; the range that they take."""
        ...

    def signal(self, spec: SignalSpec) -> int:
        """Number of a function of time."""
        ...

    def activation(self, spec: MuscleSpec) -> int:
        """Number of the activation of a muscle."""
        ...


@dataclass(frozen=True)
class SceneEntry:
    """How a scene file describes a force element.

    Parameters
    ----------
    section
        The section of the file: `forces`, `springs` or `muscles`.
    kind
        The kind of the entry.
    keys
        The fields by which an entry of this kind is recognized.
    spec
        The fields of the entry.
    pack
        From a spec and a `Site` to a record without its last field, the account.
    """

    section: Literal["forces", "springs", "muscles"]
    kind: str
    keys: tuple[str, ...]
    spec: type[Spec]
    pack: Callable[[Any, Site], tuple[Any, ...]]


class IncompleteElementError(Exception):
    """An entry of the catalogue that lacks a part, or contradicts itself."""


@dataclass(frozen=True, eq=False)
class ForceElement:
    """An entry of the catalogue.

    Parameters
    ----------
    name
        The name of its table.
    dtype
        Of its records.  The last field is `account`, the number of an account of the energy ledger.
    account
        What the energy ledger records: `work` done on the system, or `dissipation`.
    implicit
        Whether implicit integrators evaluate it at the end of the step.  Otherwise they evaluate it at the start.
    apply_force, elastic_energy, implicit_joint_force, stiffness_damping_product, add_stiffness_blocks
        The kernels.
    coordinates
        For an element that acts on coordinates of a joint: the number of consecutive rates from the field `iv` on.
    bodies
        For an element that acts on bodies: the fields of its records that hold rows of bodies.
    cable
        For an element that acts on bodies through points: whether its records have the fields `first` and `last`, a
        range of `Forces.points`.
    description
        The element in words, in the plural, for messages.
    warnings
        What each bit of a record's warnings means.
    entry
        How a scene file describes it; None for springs and actuators that are fields of a joint.
    """

    name: str
    dtype: np.dtype[np.void]
    _: KW_ONLY
    account: Literal["work", "dissipation"]
    description: str
    implicit: bool
    apply_force: Any
    elastic_energy: Any = None
    implicit_joint_force: Any = None
    stiffness_damping_product: Any = None
    add_stiffness_blocks: Any = None
    coordinates: int = 0
    bodies: tuple[str, ...] = ()
    cable: bool = False
    warnings: Mapping[int, str] = field(default_factory=dict)
    entry: SceneEntry | None = None

    @property
    def acts_on_bodies(self) -> bool:
        """Whether it applies wrenches to bodies; otherwise it applies forces to coordinates of joints."""
        return bool(self.bodies) or self.cable

    def __post_init__(self) -> None:
        """Refuse an incomplete entry."""
        if problem := self._problem():
            raise IncompleteElementError(f"force element `{self.name}`: {problem}")

    def _problem(self) -> str:
        """Return the first problem of the entry; the empty string if it has none."""
        if self.acts_on_bodies == bool(self.coordinates):
            return "expected one of `coordinates` (of a joint), and `bodies` or `cable`"
        needed = (*self.bodies, *(("first", "last") if self.cable else ()), *(("iv",) if self.coordinates else ()))
        for name in (*needed, "account"):
            if name not in (self.dtype.names or ()) or self.dtype[name] != np.dtype("i8"):
                return f"its records lack the integer field `{name}`"
        if (self.dtype.names or ())[-1] != "account":
            return "the last field of its records must be `account`"
        for name in ARGUMENTS:
            problem = self._problem_of_kernel(name)
            if problem:
                return problem
        return ""

    def _problem_of_kernel(self, name: str) -> str:
        given = getattr(self, name)
        required = {
            "apply_force": True,
            "elastic_energy": given is not None,
            "implicit_joint_force": not self.acts_on_bodies and self.implicit,
            "stiffness_damping_product": self.acts_on_bodies,
            "add_stiffness_blocks": self.acts_on_bodies and self.implicit,
        }[name]
        if given is None:
            why = "is `implicit` and " if name in ("implicit_joint_force", "add_stiffness_blocks") else ""
            why = "acts on bodies and " if name == "stiffness_damping_product" else why
            return f"it {why}has no kernel `{name}`" if required else ""
        if not required:
            where = "bodies" if self.acts_on_bodies else "coordinates of joints"
            how = " and is not `implicit`" if name in ("implicit_joint_force", "add_stiffness_blocks") else ""
            return f"it acts on {where}{how}, so that its kernel `{name}` would never be called"
        code = given.py_func.__code__
        found, wanted = code.co_varnames[1 : code.co_argcount], tuple(ARGUMENTS[name].split()[1:])
        if found != wanted:
            return f"its kernel `{name}` takes ({', '.join(found)}) after its records, expected ({', '.join(wanted)})"
        return ""
