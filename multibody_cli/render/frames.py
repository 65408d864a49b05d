"""The pictures of a run: all that is drawn at an instant, as an image or as SVG."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import replace
from multibody_cli.model import Floats
from multibody_cli.render.camera import extreme_points
from multibody_cli.render.drawing import Placed, placed_at
from multibody_cli.render.image import ImageFormat, Pixels, draw_image, shadow_sphere
from multibody_cli.render.legend import as_svg, legend_of, painted
from multibody_cli.render.motion import nearest_row
from multibody_cli.render.picture import Picture
from multibody_cli.render.svg import draw_svg


def placed_with_ghosts(picture: Picture, row: int, ghosts: Sequence[Picture]) -> list[Placed]:
    """Return all that is drawn at an instant, with the bodies of other runs at the nearest instant."""
    placed, time = placed_at(picture.drawing, picture.motion, row), picture.motion.time[row]
    for ghost in ghosts:
        others = placed_at(ghost.drawing, ghost.motion, nearest_row(ghost.motion.time, time))
        placed += [replace(one, layer="ghost") for one in others if one.layer == "bodies"]
    return placed


def translucent_layers(picture: Picture) -> set[str]:
    """Return the layers that are drawn translucent: ghosts, and bodies with muscles or in a free-body diagram."""
    return {"ghost", *(["bodies"] if picture.shows_inside else [])}


def images(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> Iterator[Pixels]:
    """Yield the image of each instant, by a camera at rest."""
    return _images(picture, ghosts, shape, picture.points, np.zeros((len(picture.rows), 3)))


def film(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> Iterator[Pixels]:
    """Yield the image of each instant; the camera follows bodies that go far."""
    if picture.path is None:
        return images(picture, ghosts, shape)
    points = extreme_points(picture.drawing, picture.motion, picture.path)
    return _images(picture, ghosts, shape, points, picture.path)


def _images(
    picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat, points: Floats, path: Floats
) -> Iterator[Pixels]:
    """Yield the images by a camera that shows points (n, 3) and moves along a path (T, 3), m."""
    camera, clear = picture.camera(points, shape.aspect), translucent_layers(picture)
    centre, radius = shadow_sphere(points)
    for row, place in enumerate(path):
        placed = placed_with_ghosts(picture, row, ghosts)
        moved = replace(camera, position=camera.position + place, target=camera.target + place)
        layers = clear & {one.layer for one in placed}
        image = draw_image(placed, moved, picture.up, shape, (centre + place, radius), layers)
        yield painted(image, legend_of(picture, moved, shape, row))


def strip(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> Pixels:
    """Return the images of all instants side by side."""
    return np.concatenate(list(images(picture, ghosts, shape)), axis=1)


def svg(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> bytes:
    """Return the pictures of all instants side by side as SVG."""
    camera, clear, parts = picture.camera(picture.points, shape.aspect), translucent_layers(picture), []
    for row in range(len(picture.rows)):
        legend = as_svg(legend_of(picture, camera, shape, row))
        parts.append(draw_svg(placed_with_ghosts(picture, row, ghosts), camera, picture.up, shape, clear, legend))
    if len(parts) == 1:
        return parts[0].encode()
    moved = [f'<svg x="{k * shape.width}">\n{part}</svg>\n' for k, part in enumerate(parts)]
    size = f'width="{len(parts) * shape.width}" height="{shape.height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{"".join(moved)}</svg>\n'.encode()


# --- files of images: PNG, and the animations GIF and MP4 -------------------------------------------------------------
FPS = {".gif": 25.0, ".mp4": 30.0}
"""Default number of pictures per second, by the suffix of an animation."""


def png(pixels: Pixels) -> bytes:
    """Return an image as PNG."""
    rows, columns, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def require_encoder(suffix: str) -> None:
    """Check that the library of an animation is installed, before anything is drawn.

    Raises
    ------
    ArgumentError
        It is not; the message names the extra of this package that installs it.
    """
    try:
        if suffix == ".gif":
            import PIL  # noqa: F401
        if suffix == ".mp4":
            import av  # noqa: F401
    except ImportError as error:
        raise ArgumentError(
            f"animations as *{suffix} need the package {error.name}: pip install 'multibody-cli[render]'; "
            "a page, *.html, needs none"
        ) from None


def gif(images: Iterable[Pixels], fps: float) -> bytes:
    """Return an animation as GIF that repeats forever; its times are whole hundredths of a second."""
    from PIL import Image

    frames = [Image.fromarray(pixels) for pixels in images]
    # one palette for all pictures, so that the background does not flicker
    across = max(1, len(frames) // 8)
    sheet = Image.new("RGB", (frames[0].width, frames[0].height * len(frames[::across])))
    for place, frame in enumerate(frames[::across]):
        sheet.paste(frame, (0, place * frame.height))
    palette = sheet.quantize(
        256, method=Image.Quantize.MEDIANCUT, kmeans=3
    )  # without means, small parts lose their color
    reduced = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    content = io.BytesIO()
    duration = 10 * max(2, round(100.0 / fps))
    reduced[0].save(content, "GIF", save_all=True, append_images=reduced[1:], duration=duration, loop=0, optimize=False)
    return content.getvalue()


def mp4(images: Iterable[Pixels], fps: float) -> bytes:
    """Return an animation as MP4 in H.264; a last row or column of an odd number is left out."""
    from fractions import Fraction

    import av

    content = io.BytesIO()
    with av.open(content, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
        stream.pix_fmt = "yuv420p"
        # the rate control in vector instructions writes other bytes once in some 2000 films
        stream.options = {"crf": "18", "preset": "medium", "threads": "1", "x264-params": "cpu-independent=1"}
        for k, pixels in enumerate(images):
            even = pixels[: len(pixels) // 2 * 2, : pixels.shape[1] // 2 * 2]
            if k == 0:
                stream.height, stream.width = even.shape[:2]
            frame = av.VideoFrame.from_ndarray(even, format="rgb24")
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
    return content.getvalue()
