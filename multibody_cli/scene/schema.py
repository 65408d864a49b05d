"""A scene as it is written, validated, with the defaults filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.document.resolve import WORKED_OUT
from multibody_cli.forces.between import BetweenSpec
from multibody_cli.forces.muscle_spec import MuscleSpec
from multibody_cli.forces.spec import FORCE_KEYS, FORCES, ForceSpec
from multibody_cli.forces.spring_spec import SPRING_KEYS, SPRINGS
from multibody_cli.forces.strand_spec import StrandSpec
from multibody_cli.joints import JOINTS
from multibody_cli.joints.spec import JointSpec
from multibody_cli.registry import Registry
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.expect import Expectation
from multibody_cli.scene.shapes import Shape
from multibody_cli.scene.simulation import OutputSpec, SimulationSpec
from multibody_cli.spec import Catalogue, Spec, Vector, Vector3, units
from multibody_cli.spec.quantities import shown

FORMAT_VERSION = 1

NAME = r"^[^\W\d][\w-]*$"
"""A name is a path in the result file and a word of the command line."""

Name = Annotated[str, StringConstraints(pattern=NAME, max_length=100)]
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
SpringEntry = Annotated[BetweenSpec, Catalogue("a spring", SPRINGS, keys=SPRING_KEYS)]
ForceEntry = Annotated[ForceSpec, Catalogue("a force", FORCES, keys=FORCE_KEYS)]


class WorldSpec(Spec):
    """What does not move."""

    shapes: list[Shape] = Field([], description="Scenery, which bodies touch in a scene with `contacts`.")


class Scene(Spec):
    """A scene of bodies, joints, constraints and forces, how it is run, and what is expected of the run."""

    BEFORE = WORKED_OUT

    mbsim: Literal[1] = Field(description="Version of the format: write `mbsim: 1`.")
    name: str = Field(
        "",
        description="Name of the scene; result files are called so. Without it, the name of the file "
        "up to its ending, with `_` for what is neither letter, digit, `_` nor `-`.",
    )
    description: str = Field("", description="What the scene shows.")
    gravity: Annotated[Vector, Vector3(units.ACCELERATION)] = Field(
        (0.0, 0.0, -9.81), description="Acceleration of free fall in world axes, m/s^2."
    )
    world: WorldSpec = Field(WorldSpec(), description="Scenery.")
    bodies: dict[Name, BodySpec] = Field(min_length=1, description="Bodies by name.")
    joints: dict[Name, Joint] = Field({}, description="Joints by name.")
    couplings: dict[Name, Coupling] = Field({}, description="Relations between coordinates of joints, by name.")
    constraints: dict[Name, Constraint] = Field({}, description="Constraints on the motion of bodies, by name.")
    forces: dict[Name, ForceEntry] = Field({}, description="Forces on bodies by name.")
    springs: dict[Name, SpringEntry] = Field({}, description="Springs and bushings between bodies by name.")
    muscles: dict[Name, MuscleSpec] = Field({}, description="Muscles by name.")
    strands: dict[Name, StrandSpec] = Field({}, description="Strings and nets of masses and springs, by name.")
    contacts: ContactsSpec | None = Field(
        None, description="What touches what, and how: `contacts: {}` for the defaults; without it, nothing touches."
    )
    simulation: SimulationSpec = Field(description="How the scene is run.")
    output: OutputSpec = Field(OutputSpec(), description="What is kept of the run.")
    expect: list[Expectation] = Field([], description="Assertions about the run.")

    @field_validator("name")
    @classmethod
    def _require_a_name_for_files(cls, name: str) -> str:
        """Keep result files in their folder, whatever a scene calls itself."""
        if not re.fullmatch(r"\w[\w .+-]{0,99}", name):
            raise ValueError(
                "expected a name that a file may have: letters, digits, blanks and `_ - + .`, beginning with a letter, "
                f"digit or `_`, at most 100; found {shown(name)}"
            )
        return name


def between_bodies(scene: Scene) -> tuple[tuple[str, Mapping[str, BetweenSpec]], ...]:
    """Give the sections of what acts between bodies."""
    return (("springs", scene.springs), ("muscles", scene.muscles), ("strands", scene.strands))
