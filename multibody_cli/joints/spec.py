"""Fields common to all joints of a scene file: bodies, frames, and forces on the coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from multibody_cli.joints.coordinate_fields import (
    FIELDS,
    Bounds,
    Coordinate,
    Limits,
    MotionSpec,
    SoftLimits,
    limits_schema,
    motion_schema,
    one_or_each,
)
from multibody_cli.joints.friction_spec import RateBrakes, has_friction
from multibody_cli.spec import Fraction, FrameOn, Pose, SignalSpec, Spec
from multibody_cli.spec.quantities import NUMBER_SCHEMA, located_error, moved_error
from multibody_cli.spec.signal import signal_schema

Coordinates = tuple[Coordinate, ...]

WORLD = "world"
"""The name of the body that does not move."""


class JointSpec(Spec):
    """Two bodies and the joint frame, seen from both."""

    UNSUPPORTED: ClassVar[Mapping[str, str]] = {"friction": "joints of this type have no friction surface"}

    type: str
    parent: str = Field(WORLD, description="Parent body.")
    child: str = Field(description="Child body.")
    origin: Annotated[Pose, FrameOn("parent")] = Field(
        Pose(), description="Joint frame in the parent's frame, or its name."
    )
    child_origin: Annotated[Pose, FrameOn("child")] = Field(
        Pose(), description="The same frame in the child's frame, at zero coordinates, or its name."
    )

    active: bool = Field(
        True,
        description="Whether it acts; an event may change it. A joint with this key closes a loop: it carries no body.",
    )

    COORDINATES: ClassVar[Coordinates] = ()

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return the kinds of the coordinates, from the fields read so far; None if these do not suffice."""
        return cls.COORDINATES

    @property
    def releasable(self) -> bool:
        """Whether an event may change whether it acts."""
        return "active" in self.model_fields_set

    @property
    def coordinates(self) -> Coordinates:
        """Kinds of the coordinates in order."""
        return self.coordinates_of(self.__dict__) or ()

    @property
    def plain(self) -> tuple[bool, ...]:
        """Which coordinates have dq/dt = v; those of a rotation stored as a whole do not."""
        return (True,) * len(self.coordinates)

    @property
    def driven(self) -> tuple[bool, ...]:
        """Which coordinates have a prescribed motion."""
        motion: MotionSpec | None = getattr(self, "motion", None)
        return tuple(signal is not None for signal in motion.signals) if motion else (False,) * len(self.coordinates)

    @property
    def own_domains(self) -> tuple[tuple[float, float], ...]:
        """Least and greatest value of each coordinate for which the joint is defined; empty if all are unbounded."""
        return ()

    @property
    def domains(self) -> tuple[tuple[float, float], ...]:
        """Interval of each coordinate outside of which the run stops; empty if all are unbounded."""
        return ()

    @property
    def joints(self) -> Sequence[JointSpec]:
        """The joints of which it consists, one after the other: of a composite joint its parts, else itself."""
        return (self,)

    @property
    def names_of_coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates in tables of motions; empty if they have none of their own."""
        return ()

    @property
    def surfaces(self) -> Sequence[tuple[Literal["F", "M"], Any]]:
        """Surfaces that touch in the joint (`SurfaceForm`), each with its frame: F of the parent or M of the child."""
        return ()


class MovingJointSpec(JointSpec):
    """A joint with degrees of freedom: one entry for each coordinate, in order.

    A joint with one degree of freedom takes a single value instead of a list; `stiffness`, `damping` and
    `armature` take a single value for all coordinates.
    """

    stiffness: tuple[float, ...] | None = Field(
        None, description="Of the joint spring, N*m/rad or N/m.", json_schema_extra=one_or_each(NUMBER_SCHEMA)
    )
    damping: tuple[float, ...] | None = Field(
        None, description="Of the joint damper, N*m*s/rad or N*s/m.", json_schema_extra=one_or_each(NUMBER_SCHEMA)
    )
    armature: tuple[float, ...] | None = Field(
        None,
        description="Inertia of the drive, as seen from the coordinate, kg*m^2 or kg.",
        json_schema_extra=one_or_each(NUMBER_SCHEMA),
    )
    force: tuple[SignalSpec, ...] | None = Field(
        None,
        description="Actuator, N*m or N: a number, an expression of t and the state, or a table {times, values}.",
        json_schema_extra=one_or_each(signal_schema()),
    )
    limits: Limits | None = Field(
        None,
        description="Least and greatest value, rad or m, null for none; or {range, stiffness, damping} of soft limits.",
        json_schema_extra=limits_schema(),
    )
    restitution: Fraction = Field(0.0, description="Of impacts on the limits: ratio of the rates after and before.")
    motion: MotionSpec | None = Field(
        None,
        description="Prescribed position, velocity or acceleration; null leaves a coordinate free.",
        json_schema_extra=motion_schema(),
    )

    coordinate_names: tuple[str, ...] = Field(
        (),
        description="Names of the coordinates in tables of motions.",
        json_schema_extra=one_or_each({"type": "string"}),
    )

    @field_validator(
        "stiffness", "damping", "armature", "force", "limits", "motion", mode="plain", json_schema_input_type=Any
    )
    @classmethod
    def _read_fields(cls, value: Any, info: ValidationInfo) -> Any:
        return cls._read(value, info)

    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        coordinates = cls.coordinates_of(info.data)
        # if the parts of a composite joint are invalid, its other fields cannot be read
        return None if coordinates is None else FIELDS[str(info.field_name)].read(value, coordinates)

    @field_validator("coordinate_names", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_names(cls, value: Any, info: ValidationInfo) -> tuple[str, ...]:
        coordinates = cls.coordinates_of(info.data)
        names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else ()
        if coordinates is None:
            return ()
        if len(set(names)) != len(coordinates) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"expected {len(coordinates)} different names, one for each coordinate")
        return names

    @property
    def names_of_coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates in tables of motions; empty if they have none of their own."""
        return self.coordinate_names

    @property
    def bounds(self) -> Bounds | None:
        """The effective rigid limits: as written, or of the joint itself."""
        rigid = tuple(None if isinstance(entry, SoftLimits) else entry for entry in self.limits or ())
        return rigid if any(rigid) else None

    @property
    def soft_limits(self) -> tuple[SoftLimits | None, ...]:
        """The soft limits of each coordinate."""
        return tuple(entry if isinstance(entry, SoftLimits) else None for entry in self.limits or ())

    @model_validator(mode="after")
    def _refuse_entries_without_effect(self) -> Self:
        if "rest" in self.model_fields_set and self.stiffness is None:
            raise ValueError("`rest` has no effect without `stiffness`")
        if self.restitution > 0.0 and not any(self.bounds or ()):
            raise ValueError("`restitution` has no effect without `limits` that are rigid")
        if self.motion is not None and has_friction(self):
            raise ValueError("`friction` is not supported with a prescribed `motion`")
        for driven, force in zip(self.driven, self.force or (), strict=False):
            if driven and force != SignalSpec(constant=0.0):
                raise ValueError(
                    "`force` has no effect on a coordinate whose `motion` is prescribed: "
                    "leave it out, or write 0 in its place"
                )
        return self

    @model_validator(mode="after")
    def _refuse_limits_that_cannot_hold(self) -> Self:
        for k, pair in enumerate(self.limits or ()):
            if pair is None:
                continue
            if not self.plain[k]:
                raise located_error(
                    "expected null: the coordinates of this rotation have no limits of their own",
                    "limits",
                    k,
                )
            if self.driven[k]:
                raise located_error("has no effect on a coordinate whose `motion` is prescribed", "limits")
        return self


