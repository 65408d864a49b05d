"""The scene format: a validated scene with all defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.actuators import ACTUATORS
from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.document import states
from multibody_cli.document.source import RESOLVED_KEYS
from multibody_cli.forces.elements import FORCE_KEYS, FORCES, SPRING_KEYS, SPRING_KINDS
from multibody_cli.forces.muscle import MuscleSpec
from multibody_cli.forces.spring import StrandSpec
from multibody_cli.forces.tension import TensionSpec
from multibody_cli.joints import JOINTS
from multibody_cli.joints.friction_spec import has_friction
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.registry import Registry
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.events import EventSpec
from multibody_cli.scene.expect import Expectation
from multibody_cli.scene.shapes import Shape
from multibody_cli.scene.simulation import OutputSpec, SimulationSpec
from multibody_cli.spec import (
    Catalogue,
    FrameOn,
    NamedFrame,
    NamedPoints,
    Pose,
    Position,
    Rotation,
    Signal,
    SignalSpec,
    Spec,
    Vector,
    Vector3,
    units,
)
from multibody_cli.spec.combination import CombinationSpec
from multibody_cli.spec.entries import BetweenSpec, ForceSpec
from multibody_cli.spec.names import Name
from multibody_cli.spec.path import PathSpec
from multibody_cli.spec.quantities import format_value
from multibody_cli.spec.rotations import IDENTITY
from multibody_cli.spec.table_function import TableFunctionSpec
from multibody_cli.spec.wrapping_surface import Surface


# --- sensors: frames of bodies whose specific force and angular velocity are channels ---------------------------------
class SensorSpec(Spec):
    """An accelerometer and a gyroscope, fixed in a body."""

    EXAMPLE = "{body: NAME, position: [x, y, z]}"

    body: str = Field(description="Body in which the sensor is fixed, or `world`.")
    point: Annotated[Pose | None, FrameOn("body")] = Field(
        None, description="Name of the point of the body whose frame the sensor has, in place of its own."
    )
    position: Position = Field((0.0, 0.0, 0.0), description="Origin of the sensor in the body frame, m.")
    rotation: Rotation = Field(IDENTITY, description="Orientation of the sensor in the body frame.")

    @model_validator(mode="after")
    def _require_one_frame(self) -> Self:
        if self.point is not None and self.model_fields_set & {"position", "rotation"}:
            raise ValueError("`point` is a frame: leave `position` and `rotation` out, or give them without `point`")
        return self

    @property
    def frame(self) -> Pose:
        """Frame of the sensor on its body."""
        return self.point or Pose.model_construct(position=self.position, rotation=self.rotation)


FORMAT_VERSION = 1

Joint = Annotated[JointSpec, Catalogue("a joint", Registry(JOINTS, lambda name: JOINTS[name].spec))]
Coupling = Annotated[
    ConstraintSpec,
    Catalogue(
        "a coupling",
        {name: kind.spec for name, kind in COUPLINGS.items()},
        elsewhere=dict.fromkeys(CONSTRAINTS, "constraints"),
    ),
]
Constraint = Annotated[
    ConstraintSpec,
    Catalogue(
        "a constraint",
        {name: kind.spec for name, kind in CONSTRAINTS.items()},
        elsewhere=dict.fromkeys(COUPLINGS, "couplings"),
    ),
]
Input = Annotated[SignalSpec, Signal(units.ANY, inputs=False)]
Actuator = Annotated[Spec, Catalogue("an actuator", ACTUATORS)]
SpringEntry = Annotated[BetweenSpec, Catalogue("a spring", SPRING_KINDS, SPRING_KEYS, dict.fromkeys(FORCES, "forces"))]
ForceEntry = Annotated[ForceSpec, Catalogue("a force", FORCES, FORCE_KEYS, dict.fromkeys(SPRING_KINDS, "springs"))]


class WorldSpec(Spec):
    """The fixed environment."""

    shapes: list[Shape] = Field([], description="Fixed shapes; bodies can touch them if the scene has `contacts`.")
    points: dict[Name, NamedFrame] = Field({}, description="Named points that are fixed in the world.")


class SceneSpec(Spec):
    """A scene of bodies, joints, constraints and forces, with the settings of its simulation and its expectations."""

    PREPROCESSED = RESOLVED_KEYS | {states.SECTION}

    mbsim: Literal[1] = Field(description="Version of the format: write `mbsim: 1`.")
    name: str = Field(
        "",
        description="Name of the scene and of its result files. Default: the name of the file without "
        "extension, with `_` in place of characters other than letters, digits, `_` and `-`.",
    )
    description: str = Field("", description="Description of the scene.")
    gravity: Annotated[Vector, Vector3(units.ACCELERATION)] = Field(
        (0.0, 0.0, -9.81), description="Gravitational acceleration in world axes, m/s^2."
    )
    world: WorldSpec = Field(WorldSpec(), description="Shapes of the fixed environment.")
    bodies: dict[Name, BodySpec] = Field(min_length=1, description="Bodies by name.")
    joints: dict[Name, Joint] = Field({}, description="Joints by name.")
    couplings: dict[Name, Coupling] = Field({}, description="Relations between coordinates of joints, by name.")
    combinations: dict[Name, CombinationSpec] = Field(
        {}, description="Combinations of coordinates, with springs, dampers and limits, by name."
    )
    constraints: dict[Name, Constraint] = Field({}, description="Constraints on the motion of bodies, by name.")
    forces: dict[Name, ForceEntry] = Field({}, description="Forces on bodies by name.")
    inputs: dict[Name, Input] = Field(
        {},
        description="Inputs, which expressions read as `inputs.NAME`: a number, an expression of t, or a table.",
    )
    functions: dict[Name, TableFunctionSpec] = Field(
        {},
        description="Functions of one number by tables, which expressions of t and the state call as "
        "`functions.NAME(x)`.",
    )
    surfaces: dict[Name, Surface] = Field({}, description="Surfaces over which paths wrap, by name.")
    paths: dict[Name, PathSpec] = Field({}, description="Paths through points of bodies and over surfaces, by name.")
    springs: dict[Name, SpringEntry] = Field({}, description="Springs and bushings between bodies by name.")
    muscles: dict[Name, MuscleSpec] = Field({}, description="Muscles by name.")
    actuators: dict[Name, Actuator] = Field({}, description="Actuators of joints by name.")
    sensors: dict[Name, SensorSpec] = Field({}, description="Accelerometers with gyroscopes by name.")
    strands: dict[Name, StrandSpec] = Field({}, description="Strings and nets of point masses and springs, by name.")
    contacts: ContactsSpec | None = Field(
        None,
        description="Contacts between bodies: `contacts: {}` for the defaults. Default: no contacts.",
    )
    events: dict[Name, EventSpec] = Field(
        {}, description="Instants at which expressions of channels change their signs, with their effects, by name."
    )
    simulation: SimulationSpec = Field(description="Settings of the simulation.")
    output: OutputSpec = Field(OutputSpec(), description="Output interval, and recorded channels.")
    expect: list[Expectation] = Field([], description="Assertions about the run.")

    @property
    def named_points(self) -> NamedPoints:
        """The named points of each body and of the world."""
        return {WORLD: self.world.points, **{name: body.points for name, body in self.bodies.items()}}

    @property
    def friction_joints(self) -> tuple[str, ...]:
        """Names of the joints with dry friction."""
        return tuple(name for name, joint in self.joints.items() if has_friction(joint))

    @property
    def brakes(self) -> tuple[tuple[str, str], ...]:
        """The section and the name of each combination and of each path with friction."""
        sections: tuple[tuple[str, Mapping[str, CombinationSpec | PathSpec]], ...]
        sections = (("combinations", self.combinations), ("paths", self.paths))
        return tuple((section, name) for section, entries in sections for name, one in entries.items() if one.friction)

    @property
    def friction_constraints(self) -> tuple[str, ...]:
        """Names of the ropes and belts that slide with friction."""
        return tuple(name for name, constraint in self.constraints.items() if constraint.has_friction)

    @property
    def has_dry_friction(self) -> bool:
        """Whether joints, combinations, paths, ropes or belts have dry friction."""
        return bool(self.friction_joints or self.brakes or self.friction_constraints)

    @property
    def depends_on_duration(self) -> bool:
        """Whether the motion depends on the duration: activations follow their excitations up to it."""
        return any(muscle.excitation is not None for muscle in self.muscles.values())

    @property
    def resists_rolling(self) -> bool:
        """Whether a surface resists rolling or spinning in contacts."""
        settings = self.contacts
        if settings is None:
            return False
        shapes = [*self.world.shapes, *(shape for body in self.bodies.values() for shape in body.shapes)]
        surfaces = [shape.friction or settings.friction for shape in shapes if shape.contact]
        surfaces += [pair.friction for pair in settings.listed.values() if pair.friction]
        return any(surface.resists for surface in surfaces)

    @field_validator("name")
    @classmethod
    def _require_a_name_for_files(cls, name: str) -> str:
        """Require a valid file name, so that result files stay in their folder."""
        if not re.fullmatch(r"\w[\w .+-]{0,99}", name):
            raise ValueError(
                "expected a valid file name of letters, digits, spaces and `_ - + .`, beginning with a letter, "
                f"digit or `_`, at most 100 characters; found {format_value(name)}"
            )
        return name


def between_bodies(scene: SceneSpec) -> tuple[tuple[str, Mapping[str, BetweenSpec]], ...]:
    """Return the sections of surfaces and paths, and of force elements between bodies."""
    tensions = {name: force for name, force in scene.forces.items() if isinstance(force, TensionSpec)}
    return (
        ("surfaces", scene.surfaces),
        ("paths", scene.paths),
        ("forces", tensions),
        ("springs", scene.springs),
        ("muscles", scene.muscles),
        ("strands", scene.strands),
    )
