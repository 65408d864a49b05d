"""Files of images: PNG, and the animations GIF and MP4."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable

from multibody_cli.errors import ArgumentError
from multibody_cli.render.image import Pixels

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
