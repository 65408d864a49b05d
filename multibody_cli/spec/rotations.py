"""Forms of a rotation in a scene; each is converted to a unit quaternion (w, x, y, z)."""

from __future__ import annotations

import math
import re
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multibody_cli.errors import nearest
from multibody_cli.immutable import Immutable
from multibody_cli.spec import units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, Quantity, format_value, list_schema, read_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Quaternion = tuple[float, float, float, float]
IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)

ORDER = "XYZ"
"""Default order of Euler angles."""

_NORM_TOLERANCE = 1e-2
_ORTHOGONAL_TOLERANCE = 1e-6


class RotationForm(Immutable):
    """A form of a rotation: its keys, reader, JSON Schema, example and meaning."""

    keys: frozenset[str]
    read: Callable[[Mapping[str, Any]], Quaternion]
    schema: Mapping[str, Any]
    example: str
    meaning: str


def read_rotation(value: Any) -> Quaternion:
    """Read a rotation that is given in exactly one of the forms."""
    if not isinstance(value, dict):
        raise ValueError(f"expected a rotation, one of {_CHOICE}, found {format_value(value)}")
    given = [name for name in FORMS if name in value]
    known = frozenset().union(*(form.keys for form in FORMS.values()))
    for key in value:
        if key not in known:
            raise ValueError(f"unknown key `{key}` of a rotation; {nearest(key, known)}")
    if len(given) != 1:
        found = " and ".join(f"`{key}`" for key in value) or "nothing"
        raise ValueError(f"expected exactly one of {_CHOICE}, found {found}")
    form = FORMS[given[0]]
    for key in value:
        if key not in form.keys:
            raise ValueError(f"`{key}` cannot be combined with `{given[0]}`")
    return form.read(value)


def _numbers(value: Any, count: int, kind: units.QuantityKind, name: str) -> tuple[float, ...]:
    return Quantity(kind).read_list(value, count, f"`{name}` requires a list of {count} numbers")


def _about(axis: Sequence[float], angle: float) -> Quaternion:
    x, y, z = axis
    norm = math.hypot(x, y, z)
    scale = math.sin(angle / 2) / norm
    return math.cos(angle / 2), scale * x, scale * y, scale * z


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product a b: the rotation b, then a about outer axes."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def relative_quaternion(one: Quaternion, other: Quaternion) -> Quaternion:
    """Return the rotation from one frame to another, expressed in the first."""
    w, x, y, z = one
    return quaternion_product((w, -x, -y, -z), other)


def quaternion_of_vector(vector: Sequence[float]) -> Quaternion:
    """Return the unit quaternion of a rotation vector."""
    angle = math.hypot(*vector)
    return _about(vector, angle) if angle > 0 else IDENTITY


def _from_quaternion(value: Mapping[str, Any]) -> Quaternion:
    w, x, y, z = _numbers(value["quaternion"], 4, units.NUMBER, "quaternion")
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if abs(norm - 1) > _NORM_TOLERANCE:
        raise ValueError(f"expected a unit quaternion [w, x, y, z], found one of norm {norm:.6g}")
    return w / norm, x / norm, y / norm, z / norm


def _from_rotvec(value: Mapping[str, Any]) -> Quaternion:
    return quaternion_of_vector(_numbers(value["rotvec"], 3, units.ANGLE, "rotvec"))


def _from_axis(value: Mapping[str, Any]) -> Quaternion:
    axis = _numbers(value["axis"], 3, units.NUMBER, "axis")
    if math.hypot(*axis) < 1e-12:
        raise ValueError("expected a nonzero `axis`")
    if "angle" not in value:
        raise ValueError("`axis` requires an `angle`")
    return _about(axis, read_quantity(value["angle"], units.ANGLE))


def _from_euler(value: Mapping[str, Any]) -> Quaternion:
    angles = _numbers(value["euler"], 3, units.ANGLE, "euler")
    order = value.get("order", ORDER)
    if not isinstance(order, str) or not re.fullmatch(r"[XYZ]{3}|[xyz]{3}", order) or _repeats(order):
        raise ValueError(
            "expected an `order` of three axes such as XYZ (intrinsic) or xyz (extrinsic), consecutive axes "
            f"different, found {format_value(order)}"
        )
    turns = [_about(_AXES[letter.lower()], angle) for letter, angle in zip(order, angles, strict=True)]
    return reduce(quaternion_product, turns if order.isupper() else reversed(turns))


def _repeats(order: str) -> bool:
    return order[0] == order[1] or order[1] == order[2]


