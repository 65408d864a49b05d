"""Field types of the scene format: quantities, vectors, rotations, signals, and the base class of mappings.

`Spec` is the base class of all mappings. The other names are field types, which convert the text of a scene to numbers
in SI units.
"""

from multibody_cli.spec.catalogue import Catalogue
from multibody_cli.spec.colors import Color
from multibody_cli.spec.friction import ContactFriction, Friction, FrictionCoefficients
from multibody_cli.spec.geometry import (
    Direction,
    Pose,
    Position,
    Rotation,
    TorusRadii,
    Twist,
    Vector,
    Vector3,
)
from multibody_cli.spec.points import BodyPoint, BodyPosition, FrameOn, NamedFrame, NamedPoints, PointOf
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
    Spec,
    Time,
)
from multibody_cli.spec.rotations import Quaternion
from multibody_cli.spec.signal import Signal, SignalSpec
