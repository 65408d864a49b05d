"""The contract of a force element: one entry of the catalogue, from which everything else follows.

A force element is one file with an entry `ELEMENT`, listed in `forces.elements.ELEMENTS`.  Its kernels take a record
of its table, their first argument, and have the arguments of the parameters in `KERNELS`.  They are formulas: the loop
over the table in `forces.elements` contains their code.

A product is evaluated in two ways.  `exact` is the derivative: it determines the stable step of explicit integrators.
Otherwise it is the symmetric positive semidefinite approximation of implicit integrators, for elements with `implicit`
alone.  An entry that lacks a part is refused where it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import kernel_parameter
from multibody_cli.spec import SignalSpec, Spec
from multibody_cli.spec.entries import PackingContext


# --- kernels ----------------------------------------------------------------------------------------------------------
@kernel_parameter
def apply_force(record, forces, t, q, v, bodies, tau, powers, watched, warnings, k) -> None:
    """Add generalized forces to `tau` (nv,), or wrenches to the bodies, and powers to their accounts.

    The power, W, is added to `powers` (na,).  Where `watched`, bits of `warnings[k]` are set.
    """


@kernel_parameter
def elastic_energy(record, forces, q, bodies) -> float:
    """Return the elastic energy, J."""
    raise NotImplementedError


@kernel_parameter
def implicit_joint_force(
    record, forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature
) -> None:
    """Add the linearly implicit force and inertia of coordinates: see `forces.elements`."""


@kernel_parameter
def linearize(record, forces, t, bodies) -> None:
    """Keep the parts of products and blocks that do not depend on the motion change; some elements have none."""


@kernel_parameter
def stiffness_damping_product(record, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches) -> None:
    """Add K and D times a motion change to `wrenches`: see `forces.variation`."""


@kernel_parameter
def add_stiffness_blocks(record, forces, t, bodies, displacement_factor, velocity_factor, blocks) -> None:
    """Add the diagonal blocks of the same K and D to `blocks`: see `forces.variation`."""


KERNELS: tuple[Any, ...] = (
    apply_force,
    elastic_energy,
    implicit_joint_force,
    linearize,
    stiffness_damping_product,
    add_stiffness_blocks,
)
"""The kernels of an element; the first argument has a name of its own."""


class SceneEntry(Immutable):
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
        From a spec and a `PackingContext` to a record without its last field, the account.
    """

    section: Literal["forces", "springs", "muscles"]
    kind: str
    keys: tuple[str, ...]
    spec: type[Spec]
    pack: Callable[[Any, PackingContext], tuple[Any, ...]]


class ScalarCoordinate(NamedTuple):
    """A coordinate of a joint: its place among the coordinates, its index in q and in v, and its value at rest."""

    place: int
    iq: int
    iv: int
    rest: float


class RotationCoordinates(NamedTuple):
    """The three coordinates of a rotation held as a quaternion: see `ScalarCoordinate`.

    The velocity is the angular velocity in the outer frame if `outer`, else in the inner frame.
    """

    place: int
    iq: int
    iv: int
    rest: tuple[float, ...]  # (4,)
    outer: bool


class JointPackingContext(NamedTuple):
    """The joint into which a force element is packed."""

    iv: int
    scalars: Sequence[ScalarCoordinate]
    rotations: Sequence[RotationCoordinates]
    signal: Callable[[SignalSpec], int]
    control: Callable[[int, SignalSpec], tuple[Any, ...]]
    """From a coordinate and a function of the state to a record of `forces.joint_control` without its account."""
    measured: Callable[[int], tuple[int, int]]
    """From a coordinate to the numbers of the quantities that are its value and its rate."""


class JointFields(Immutable):
    """How the fields of a joint describe a force element.

    Parameters
    ----------
    keys
        The fields of the joint; a joint with one of them has the element.
    cause
        The name of its account, `joints/<joint>/<cause>`, which elements of one joint may share.
    pack
        From the fields and a `JointPackingContext` to records without their last field, the account.
    applies
        Whether a joint with these fields has the element.
    """

    keys: tuple[str, ...]
    cause: str
    pack: Callable[[Any, JointPackingContext], Iterable[tuple[Any, ...]]]
    applies: Callable[[Any], bool] = lambda _joint: True

    def describe(self, joint: Any) -> bool:
        """Whether they describe the element for a joint."""
        return any(getattr(joint, key, None) is not None for key in self.keys) and self.applies(joint)


