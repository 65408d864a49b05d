"""`mbsim render`: files, selection of instants, and messages for invalid arguments."""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_result import Command, Ending

DEFAULT = "outputs/renders/pendulum.html"


@pytest.fixture
def run(mbsim: Command, folder: Path) -> Path:
    """A folder with a result of the pendulum: 11 instants from 0 to 0.1 s."""
    assert mbsim("run", "pendulum.yaml", "-q").code == 0
    return folder


def header_of(path: Path) -> dict[str, Any]:
    text = re.search(r'id="header">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert text
    header: dict[str, Any] = json.loads(text[1])
    return header


def times_of(path: Path) -> list[float]:
    text = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert text
    about = header_of(path)["runs"][0]["time"]
    block = zlib.decompress(base64.b64decode(text[1]))
    return np.frombuffer(block, about["type"], about["shape"][0], about["offset"]).tolist()


def assert_refused(ending: Ending, *lines: str) -> None:
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr.splitlines() == [f"error: {lines[0]}", *lines[1:]]


def test_a_result_becomes_a_page_without_links_and_with_the_same_bytes_again(mbsim: Command, run: Path) -> None:
    ending = mbsim("render", "outputs/pendulum.h5")
    assert (ending.code, ending.stdout, ending.stderr) == (0, f"{DEFAULT}\n", "")
    page = Path(DEFAULT).read_bytes()
    assert not re.search(rb'(src|href)\s*=\s*["\']', page)
    assert mbsim("render", "outputs/pendulum.h5", "-o", "again.html").code == 0
    assert Path("again.html").read_bytes() == page
    header = header_of(Path(DEFAULT))
    assert header["runs"][0]["bodies"] == ["rod"]
    assert [line["label"] for plot in header["plots"] for line in plot["lines"]][:2] == [
        "energy/kinetic",
        "energy/potential",
    ]


def test_a_scene_is_drawn_at_its_start(mbsim: Command, folder: Path) -> None:
    assert mbsim("render", "pendulum.yaml", "--set", "vars.angle=0", "-q").stdout == f"{DEFAULT}\n"
    assert times_of(Path(DEFAULT)) == [0.0]
    assert header_of(Path(DEFAULT))["plots"] == []


def test_selected_instants(mbsim: Command, run: Path) -> None:
    def times(*words: str) -> list[float]:
        assert mbsim("render", "outputs/pendulum.h5", "--force", *words).code == 0
        return times_of(Path(DEFAULT))

    assert len(times()) == 11
    assert times("--at", "52 ms") == pytest.approx([0.05])
    assert times("--from", "0.02", "--to", "40 ms") == pytest.approx([0.02, 0.03, 0.04])
    assert times("--fps", "50", "--speed", "2") == pytest.approx([0.0, 0.04, 0.08])


def test_camera_ghost_traces_and_channels(mbsim: Command, run: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-q", "--set", "vars.angle=40 deg", "-o", "other.h5").code == 0
    words = ("--camera", "90,0", "--ghost", "other.h5", "--trace", "rod", "--channel", "joints/hinge/q")
    assert mbsim("render", "outputs/pendulum.h5", *words).code == 0
    header = header_of(Path(DEFAULT))
    assert header["camera"]["axes"][2] == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert [one["label"] for one in header["runs"]] == ["pendulum.h5", "other.h5"]
    assert header["traces"] == [0]
    assert [(plot["units"], [line["label"] for line in plot["lines"]]) for plot in header["plots"]] == [
        ("rad", ["joints/hinge/q"])
    ]


def test_pictures_of_one_instant_and_a_strip(mbsim: Command, run: Path) -> None:
    def size(*words: str) -> tuple[int, int]:
        assert mbsim("render", "outputs/pendulum.h5", "-o", "a.png", "--force", "--size", "64x48", *words).code == 0
        head = Path("a.png").read_bytes()
        assert head.startswith(b"\x89PNG")
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")

    assert size() == (64, 48)
    assert size("--at", "0", "--at", "0.1", "--at", "0.05") == (192, 48)
    assert mbsim("render", "pendulum.yaml", "-q", "-o", "a.svg", "--camera", "0,10,2").stdout == "a.svg\n"
    assert Path("a.svg").read_text().startswith("<svg ")


def test_an_animation_without_its_library_names_the_extra(
    mbsim: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    ending = mbsim("render", "outputs/pendulum.h5", "-o", "a.mp4")
    assert_refused(
        ending,
        "animations as *.mp4 need the package av: pip install 'multibody-cli[render]'; a page, *.html, needs none",
    )


def test_colors_of_shapes(mbsim: Command, folder: Path) -> None:
    text = Path("pendulum.yaml").read_text()
    Path("pendulum.yaml").write_text(text.replace("{type: box,", "{type: box, color: '#ff0080',"))
    assert mbsim("render", "pendulum.yaml", "-q").code == 0
    colors = [solid["color"] for solid in header_of(Path(DEFAULT))["runs"][0]["solids"] if solid["layer"] == "bodies"]
    assert colors == [pytest.approx([1.0, 0.0, 128.0 / 255.0])]


def test_shapes_of_a_result_may_come_from_a_scene(mbsim: Command, run: Path) -> None:
    text = Path("pendulum.yaml").read_text()
    Path("blue.yaml").write_text(text.replace("{type: box,", "{type: box, color: blue,"))
    assert mbsim("render", "outputs/pendulum.h5", "--scene", "blue.yaml").code == 0
    solids = header_of(Path(DEFAULT))["runs"][0]["solids"]
    assert [solid["color"] for solid in solids if solid["layer"] == "bodies"] == [[0.0, 0.0, 1.0]]
    for words in ((), ("--force",)):  # also where the file exists
        assert_refused(
            mbsim("render", "outputs/pendulum.h5", *words, "--scene", "stiff.yaml"),
            "--scene stiff.yaml: only stiff.yaml has the body `cart`: name the scene of outputs/pendulum.h5",
        )


def test_invalid_arguments(mbsim: Command, run: Path) -> None:
    result = "outputs/pendulum.h5"
    outside = "lies outside of the recorded time, from 0 to 0.1 s"
    for words, message in {
        (result, "-o", "a.pdf"): "a.pdf: the name of the file must end in .html, .png, .svg, .gif, .mp4, .gltf, .glb",
        (result, "--at", "2"): f"--at 2 s {outside}",
        (result, "--trace", "rod", "-o", "a.png"): "--trace has no effect on *.png: leave it out, or write *.html",
        (
            result,
            "--fps",
            "9",
            "-o",
            "a.svg",
        ): "--fps has no effect on *.svg: leave it out, or write *.html, *.gif, *.mp4, ",
        (result, "--ghost", "b.h5", "-o", "a.glb"): "--ghost has no effect on *.glb: ",
        (
            result,
            "--size",
            "8x8",
        ): "--size has no effect on *.html: leave it out, or write *.png, *.svg, *.gif or *.mp4",
        (result, "--size", "8x8", "-o", "a.png"): "--size 8x8: expected WIDTHxHEIGHT from 16x16 to 4096x4096 pixels",
        (result, "--at", "0", "--fps", "3"): "--at selects instants: leave out --from, --to and --fps",
        (result, "--trace", "rood"): "--trace rood: there is no such body: did you mean `rod`?",
        (result, "--set", "vars.n=2"): f"--set applies to a scene file, but {result} is a result: run the scene again",
        ("outputs/pendulums.h5",): "outputs/pendulums.h5 does not exist: did you mean `outputs/pendulum.h5`?",
    }.items():
        ending = mbsim("render", *words)
        assert (ending.code, ending.stdout) == (2, "")
        assert ending.stderr.startswith(f"error: {message}")
    assert "Invalid value for '--at': expected a time (s)" in mbsim("render", result, "--at", "soon").stderr
    assert not Path(DEFAULT).exists()


def test_an_existing_file_is_kept(mbsim: Command, run: Path) -> None:
    Path("kept.html").write_text("mine")
    ending = mbsim("render", "outputs/pendulum.h5", "-o", "kept.html")
    assert_refused(ending, "kept.html exists: use --force to replace it, or -o to choose another name")
    assert Path("kept.html").read_text() == "mine"


def test_a_result_without_poses_is_refused(mbsim: Command, run: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-q", "--set", "output.channels=[energy]", "-o", "energy.h5").code == 0
    assert_refused(
        mbsim("render", "energy.h5"),
        "energy.h5 has no bodies/position and bodies/quaternion, which `output.channels` excludes: record them to draw "
        "the bodies",
    )
