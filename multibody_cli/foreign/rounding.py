"""Numbers, directions and rotations as a person writes them: equal to those of a source but for round-off.

A direct run of a model and the scene that is written for it have the same numbers, since both come from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from multibody_cli.spec.rotations import ORDER, Quaternion, read_rotation, rotation_matrix
from multibody_cli.yaml_values import flow

ULPS = 4
"""Numbers that differ by fewer units in the last place are equal."""

ROUND_OFF = ULPS * math.ulp(0.5)
"""Largest difference of components of unit vectors and unit quaternions that are equal."""

LONGEST = 8
"""Number of characters of the longest round number, as in `-0.70711`."""


def number(value: float) -> float | int:
    """Return a number of at most 12 digits that is equal, or the number itself; whole ones without a point."""
    short = float(f"{value:.12g}")
    if abs(short - value) <= ULPS * math.ulp(value):
        value = short
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def angle(value: float) -> float | int | str:
    """Return an angle, rad, as a number, or in degrees where these are shorter: `90 deg`."""
    radians, degrees = number(value), number(math.degrees(value))
    text = f"{degrees!r} deg"
    is_equal = abs(math.radians(degrees) - value) <= ULPS * math.ulp(value)
    return text if is_equal and len(text) < len(repr(radians)) else radians


def vector(values: Sequence[float]) -> list[float | int]:
    """Return the components of a vector; those that are round-off of the largest one are 0."""
    largest = max(map(abs, values))
    least = ULPS * math.ulp(largest) if largest < math.inf else 0.0
    return [0 if abs(value) <= least else number(value) for value in values]


def direction(axis: Sequence[float], source: Sequence[float] = ()) -> list[float | int]:
    """Return a vector along an axis: that of the source, if it has this direction, or one with round components."""
    own = vector(axis)
    sizes = [abs(value) for value in own if value]
    if not sizes or not max(sizes) < math.inf:
        return own
    scaled = [[value / size for value in axis] for size in (max(sizes), min(sizes))]
    candidates = [vector(values) for values in (source, own, *scaled) if len(values) == len(own)]
    same = [found for found in candidates if _is_along(axis, found)]
    return next((found for found in same if all(map(_is_round, found))), same[0] if same else own)


def rotation(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rotation in a form of the scene format: Euler angles as the source has them, a quaternion by angles.

    A quaternion becomes a turn about an axis, or Euler angles, if these are round numbers.
    """
    if "euler" in written:
        return _euler(written["euler"], written["order"])
    unit, shortest = read_rotation(written), {"quaternion": vector(written["quaternion"])}
    for candidate in _by_angles(unit):
        if len(flow(candidate)) < len(flow(shortest)) and _is_equal(read_rotation(candidate), unit):
            shortest = candidate
    return shortest


def with_round_coordinates(type_: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a joint of a type, or of a part of one, with a round axis, and round angles in degrees."""
    found = dict(fields)
    if "axis" in found:
        found["axis"] = direction(found["axis"])
    angular = [type_ == "revolute"]
    if type_ == "composite":
        found["parts"] = [with_round_coordinates(part["type"], part) for part in fields["parts"]]
        angular = [part["type"] == "revolute" for part in fields["parts"]]
    for key in {"limits", "q", "rest"} & found.keys():
        values = found[key] if type_ == "composite" else [found[key]]
        if len(values) == len(angular):
            values = [_angles(value) if flag else value for value, flag in zip(values, angular, strict=True)]
            found[key] = values if type_ == "composite" else values[0]
    return found


def _angles(value: Any) -> Any:
    """Return angles, one, a list, or bounds, in degrees where they are round."""
    if isinstance(value, list | tuple):
        return [_angles(entry) for entry in value]
    return angle(value) if isinstance(value, float) else value


def _is_round(value: Any) -> bool:
    return len(str(value).removesuffix(" deg")) <= LONGEST


def _is_along(axis: Sequence[float], found: Sequence[float]) -> bool:
    one, other = math.hypot(*axis), math.hypot(*found)
    return all(abs(a / one - b / other) <= ROUND_OFF for a, b in zip(axis, found, strict=True))


def _is_equal(one: Quaternion, other: Quaternion) -> bool:
    return any(all(abs(a - sign * b) <= ROUND_OFF for a, b in zip(one, other, strict=True)) for sign in (1, -1))


def _euler(angles: Sequence[float], order: str) -> dict[str, Any]:
    found = [angle(value) for value in angles]
    if sum(value != 0 for value in found) > 1:
        return {"euler": found, "order": order}
    turns = {letter: value for letter, value in zip(order.lower(), found, strict=True) if value != 0}
    return {"euler": [turns.get(letter, 0) for letter in "xyz"]}


def _by_angles(quaternion: Quaternion) -> Iterator[dict[str, Any]]:
    """Yield forms of a rotation by angles: about an axis, and round Euler angles about rotated axes."""
    w, *axis = quaternion
    size = math.hypot(*axis)
    if w < 0.0:
        w, axis = -w, [-part for part in axis]
    if size == 0.0:
        return
    turn = 2.0 * math.atan2(size, w)
    along = direction([part / size for part in axis])
    for value in (_rounded(turn), angle(turn)):
        if sum(map(bool, along)) == 1:
            yield {"euler": [_times(value, part) for part in along]}
        elif all(map(_is_round, along)):
            yield {"axis": along, "angle": value}
    R = rotation_matrix(quaternion).tolist()
    for i, j, k in permutations(range(3)):
        parity = 1.0 if (j - i) % 3 == 1 else -1.0
        sine = parity * R[i][k]
        if abs(sine) < 1.0:
            angles: list[Any] = []
            for up, right in (
                (sine, math.sqrt(1.0 - sine * sine)),
                (-parity * R[j][k], R[k][k]),
                (-parity * R[i][j], R[i][i]),
            ):
                angles.append(_rounded(math.atan2(up, right)))
                if not _is_round(angles[-1]):
                    break
            else:
                order = "".join("XYZ"[axis] for axis in (i, j, k))
                yield {"euler": [angles[1], angles[0], angles[2]]} | ({"order": order} if order != ORDER else {})


def _rounded(value: float) -> Any:
    """Return an angle with 10 decimals, in degrees or radians, whichever is shorter."""
    degrees, radians = number(round(math.degrees(value), 10)), number(round(value, 10))
    return f"{degrees!r} deg" if len(repr(degrees)) < len(repr(radians)) else radians


def _times(value: Any, sign: float) -> Any:
    if sign == 0 or value == 0:
        return 0
    if sign > 0:
        return value
    return f"-{value}" if isinstance(value, str) else -value