class IncompleteElementError(Exception):
    """An entry of the catalogue that lacks a part, or contradicts itself."""


class ForceElement(Immutable, eq=False):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        The name of its table.
    dtype
        Of its records.  The last field is `account`, the number of an account of the energy ledger.
    account
        The entry of the energy ledger: `work` done on the system, or `dissipation`.
    implicit
        Whether implicit integrators evaluate it at the end of the step.  Otherwise they evaluate it at the start.
    apply_force, elastic_energy, implicit_joint_force, linearize, stiffness_damping_product, add_stiffness_blocks
        The kernels.
    coordinates
        For an element that acts on coordinates of a joint: the number of consecutive rates from the field `iv` on.
    bodies
        For an element that acts on bodies: the fields of its records that hold rows of bodies.
    cable
        For an element that acts on bodies through points: whether its records have the fields `first` and `last`, a
        range of `Forces.points`.
    spans
        For an element that acts on bodies as a rope: whether its records have the fields `first` and `last`, a range
        of `Forces.spans`.
    description
        The element in words, in the plural, for messages.
    rest
        The property that determines where an elastic element is at rest, in words.
    warnings
        Meanings of the bits of a record's warnings.
    failures
        The bits with which a run is untrusted.
    entry
        How an entry of its own describes it in a scene file.
    joint
        How the fields of a joint describe it instead.
    """

    name: str
    dtype: np.dtype[np.void]
    account: Literal["work", "dissipation"]
    description: str
    implicit: bool
    apply_force: Any
    elastic_energy: Any = None
    implicit_joint_force: Any = None
    linearize: Any = None
    stiffness_damping_product: Any = None
    add_stiffness_blocks: Any = None
    coordinates: int = 0
    bodies: tuple[str, ...] = ()
    cable: bool = False
    spans: bool = False
    rest: str = ""
    warnings: Mapping[int, str] = {}
    failures: int = 0
    entry: SceneEntry | None = None
    joint: JointFields | None = None

    @property
    def acts_on_bodies(self) -> bool:
        """Whether it applies wrenches to bodies; otherwise it applies forces to coordinates of joints."""
        return bool(self.bodies) or self.cable or self.spans

    def __post_init__(self) -> None:
        """Refuse an incomplete entry."""
        if problem := self._problem():
            raise IncompleteElementError(f"force element `{self.name}`: {problem}")

    def _problem(self) -> str:
        """Return the first problem of the entry; the empty string if it has none."""
        if self.acts_on_bodies == bool(self.coordinates):
            return "expected one of `coordinates` (of a joint), and `bodies`, `cable` or `spans`"
        if (self.entry is None) == (self.joint is None):
            return "expected one of `entry` and `joint`"
        needed = (
            *self.bodies,
            *(("first", "last") if self.cable or self.spans else ()),
            *(("iv",) if self.coordinates else ()),
        )
        for name in (*needed, "account"):
            if name not in (self.dtype.names or ()) or self.dtype[name] != np.dtype("i8"):
                return f"its records lack the integer field `{name}`"
        if (self.dtype.names or ())[-1] != "account":
            return "the last field of its records must be `account`"
        for kernel in KERNELS:
            problem = self._problem_of_kernel(kernel.name, kernel.arguments)
            if problem:
                return problem
        return ""

    def _problem_of_kernel(self, name: str, arguments: tuple[str, ...]) -> str:
        given = getattr(self, name)
        required = {
            "apply_force": True,
            "elastic_energy": given is not None,
            "implicit_joint_force": not self.acts_on_bodies and self.implicit,
            "linearize": self.acts_on_bodies and given is not None,
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
        found, wanted = code.co_varnames[1 : code.co_argcount], arguments[1:]
        if found != wanted:
            return f"its kernel `{name}` takes ({', '.join(found)}) after its record, expected ({', '.join(wanted)})"
        return ""
