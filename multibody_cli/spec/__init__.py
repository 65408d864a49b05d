"""What may stand in a scene file: quantities, vectors, rotations, signals, and the base of every mapping.

`Spec` is the base of every mapping of the scene format.  The other names are types of its fields; each reads
what a user wrote and gives plain SI numbers.
"""

from multibody_cli.spec.catalogue import Catalogue
from multibody_cli.spec.geometry import (
    BodyPoint,
    Direction,
    Pose,
    Position,
    Rotation,
    Twist,
    Vector,
    Vector3,
)
from multibody_cli.spec.mapping import Spec
from multibody_cli.spec.quantities import (
    Angle,
    AngularDamping,
    Damping,
    Density,
    Energy,
    Fraction,
    Length,
    Mass,
    NonNegative,
    Number,
    PositiveLength,
    PositiveTime,
    Quantity,
    Time,
)
from multibody_cli.spec.rotations import Quaternion
from multibody_cli.spec.signal import Signal, SignalSpec
from multibody_cli.spec.torus import TorusRadii

__all__ = [
    "Angle",
    "AngularDamping",
    "BodyPoint",
    "Catalogue",
    "Damping",
    "Density",
    "Direction",
    "Energy",
    "Fraction",
    "Length",
    "Mass",
    "NonNegative",
    "Number",
    "Pose",
    "Position",
    "PositiveLength",
    "PositiveTime",
    "Quantity",
    "Quaternion",
    "Rotation",
    "Signal",
    "SignalSpec",
    "Spec",
    "Time",
    "TorusRadii",
    "Twist",
    "Vector",
    "Vector3",
]
