"""Images: silhouettes, order in depth, light and shadow by closed forms; files that others decode to them."""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from renders import rendered

from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.render.camera import Camera, half_slope
from multibody_cli.render.drawing import Placed
from multibody_cli.render.frames import gif, images, mp4, png, strip, svg
from multibody_cli.render.image import TOP, ImageFormat, draw_image, sun_of
from multibody_cli.render.picture import Picture
from multibody_cli.render.svg import draw_svg

UP = np.array([0.0, 0.0, 1.0])
FORMAT = ImageFormat(160, 120, 3)
# looks along +y from 10 m
CAMERA = Camera(np.array([0.0, -10.0, 0.0]), np.zeros(3), np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]))
RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def placed(mesh: Mesh, color: tuple[float, float, float], at=(0.0, 0.0, 0.0), layer="bodies") -> Placed:
    return Placed(mesh, np.array(at, dtype=float), np.eye(3), color, layer)


def drawn(*several: Placed, clear: Any = frozenset()) -> np.ndarray:
    return draw_image(several, CAMERA, UP, FORMAT, (np.zeros(3), 4.0), set(clear)).astype(float)


def reddish(pixels: np.ndarray) -> np.ndarray:
    return pixels[..., 0] > pixels[..., 2] + 15.0


def test_a_sphere_has_the_silhouette_of_the_tangent_cone():
    R, d = 1.0, 10.0
    covered = reddish(drawn(placed(solids.sphere(R, 160), RED))).sum()
    radius = R / math.sqrt(d * d - R * R) * 0.5 * FORMAT.height / half_slope()
    assert covered == pytest.approx(math.pi * radius**2, rel=0.02)


def test_what_is_nearer_hides_what_is_farther_in_either_order():
    near, far = placed(solids.sphere(0.5), RED, (0.0, -2.0, 0.0)), placed(solids.sphere(0.5), BLUE, (0.0, 2.0, 0.0))
    for order in ((near, far), (far, near)):
        middle = drawn(*order)[60, 80]
        assert middle[0] > middle[2]


def test_a_penetrating_sphere_shows_on_the_side_where_it_is_nearer():
    pixels = drawn(placed(solids.sphere(1.0), RED, (-0.5, 0.0, 0.0)), placed(solids.sphere(1.0), BLUE, (0.5, 0.0, 0.0)))
    assert reddish(pixels)[60, 70]
    assert not reddish(pixels)[60, 90]


def test_a_body_casts_a_shadow_on_the_ground_and_the_ground_none():
    square = np.array([[-4.0, -4, 0], [4, -4, 0], [4, 4, 0], [-4, 4, 0]])
    ground = Mesh(square, np.tile(UP, (4, 1)), np.array([[0, 1, 2], [0, 2, 3]]))
    camera = Camera(
        np.array([0.0, -10.0, 10.0]),
        np.zeros(3),
        np.array([[1.0, 0, 0], [0, math.sqrt(0.5), math.sqrt(0.5)], [0, -math.sqrt(0.5), math.sqrt(0.5)]]),
    )

    def look(*several: Placed) -> np.ndarray:
        return draw_image(several, camera, UP, FORMAT, (np.zeros(3), 6.0), set()).astype(float).mean(axis=2)

    floor = placed(ground, (0.8, 0.8, 0.8), layer="ground")
    empty, ball = look(floor), look(floor, placed(solids.sphere(0.5), (0.8, 0.8, 0.8), (0.0, 0.0, 1.0)))
    lit = empty[60, 80]
    assert np.ptp(empty[50:70, 60:100]) < 1.0  # the ground does not shade itself
    sun = sun_of(camera, UP)
    for aside, is_dark in ((0.0, True), (1.5, False)):  # on the ray through the center of the ball, and beside it
        seen = camera.axes @ (np.array([aside, 0.0, 1.0]) - sun / sun[2] - camera.position)
        x, y = seen[:2] / -seen[2] * 0.5 * FORMAT.height / half_slope()
        place = round(60 - y), round(80 + x)
        assert empty[place] == pytest.approx(lit, rel=0.02)
        assert (ball[place] < 0.8 * lit) == is_dark


def test_a_translucent_body_lets_what_is_behind_shine_through():
    behind = placed(solids.sphere(0.4), BLUE, layer="springs")
    cover = placed(solids.sphere(1.0), RED)
    hidden, seen = (drawn(behind, cover, clear=clear)[60, 80] for clear in ((), ("bodies",)))
    assert hidden[2] < 40.0 < seen[2]


def test_outlines_are_darker_than_both_objects():
    pixels = drawn(placed(solids.sphere(1.0), RED), placed(solids.sphere(0.4), BLUE, (0.0, -2.0, 0.0))).sum(axis=2)
    line = pixels[60, 80:110]
    assert line.min() < 0.75 * min(line[0], line[-1])