class BrakedJointSpec(MovingJointSpec):
    """A joint of any motion, whose friction is that of brakes on the rates of its coordinates."""

    friction: RateBrakes | None = Field(None, description="Dry friction of a brake on each coordinate.")

    @field_validator("friction", mode="before")
    @classmethod
    def _read_brakes(cls, value: Any, info: ValidationInfo) -> Any:
        coordinates = cls.coordinates_of(info.data)
        if coordinates is None:
            return None
        if not isinstance(value, Mapping) or "brake" not in value:
            return value
        try:
            return {**value, "brake": FIELDS["brake"].read(value["brake"], coordinates)}
        except ValueError as error:
            raise moved_error(error, "brake") from None


class CoordinateJointSpec(MovingJointSpec):
    """A joint whose state is one number for each coordinate, in rad or m."""

    q: Annotated[tuple[float, ...], Field(validate_default=True)] = Field(
        (), description="Initial coordinates, rad or m; 0 by default.", json_schema_extra=one_or_each(NUMBER_SCHEMA)
    )
    v: Annotated[tuple[float, ...], Field(validate_default=True)] = Field(
        (), description="Initial rates, rad/s or m/s; 0 by default.", json_schema_extra=one_or_each(NUMBER_SCHEMA)
    )
    rest: Annotated[tuple[float, ...], Field(validate_default=True)] = Field(
        (),
        description="Coordinates at which the spring is relaxed, rad or m; 0 by default.",
        json_schema_extra=one_or_each(NUMBER_SCHEMA),
    )

    @field_validator("q", "v", "rest", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_state(cls, value: Any, info: ValidationInfo) -> Any:
        return cls._read(value, info)
