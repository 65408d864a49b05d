"""The player in headless Chromium: a page from the file system plays, and shows the data of the run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import CHROMIUM, Browser
from renders import rendered

from multibody_cli.output.selection import select_energies
from multibody_cli.render.binary import ROTATION_BOUND
from multibody_cli.render.page_data import Shown, events_of
from multibody_cli.render.picture import Picture
from multibody_cli.render.player import Page, player_html

ACTIONS = """
const wait = async (done) => {
  for (let k = 0; k < 3000 && !done(); k++) await new Promise((resolve) => setTimeout(resolve, 20));
  if (!done()) throw new Error('nothing happened within a minute');
};
const pixels = () => {
  player.draw();
  const text = document.getElementById('canvas').toDataURL();
  let sum = 0;
  for (let k = 0; k < text.length; k++) sum = (31 * sum + text.charCodeAt(k)) | 0;
  return sum;
};
let found = {};
await wait(() => globalThis.player);
"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def page_of(picture: Picture, *ghosts: Picture) -> bytes:
    trajectory = picture.trajectory
    return player_html(
        Page(
            title=trajectory.attributes["name"],
            about="",
            runs=[Shown(str(k), one.drawing, one.motion) for k, one in enumerate((picture, *ghosts))],
            trajectory=trajectory,
            rows=picture.rows,
            scalars=select_energies(trajectory),
            events=events_of(trajectory, picture.motion, picture.rows),
            points=picture.points,
            up=picture.up,
            view=picture.view,
            speed=1.0,
            traces=[],
            is_translucent=picture.shows_inside,
        )
    )


def visited(page: bytes, actions: str, folder: Path) -> Any:
    """Open a page from the file system, run `actions`, which assign to `found`, and return it without problems."""
    file = folder / "page.html"
    file.write_bytes(page)
    with Browser(file) as browser:
        found = browser.run(f"{ACTIONS}{actions}\nreturn found;")
        assert browser.problems == []
    return found


PLAYED = ("revolute_joint", "falling_boxes")
ALL_KINDS = (
    *("stewart_platform", "surface_surface_joint", "spline_surface_joint", "curve_joint", "screw_joint", "springs"),
    *("strands", "leg_muscles", "affine_body", "planar_bodies", "bushing", "ball_bounces_and_rolls"),
)


@pytest.mark.parametrize("scene", [*PLAYED, *(pytest.param(one, marks=pytest.mark.nightly) for one in ALL_KINDS)])
def test_the_picture_changes_while_it_plays_and_stands_still_when_paused(scene, tmp_path):
    found = visited(
        page_of(rendered(scene)),
        """
        player.speed = player.times.at(-1) / 4;  // a slow frame counts half a second: it must not reach the end
        document.getElementById('play').click();
        await wait(() => player.time > player.times.at(-1) / 5);
        document.getElementById('play').click();
        const [time, second] = [player.time, pixels()];
        await new Promise((resolve) => setTimeout(resolve, 300));
        found = { still: player.time === time && pixels() === second };
        player.seek(player.times[0]);
        found.moved = pixels() !== second;
        """,
        tmp_path,
    )
    assert found == {"moved": True, "still": True}


def test_slider_keys_marks_and_camera(tmp_path):
    picture = rendered("falling_boxes")
    found = visited(
        page_of(picture),
        """
        const slider = document.getElementById('slider');
        const press = (key) => dispatchEvent(new KeyboardEvent('keydown', { key }));
        slider.value = 0.2;
        slider.dispatchEvent(new Event('input'));
        const slid = player.time;
        press('End');
        press('ArrowLeft');
        const stepped = player.time;
        const marks = document.querySelectorAll('#marks i');
        marks[0].click();
        const marked = player.time;
        const before = pixels();
        player.camera.position.multiplyScalar(1.3);
        const zoomed = pixels();
        press('r');
        const arrows = player.main.contacts.object.count;
        press('d');
        const dark = document.documentElement.classList.contains('dark');
        found = { slid, stepped, marks: marks.length, marked, zoomed: before !== zoomed, arrows, dark };
        found.fitted = pixels() !== zoomed;
        """,
        tmp_path,
    )
    events = events_of(picture.trajectory, picture.motion, picture.rows)
    assert found["slid"] == pytest.approx(0.2, abs=1e-6)
    assert found["stepped"] == pytest.approx(picture.motion.time[-2])
    assert found["marks"] == len(events)
    assert found["marked"] == pytest.approx(events[0].time)
    assert found["arrows"] > 0
    assert found["zoomed"]
    assert found["fitted"]


