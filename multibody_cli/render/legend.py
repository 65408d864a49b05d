"""Legend of a free-body diagram: an arrow of a round force and one of a round moment, in pictures of any format.

Lengths are those of arrows at the distance of the middle of the picture.  The letters are polylines, so that pictures
need no font.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.render.camera import Camera
from multibody_cli.render.drawing import FORCE_COLOR, MOMENT_COLOR, arrow_scales, shown_arrows
from multibody_cli.render.image import ImageFormat, Pixels
from multibody_cli.render.picture import Picture
from multibody_cli.spec import Vector

WIDEST = 0.2
"""Largest length of an arrow, relative to the width of the picture."""

HEIGHT = 0.03
"""Height of a letter, relative to that of the picture."""

LABEL = 0.02
"""The same of the label of an arrow."""

THICKNESS = 0.14
"""Thickness of a stroke, relative to the height of a letter."""

_LETTERS = {
    "0": "10 30 41 45 36 16 05 01 10",
    "1": "11 20 26",
    "2": "00 40 43 03 06 46",
    "3": "00 40 46 06|13 43",
    "4": "00 03 43|40 46",
    "5": "40 00 03 43 46 06",
    "6": "40 00 06 46 43 03",
    "7": "00 40 16",
    "8": "00 40 46 06 00|03 43",
    "9": "46 40 00 03 43",
    ".": "25 26",
    "-": "03 43",
    "+": "03 43|21 25",
    "e": "03 43 42 02 06 46",
    "N": "06 00 46 40",
    "m": "06 02 42 46|22 26",
    " ": "",
    "_": "06 46",
    "/": "06 40",
    "A": "06 02 20 42 46|04 44",
    "B": "00 30 41 42 33 03|33 44 45 36 06 00",
    "C": "41 30 10 01 05 16 36 45",
    "D": "00 20 42 44 26 06 00",
    "E": "40 00 06 46|03 33",
    "F": "40 00 06|03 33",
    "G": "41 30 10 01 05 16 36 45 43 23",
    "H": "00 06|40 46|03 43",
    "I": "10 30|20 26|16 36",
    "J": "40 45 36 16 05",
    "K": "00 06|40 03 46",
    "L": "00 06 46",
    "M": "06 00 23 40 46",
    "O": "10 30 41 45 36 16 05 01 10",
    "P": "06 00 30 41 42 33 03",
    "Q": "10 30 41 45 36 16 05 01 10|24 46",
    "R": "06 00 30 41 42 33 03|23 46",
    "S": "41 30 10 01 02 13 33 44 45 36 16 05",
    "T": "00 40|20 26",
    "U": "00 05 16 36 45 40",
    "V": "00 26 40",
    "W": "00 16 23 36 40",
    "X": "00 46|06 40",
    "Y": "00 23 40|23 26",
    "Z": "00 40 06 46",
}
"""Polylines of a letter: columns 0 to 4 and rows 0 to 6 of their points; bars separate polylines."""

OTHER = _LETTERS["-"]
"""Polylines of a letter of a name that has none."""


class Stroke(NamedTuple):
    """A polyline (n, 2) in pixels, x to the right and y down, with its thickness and color."""

    points: Floats
    thickness: float
    color: Vector


def round_number(most: float) -> float:
    """Return the largest of the numbers 1, 2 and 5 times a power of ten that is at most a positive number."""
    power = 10.0 ** math.floor(math.log10(most))
    found = max(factor * power for factor in (0.5, 1.0, 2.0, 5.0, 10.0) if factor * power <= most * (1.0 + 1e-12))
    return float(f"{found:.1g}")


def legend_of(picture: Picture, camera: Camera, shape: ImageFormat, row: int = 0) -> list[Stroke]:
    """Return the strokes of the legend and the labels of a free-body diagram at an instant; none of another picture."""
    if picture.motion.applied is None:
        return []
    letter, strokes = HEIGHT * shape.height, list[Stroke]()
    per_meter = float(camera.per_meter(float(np.linalg.norm(camera.position - camera.target)), shape.height))
    y = shape.height - 1.5 * letter
    scales = arrow_scales(picture.motion.applied, picture.drawing.reach)
    for scale, unit, color in reversed([*zip(scales, ("N", "N m"), (FORCE_COLOR, MOMENT_COLOR), strict=True)]):
        if scale > 0.0:
            value = round_number(WIDEST * shape.width / (per_meter * scale))
            end = letter + value * per_meter * scale
            strokes += _arrow(letter, end, y, letter, color)
            strokes += _text(f"{value:g} {unit}", end + letter, y, letter, color)
            y -= 2.0 * letter
    return [*strokes, *_labels(picture, camera, shape, row)]


def _labels(picture: Picture, camera: Camera, shape: ImageFormat, row: int) -> Iterator[Stroke]:
    """Yield the element and the size of each arrow at its end, in places of their own."""
    applied, letter, taken = picture.motion.applied, LABEL * shape.height, list[tuple[float, float, float]]()
    assert applied is not None
    columns = (applied.force, "N", FORCE_COLOR), (applied.moment, "N m", MOMENT_COLOR)
    for arrows, (values, unit, color) in zip(shown_arrows(picture.drawing, applied, row), columns, strict=True):
        for k, end in arrows:
            begin, place = (camera.axes @ (point - camera.position) for point in (applied.point[row, k], end))
            scale = camera.per_meter(-place[2], shape.height)
            name = applied.names[k].rpartition("/")[2]
            name = name if len(applied.bodies) > 1 else name.partition(" on ")[0]
            size = f" {np.linalg.norm(values[row, k]):.4g} {unit}"
            width = 5.5 * (len(name) + len(size)) * letter / 6.0
            x = 0.5 * shape.width + scale * place[0] + letter
            x = float(x if x + width < shape.width else max(x - 2.0 * letter - width, 0.0))
            y = 0.5 * shape.height - scale * place[1] + (letter if place[1] < begin[1] else -letter)
            while any(abs(y - v) < 1.4 * letter and x < u + w and u < x + width for u, v, w in taken):
                y += 0.5 * letter
            taken.append((x, float(y), width))
            yield from _text(name.upper() + size, x, float(y), letter, color)


def _arrow(begin: float, end: float, y: float, letter: float, color: Vector) -> Iterator[Stroke]:
    """Yield a horizontal arrow."""
    tip, barb = (end, y), 0.45 * letter
    yield Stroke(np.array([(begin, y), tip]), THICKNESS * letter, color)
    yield Stroke(np.array([(end - barb, y - 0.6 * barb), tip, (end - barb, y + 0.6 * barb)]), THICKNESS * letter, color)


def _text(text: str, x: float, y: float, letter: float, color: Vector) -> Iterator[Stroke]:
    """Yield the letters of a text whose middle is at a height y."""
    size = letter / 6.0
    for k, character in enumerate(text):
        for line in filter(None, _LETTERS.get(character, OTHER).split("|")):
            points = np.array([(5.5 * k + int(one[0]), int(one[1]) - 3.0) for one in line.split()])
            yield Stroke(size * points + np.array([x, y]), THICKNESS * letter, color)


def painted(pixels: Pixels, strokes: Sequence[Stroke]) -> Pixels:
    """Return an image with strokes, whose edges are smooth."""
    image = pixels.astype(float)
    for stroke in strokes:
        reach = 0.5 * stroke.thickness + 1.0
        low, high = np.floor(stroke.points.min(axis=0) - reach), np.ceil(stroke.points.max(axis=0) + reach) + 1.0
        x0, y0, x1, y1 = np.clip([*low, *high], 0, [*image.shape[1::-1]] * 2).astype(int)
        places = np.stack(np.meshgrid(np.arange(x0, x1), np.arange(y0, y1)), axis=-1) + 0.5
        distance = np.full(places.shape[:2], np.inf)
        for begin, end in zip(stroke.points, stroke.points[1:], strict=False):
            along = end - begin
            part = np.clip((places - begin) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
            distance = np.minimum(distance, np.linalg.norm(places - begin - part[..., None] * along, axis=-1))
        cover = np.clip(0.5 * stroke.thickness + 0.5 - distance, 0.0, 1.0)[..., None]
        image[y0:y1, x0:x1] += cover * (255.0 * np.array(stroke.color) - image[y0:y1, x0:x1])
    return np.round(image).astype(np.uint8)


def as_svg(strokes: Sequence[Stroke]) -> str:
    """Return strokes as elements of SVG."""
    return "\n".join(
        f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in one.points)}" fill="none" '
        f'stroke="#{"".join(f"{round(255.0 * part):02x}" for part in one.color)}" '
        f'stroke-width="{one.thickness:.2f}" stroke-linecap="round"/>'
        for one in strokes
    )