def test_the_background_is_white_above():
    assert (drawn(placed(solids.sphere(0.1), RED))[0] == 255.0 * np.array(TOP)).all()


@pytest.fixture(scope="module")
def few() -> Picture:
    whole = rendered("revolute_joint")
    return Picture(whole.loaded, whole.trajectory, whole.rows[:: len(whole.rows) // 5])


def test_a_png_has_the_pixels(few):
    image = pytest.importorskip("PIL.Image")
    pixels = strip(few, [], ImageFormat(80, 60, 2))
    assert pixels.shape == (60, 80 * len(few.rows), 3)
    assert (np.asarray(image.open(io.BytesIO(png(pixels)))) == pixels).all()
    assert png(pixels) == png(strip(few, [], ImageFormat(80, 60, 2)))


def test_a_gif_has_all_pictures_in_their_time(few):
    image = pytest.importorskip("PIL.Image")
    shown = list(images(few, [], ImageFormat(80, 60, 2)))
    found = image.open(io.BytesIO(gif(shown, 25.0)))
    assert (found.n_frames, found.size, found.info["duration"], found.info["loop"]) == (len(shown), (80, 60), 40, 0)
    for k, pixels in enumerate(shown):
        found.seek(k)
        assert np.abs(np.asarray(found.convert("RGB")).astype(float) - pixels).mean() < 6.0


def test_an_mp4_has_all_pictures_in_their_time(few):
    av = pytest.importorskip("av")
    shown = list(images(few, [], ImageFormat(81, 61, 2)))
    content = mp4(shown, 20.0)
    assert content == mp4(shown, 20.0)
    with av.open(io.BytesIO(content)) as container:
        assert container.streams.video[0].average_rate == 20
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == len(shown)
    for frame, pixels in zip(frames, shown, strict=True):
        assert frame.shape == (60, 80, 3)
        assert np.abs(frame.astype(float) - pixels[:60, :80]).mean() < 6.0


def test_a_ghost_changes_the_picture_where_it_is(few):
    ghost = rendered("revolute_joint", "joints.hinge.q=20 deg")
    alone, both = (next(images(few, ghosts, ImageFormat(80, 60, 2))).astype(float) for ghosts in ([], [ghost]))
    changed = np.abs(alone - both).max(axis=2) > 5.0
    assert 0.005 < changed.mean() < 0.3


def polygons_of(text: bytes | str) -> list[ET.Element]:
    return ET.fromstring(text).findall("{http://www.w3.org/2000/svg}polygon")


def test_an_svg_draws_what_is_nearer_last():
    several = [placed(solids.sphere(0.5), RED, (0.0, -2.0, 0.0)), placed(solids.sphere(0.5), BLUE, (0.4, 2.0, 0.0))]
    for order in (several, several[::-1]):
        paints = [one.get("fill") or "" for one in polygons_of(draw_svg(order, CAMERA, UP, FORMAT, set()))]
        red = ["0000" in paint[3:] for paint in paints]
        assert red == sorted(red)
        assert 0 < sum(red) < len(red)


def test_the_outline_of_a_sphere_is_its_silhouette():
    """A sphere of radius r at the distance d has an outline of radius f r/sqrt(d^2 - r^2) in the picture."""
    root = ET.fromstring(draw_svg([placed(solids.sphere(0.5, 96), RED)], CAMERA, UP, FORMAT, set()))
    lines = [path.get("d") or "" for path in root.findall("{http://www.w3.org/2000/svg}path")]
    ends = np.array([pair for line in lines for pair in re.findall(r"[ML]([-\d.]+),([-\d.]+)", line)], dtype=float)
    distance = float(np.linalg.norm(CAMERA.position))
    radius = 0.5 * FORMAT.height / half_slope() * 0.5 / math.sqrt(distance**2 - 0.25)
    found = np.linalg.norm(ends - 0.5 * np.array([FORMAT.width, FORMAT.height]), axis=1)
    assert len(lines) > 30
    assert found == pytest.approx(np.full(len(found), radius), rel=0.03)


def test_an_svg_covers_the_same_pixels_as_the_image(few):
    one = Picture(few.loaded, few.trajectory, few.rows[:1])
    polygons = polygons_of(svg(one, [], ImageFormat(320, 240)))
    assert len(polygons) > 20
    image = pytest.importorskip("PIL.Image")
    draw = pytest.importorskip("PIL.ImageDraw")
    page = image.new("RGB", (320, 240), "white")
    pen = draw.Draw(page)
    for polygon in polygons:
        points = [tuple(map(float, pair.split(","))) for pair in polygon.get("points").split()]
        pen.polygon(points, fill=polygon.get("fill"))
    covered = np.asarray(page).min(axis=2) < 200
    drawn_too = next(images(one, [], ImageFormat(320, 240, 1))).min(axis=2) < 200
    assert (covered != drawn_too).mean() < 0.01
    assert covered.mean() > 0.01