def _from_matrix(value: Mapping[str, Any]) -> Quaternion:
    rows = value["matrix"]
    if not isinstance(rows, list | tuple) or len(rows) != 3:
        raise ValueError(f"`matrix` requires three rows of three numbers, found {format_value(rows)}")
    m = [_numbers(row, 3, units.NUMBER, "matrix") for row in rows]
    products = [sum(m[k][i] * m[k][j] for k in range(3)) - (i == j) for i in range(3) for j in range(3)]
    (a, b, c), (d, e, f), (g, h, i) = m
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if max(map(abs, products)) > _ORTHOGONAL_TOLERANCE or determinant < 0:
        raise ValueError(
            "expected a rotation `matrix`, orthonormal to 1e-6 with determinant 1; found determinant "
            f"{determinant:.6g} and an orthonormality error of {max(map(abs, products)):.2g}"
        )
    return quaternion_of_matrix(m)


def quaternion_of_matrix(m: Sequence[Sequence[float]]) -> Quaternion:
    """Return the unit quaternion of a rotation matrix, from the largest diagonal combination (Shepperd)."""
    squares = [
        1 + m[0][0] + m[1][1] + m[2][2],
        1 + m[0][0] - m[1][1] - m[2][2],
        1 - m[0][0] + m[1][1] - m[2][2],
        1 - m[0][0] - m[1][1] + m[2][2],
    ]
    turn = (m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1])
    pair = (m[2][1] + m[1][2], m[0][2] + m[2][0], m[1][0] + m[0][1])
    candidates = [
        (squares[0], *turn),
        (turn[0], squares[1], pair[2], pair[1]),
        (turn[1], pair[2], squares[2], pair[0]),
        (turn[2], pair[1], pair[0], squares[3]),
    ]
    w, x, y, z = candidates[squares.index(max(squares))]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    return w / norm, x / norm, y / norm, z / norm


_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


FORMS: dict[str, RotationForm] = {
    "quaternion": RotationForm(
        frozenset({"quaternion"}),
        _from_quaternion,
        {"quaternion": list_schema(NUMBER_SCHEMA, 4)},
        "{quaternion: [1, 0, 0, 0]}",
        "A unit quaternion [w, x, y, z].",
    ),
    "rotvec": RotationForm(
        frozenset({"rotvec"}),
        _from_rotvec,
        {"rotvec": list_schema(NUMBER_SCHEMA, 3)},
        "{rotvec: [0, 0, 90 deg]}",
        "A rotation vector: axis times angle.",
    ),
    "axis": RotationForm(
        frozenset({"axis", "angle"}),
        _from_axis,
        {"axis": list_schema(NUMBER_SCHEMA, 3), "angle": NUMBER_SCHEMA},
        "{axis: [0, 0, 1], angle: 90 deg}",
        "An axis of any length and the angle about it, by the right-hand rule.",
    ),
    "euler": RotationForm(
        frozenset({"euler", "order"}),
        _from_euler,
        {"euler": list_schema(NUMBER_SCHEMA, 3), "order": {"type": "string", "default": ORDER}},
        "{euler: [0, 30 deg, 90 deg], order: ZYX}",
        "Euler angles in the given `order`: capitals, as in `XYZ`, denote intrinsic rotations (about rotated axes), "
        f"lower case, as in `xyz`, extrinsic rotations (about the fixed axes). Default order: `{ORDER}`.",
    ),
    "matrix": RotationForm(
        frozenset({"matrix"}),
        _from_matrix,
        {"matrix": list_schema(list_schema(NUMBER_SCHEMA, 3), 3)},
        "{matrix: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}",
        "The rows of the rotation matrix R, as in x_outside = R x_inside.",
    ),
}
"""All forms of a rotation, by the key that identifies them."""

_CHOICE = "`quaternion`, `rotvec`, `axis` with `angle`, `euler` with `order`, `matrix`"


def frame_about(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a rotation matrix (3, 3) whose third column is the unit vector z."""
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def cross_matrix(r: Iterable[float]) -> NDArray[np.float64]:
    """Return the matrix (3, 3) of the cross product with a vector."""
    x, y, z = r
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation_matrix(rotation: Iterable[float]) -> NDArray[np.float64]:
    """Return the matrix (3, 3) of the unit quaternion (w, x, y, z), exact for quarter turns about an axis."""
    w, x, y, z = rotation
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    return np.where(np.abs(R) < 1e-15, 0.0, R)


def rotation_matrices(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrices (..., 3, 3) of unit quaternions (..., 4)."""
    return np.moveaxis(rotation_matrix(np.moveaxis(rotations, -1, 0)), (0, 1), (-2, -1))