@pytest.mark.parametrize("scene", ["universal_joint", "arm_muscles", "affine_body"])
def test_decoded_poses_and_ends_of_bars_agree_with_the_run(scene, tmp_path):
    picture = rendered(scene)
    motion, rows = picture.motion, [0, len(picture.rows) // 2, len(picture.rows) - 1]
    found = visited(
        page_of(picture),
        f"""
        const rows = {rows};
        found.matrices = rows.map((row) => {{
          player.seek(player.times[row]);
          return player.main.bodies.map((body) => body.matrixWorld.toArray());
        }});
        found.bars = rows.map((row) => {{
          player.seek(player.times[row]);
          return player.main.bars.map((bar) => bar.distance);
        }});
        """,
        tmp_path,
    )
    for row, matrices, bars in zip(rows, found["matrices"], found["bars"], strict=True):
        for body, numbers in enumerate(matrices):
            matrix = np.reshape(numbers, (4, 4)).T
            assert np.linalg.norm(matrix[:3, :3] - motion.axes(body)[row]) < 2.0 * ROTATION_BOUND
            assert matrix[:3, 3] == pytest.approx(motion.position[row, body], abs=np.ptp(motion.position) / 65535.0)
        for bar, distance in zip(picture.drawing.bars, bars, strict=True):
            a, b = (motion.point(k, point)[row] for k, point in zip(bar.bodies, bar.points, strict=True))
            assert distance == pytest.approx(float(np.linalg.norm(b - a)), abs=2e-4 * picture.drawing.reach)


def test_a_ghost_is_drawn_and_can_be_hidden(tmp_path):
    ghost = rendered("revolute_joint", "joints.hinge.q=20 deg")
    found = visited(
        page_of(rendered("revolute_joint"), ghost),
        """
        player.seek(0.3);
        const box = document.getElementById('layer-ghost');
        const shown = pixels();
        box.click();
        const hidden = pixels();
        box.click();
        found = { differs: shown !== hidden, returns: pixels() === shown };
        found.opacity = player.mechanisms[1].bodies[0].children[0].material.opacity;
        """,
        tmp_path,
    )
    assert found["differs"]
    assert found["returns"]
    assert found["opacity"] < 0.5


def test_the_pointer_names_a_body_and_its_values(tmp_path):
    found = visited(
        page_of(rendered("revolute_joint")),
        """
        const x = player.main.centre(0).project(player.camera);
        const { left, top, width, height } = document.getElementById('canvas').getBoundingClientRect();
        const place = { clientX: left + (x.x + 1) / 2 * width, clientY: top + (1 - x.y) / 2 * height, bubbles: true };
        document.getElementById('canvas').dispatchEvent(new PointerEvent('pointermove', place));
        found.text = document.getElementById('tooltip').textContent;
        const before = pixels();
        document.getElementById('canvas').dispatchEvent(new MouseEvent('click', place));
        dispatchEvent(new KeyboardEvent('keydown', { key: 't' }));
        dispatchEvent(new KeyboardEvent('keydown', { key: 'f' }));
        const camera = player.camera.position.clone();
        player.seek(player.times.at(-1) / 2);
        found.traced = player.main.traces.has(0);
        found.followed = camera.distanceTo(player.camera.position) > 0;
        """,
        tmp_path,
    )
    body = rendered("revolute_joint").trajectory.bodies[0]
    assert re.fullmatch(rf"body {body}\ncenter of mass  .+ m\nspeed  .+ m/s", found["text"])
    assert found["traced"]
    assert found["followed"]
