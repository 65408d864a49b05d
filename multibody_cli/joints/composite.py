"""Composite joint: a user-defined sequence of the motions of other joints, each with an anchor of its own.

Part k moves its frame by X_k, the motion of a joint of its type.  Its anchor p_k is given in the joint frame, with all
parts before it at zero:

    X = T(p_1) X_1 T(p_2 - p_1) X_2 ... X_n T(-p_n),    T a translation.

Each part therefore turns about its own point of the child.  At zero coordinates the joint frames of parent and child
coincide, so that `position` and `axis` are those of `<joint pos= axis=>` of an MJCF body.

Source: Sueda, notes 2.4.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, create_model, field_validator, model_validator
from pydantic_core import InitErrorDetails

from multibody_cli.immutable import Immutable
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import JointKind, JointStart, Part, offset
from multibody_cli.joints.coordinate_fields import Bounds, MotionSpec
from multibody_cli.joints.domain import ENDLESS, Interval
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.spec import BrakedJointSpec, Coordinates, JointSpec, MovingJointSpec
from multibody_cli.registry import Registry
from multibody_cli.spec import Catalogue, Position, Spec, Vector
from multibody_cli.spec.quantities import NUMBER_SCHEMA, located_error, relocated_details

STATE = ("q", "v", "rest")
"""Fields with one entry for each part."""

SHARED = {*MovingJointSpec.model_fields, *STATE, "friction"}
"""Fields of a joint that do not describe its motion."""


class PartSpec(Spec):
    """One part of a composite joint: the motion of a joint of its type."""

    UNSUPPORTED = dict.fromkeys(
        SHARED - {"type", "friction"}, "it belongs to the whole composite joint: write it beside `parts`"
    )

    type: str
    position: Position = Field(
        (0.0, 0.0, 0.0), description="Anchor of the part, m, in the joint frame with all parts before it at zero."
    )


def _part_spec(name: str) -> type[PartSpec]:
    """Return the fields of a joint that describe its motion; the others belong to the whole composite joint."""
    spec = JOINTS[name].spec
    own: dict[str, Any] = {
        word: (field.annotation, field) for word, field in spec.model_fields.items() if word not in SHARED
    }
    own["type"] = Literal[name], ...
    title = f"{spec.__name__.removesuffix('Spec')}Part"
    return create_model(title, __base__=PartSpec, __doc__=spec.__doc__, **own)


_WITHOUT_USE = ("fixed", "free", "composite")
"""Joints that add nothing to a sequence: no motion, every motion, and a sequence within it."""

PARTS: Mapping[str, type[PartSpec]] = Registry([name for name in JOINTS if name not in _WITHOUT_USE], _part_spec)
"""Fields of each type of part."""


class JointPart(Immutable):
    """A part as read: its type, the kinds of its coordinates, its anchor, and the fields of its joint as written."""

    type: str
    coordinates: Coordinates
    position: Vector
    written: Mapping[str, Any]


class _PartCatalogue(Catalogue, eq=False):
    def _read(self, name: str, value: Any, info: ValidationInfo) -> Any:
        spec: Any = super()._read(name, value, info)
        coordinates = JOINTS[name].spec.coordinates_of(spec.__dict__) or ()
        return JointPart(name, coordinates, spec.position, {word: value[word] for word in value if word != "position"})


class CompositeParts(Spec):
    """The parts of a composite joint."""

    parts: list[Annotated[JointPart, _PartCatalogue("a part of a composite joint", PARTS)]] = Field(
        min_length=1, description="Parts of the joint, from the parent to the child."
    )


def _each_part(description: str) -> Any:
    entry: Any = {"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "array"}, {"type": "object"}]}
    schema: Any = {"anyOf": [entry, {"type": "array", "items": entry}]}
    return Field((), description=description, json_schema_extra=schema)


# `CompositeParts` is the last base, so that its field is read before those that depend on the number of coordinates
class CompositeSpec(BrakedJointSpec, CompositeParts):
    """The coordinates of the parts, in their order.

    `q`, `v` and `rest` have one entry for each part, as a joint of its type has it; other lists have one entry for each
    coordinate.
    """

    type: Literal["composite"]
    q: tuple[Any, ...] = _each_part("Initial coordinates, one entry for each part; 0 by default.")
    v: tuple[Any, ...] = _each_part("Initial rates, one entry for each part; 0 by default.")
    rest: tuple[Any, ...] = _each_part("Coordinates at which the spring is relaxed, one entry for each part.")

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return the coordinates of each part."""
        if "parts" not in fields:
            return None
        return tuple(kind for part in fields["parts"] for kind in part.coordinates)

    @field_validator(*STATE, mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_state(cls, value: Any, info: ValidationInfo) -> Any:
        """Return the entries as written: the joints of the parts read them."""
        parts = info.data.get("parts")
        if parts is None:
            return ()
        if len(parts) == 1 and not isinstance(value, list | tuple):
            return (value,)
        if not isinstance(value, list | tuple) or len(value) not in {len(parts)} | ({0} if value == () else set()):
            found = f"found {len(value)}" if isinstance(value, list | tuple) else "found one value"
            raise ValueError(f"expected a list of {len(parts)} entries, one per part, {found}")
        return tuple(value)

    @cached_property
    def joints(self) -> Sequence[JointSpec]:
        """The joint of each part, with its share of the fields of this joint."""
        found: list[JointSpec] = []
        problems: list[InitErrorDetails] = []
        first = 0
        for k, part in enumerate(self.parts):
            fields = {**part.written, "child": self.child}
            fields |= {word: getattr(self, word)[k] for word in STATE if getattr(self, word)}
            fields |= self._share(slice(first, first + len(part.coordinates)))
            try:
                found.append(JOINTS[part.type].spec.model_validate(fields))
            except ValidationError as error:
                problems += relocated_details(error, _Places(k, first))
            first += len(part.coordinates)
        if problems:
            raise ValidationError.from_exception_data("value", problems)
        return found

    def _share(self, own: slice) -> dict[str, Any]:
        """Return the share of the joint of a part in the fields with entries for each coordinate."""
        share: dict[str, Any] = {}
        if self.stiffness is not None:
            share["stiffness"] = self.stiffness[own]
        if self.limits is not None and any(self.limits[own]):
            share["limits"] = self.limits[own]
        if self.motion is not None and any(signal is not None for signal in self.motion.signals[own]):
            share["motion"] = MotionSpec.model_construct(None, **{self.motion.given: self.motion.signals[own]})
        return share

    @property
    def plain(self) -> tuple[bool, ...]:
        """Those of the parts."""
        return tuple(flag for joint in self.joints for flag in joint.plain)

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """Those of the parts."""
        return self._of_each_part("own_domains", ENDLESS)

    @property
    def domains(self) -> tuple[Interval, ...]:
        """Those of the parts."""
        return self._of_each_part("domains", ENDLESS)

    @property
    def bounds(self) -> Bounds | None:
        """Those of the parts."""
        return self._of_each_part("bounds", None) or None

    def _of_each_part(self, word: str, default: Any) -> tuple[Any, ...]:
        """Return a property of every coordinate of the joints of the parts; empty if no joint has it."""
        if not any(getattr(joint, word) for joint in self.joints):
            return ()
        return tuple(
            entry for joint in self.joints for entry in getattr(joint, word) or (default,) * len(joint.coordinates)
        )

    @model_validator(mode="after")
    def _require_joints_of_parts(self) -> Self:
        """Require that the joint of each part is valid, in coordinates that are not recentred."""
        assert self.joints
        for k, part in enumerate(self.parts):
            if part.written.get("parametrization") == "exponential":
                raise located_error(
                    "exponential coordinates are not supported in a composite joint: use `quaternion`",
                    *("parts", k, "parametrization"),
                )
        return self


class _Places(Immutable):
    """Where a composite joint has the fields of the joint of part k, whose coordinates begin with number `first`."""

    k: int
    first: int

    def __call__(self, place: tuple[int | str, ...]) -> tuple[int | str, ...]:
        word, *rest = place or ("",)
        if word in STATE:
            return word, self.k, *rest
        if word == "limits" and rest:
            return word, self.first + int(rest[0]), *rest[1:]
        if word in MovingJointSpec.model_fields and word != "type":
            return (word,)
        return ("parts", self.k, *place)


def parts(spec: CompositeSpec) -> Sequence[Part]:
    """Return the parts of all joints, with the displacements between their anchors."""
    found: list[Part] = []
    x, y, z = 0.0, 0.0, 0.0
    for part, joint in zip(spec.parts, spec.joints, strict=True):
        found += _displacement((x, y, z), part.position)
        found += JOINTS[joint.type].parts(joint)
        x, y, z = part.position
    return [*found, *_displacement((x, y, z), (0.0, 0.0, 0.0))]


def _displacement(begin: Vector, end: Vector) -> list[Part]:
    return [] if begin == end else [offset((end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]))]


def start(spec: CompositeSpec) -> JointStart:
    """Return the initial states of all joints."""
    starts = [JOINTS[joint.type].start(joint) for joint in spec.joints]
    return JointStart(*([number for one in starts for number in getattr(one, word)] for word in STATE))


KIND = JointKind("composite", CompositeSpec, parts, start, rate_patches)
