"""Pictures of scenes: elements lie where the run has them, the camera shows all of them, events are found."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from renders import GALLERY, rendered

from multibody_cli.errors import ArgumentError
from multibody_cli.joints import JOINTS
from multibody_cli.output.sink import MemorySink
from multibody_cli.render.arcs import chain
from multibody_cli.render.camera import FIELD_OF_VIEW, MARGIN, View, fitted_camera, read_view
from multibody_cli.render.drawing import GROUND, LONGEST, bar_color, placed_at
from multibody_cli.render.frames import film, images
from multibody_cli.render.image import ImageFormat
from multibody_cli.render.motion import ContactHistory, MotionHistory, choose_rows
from multibody_cli.render.page_data import events_of
from multibody_cli.render.picture import Picture, start_of
from multibody_cli.render.symbols import poses
from multibody_cli.spec.path import ArcSpec
from multibody_cli.spec.rotations import rotation_matrices, rotation_matrix
from multibody_cli.studies.simulation import prepare

CURVED = ("curve_joint", "spline_curve_joint", "spline_surface_joint", "symbolic_joint", "surface_surface_joint")


@pytest.mark.parametrize("scene", CURVED)
def test_formulas_of_joints_give_the_recorded_poses(scene):
    """Frame M, placed by the recorded coordinates, is where the run has the child; for joints of one part."""
    picture = rendered(scene)
    trajectory, motion, compared = picture.trajectory, picture.motion, 0
    for name, joint in picture.loaded.scene.joints.items():
        parts = JOINTS[joint.type].parts(joint)
        if len(parts) > 1 or parts[0].joint_map is None or joint.parent != "world":
            continue
        position, rotation = poses(parts[0], trajectory.channel(f"joints/{name}/q").values)
        F, child = rotation_matrix(joint.origin.rotation), motion.axes(trajectory.bodies.index(joint.child))
        M = child @ rotation_matrix(joint.child_origin.rotation)
        origin = motion.point(trajectory.bodies.index(joint.child), joint.child_origin.position)
        assert origin == pytest.approx(position @ F.T + joint.origin.position, abs=1e-9)
        assert np.abs(F @ rotation - M).max() < 1e-7
        compared += 1
    assert compared


def test_springs_have_their_recorded_length():
    picture = rendered("springs")
    for row in (0, 40):
        placed = [one for one in placed_at(picture.drawing, picture.motion, row) if one.layer == "springs"]
        lengths: dict[str, float] = {}
        for bar, one in zip(picture.drawing.bars, placed, strict=True):
            ends = one.position + one.linear @ [0.0, 0.0, bar.length] - one.position
            lengths[bar.name] = lengths.get(bar.name, 0.0) + float(np.linalg.norm(ends))
        for name, length in lengths.items():
            recorded = picture.trajectory.channel(f"springs/{name.removeprefix('spring ')}/length").values[row]
            assert length == pytest.approx(recorded, rel=1e-9)


def test_muscles_are_colored_by_their_activation():
    picture = rendered("arm_muscles")
    most = np.unravel_index(np.argmax(picture.motion.activation), picture.motion.activation.shape)
    [bar, *_] = [one for one in picture.drawing.bars if one.muscle == most[1]]
    red, _, blue = bar_color(bar, picture.motion, int(most[0]))
    relaxed_red, _, relaxed_blue = bar.color
    assert red > relaxed_red
    assert blue < relaxed_blue


def test_contact_forces_support_the_weight_and_arrows_are_in_proportion():
    picture = rendered("falling_boxes")
    contacts, scene = picture.motion.contacts, picture.loaded.scene
    last = slice(contacts.offset[-2], contacts.offset[-1])
    world = (contacts.bodies[last] == GROUND).any(axis=1)
    sign = np.where(contacts.bodies[last][:, 0] == GROUND, 1.0, -1.0)
    carried = (sign[:, None] * contacts.force[last])[world].sum(axis=0)
    weight = -9.81 * sum(body.mass or 0.0 for body in scene.bodies.values())
    assert weight < 0.0
    assert carried == pytest.approx([0.0, 0.0, -weight], abs=1e-3 * abs(weight))
    arrows = [
        one for one in placed_at(picture.drawing, picture.motion, -1 % len(picture.rows)) if one.layer == "contacts"
    ]
    lengths = sorted(float(np.linalg.norm(one.linear[:, 2])) for one in arrows)
    assert 0.0 < lengths[0] <= lengths[-1] <= LONGEST * picture.drawing.reach


def test_an_affine_body_is_drawn_deformed():
    picture = rendered("affine_body")
    [body] = [k for k, A in picture.motion.deformation.items() if np.abs(A[-1] @ A[-1].T - np.eye(3)).max() > 0.01][:1]
    name = picture.trajectory.bodies[body]
    A = picture.trajectory.channel(f"bodies/{name}/deformation").values[-1].reshape(3, 3)
    assert picture.motion.axes(body)[-1] == pytest.approx(A)


def test_bodies_without_shapes_reach_to_their_joints():
    picture = rendered("couplings")
    scene = picture.loaded.scene
    for joint in scene.joints.values():
        body = picture.trajectory.bodies.index(joint.child)
        points = np.concatenate([one.mesh.vertices for one in picture.drawing.solids if one.body == body])
        apart = np.linalg.norm(points - np.array(joint.child_origin.position), axis=1).min()
        assert apart < 3.0 * picture.drawing.symbol


def test_rotations_agree_with_matrices_of_quaternions():
    q = np.random.default_rng(3).normal(size=(5, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    assert rotation_matrices(q) == pytest.approx(np.array([rotation_matrix(tuple(one)) for one in q]))


@pytest.mark.parametrize("aspect", [0.5, 1.0, 16 / 9])
def test_a_fitted_camera_shows_all_points_and_touches_the_frame(aspect):
    points = np.random.default_rng(5).normal(size=(60, 3)) * [3.0, 1.0, 0.2]
    camera = fitted_camera(points, View(0.7, 0.3), np.array([0.0, 0.0, 1.0]), aspect)
    seen = (points - camera.position) @ camera.axes.T
    slope = math.tan(0.5 * FIELD_OF_VIEW)
    across, upward = seen[:, 0] / -seen[:, 2] / (slope * aspect), seen[:, 1] / -seen[:, 2] / slope
    assert (seen[:, 2] < 0.0).all()
    reached = max(across.max(), -across.min(), upward.max(), -upward.min())
    assert reached == pytest.approx(MARGIN, rel=1e-9)
    assert (camera.target - camera.position) @ camera.axes[:2].T == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("30", "expected AZIMUTH,ELEVATION or AZIMUTH,ELEVATION,ZOOM with angles in degrees, as in --camera -60,20"),
        ("0,90", "expected an elevation from -89 to 89 degrees, and a positive zoom"),
        ("0,0,0", "expected an elevation from -89 to 89 degrees, and a positive zoom"),
    ],
)
def test_an_invalid_view_is_refused(text, message):
    with pytest.raises(ArgumentError) as error:
        read_view(text)
    assert str(error.value) == f"--camera {text}: {message}"


def test_instants_are_the_nearest_ones():
    time = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    assert choose_rows(time, at=[0.26, 0.0]).tolist() == [3, 0]
    assert choose_rows(time, begin=0.1, end=0.3).tolist() == [1, 2, 3]
    assert choose_rows(time, spacing=0.2).tolist() == [0, 2, 4]
    assert choose_rows(time[:1], spacing=0.1).tolist() == [0]
    with pytest.raises(ArgumentError, match=r"^--to 9 s lies outside of the recorded time, from 0 to 0.4 s$"):
        choose_rows(time, end=9.0)
    with pytest.raises(ArgumentError, match=r"^there is no output instant between --from 0.11 s and --to 0.12 s$"):
        choose_rows(time, begin=0.11, end=0.12)


def test_events_are_first_contacts_and_limits():
    boxes = rendered("falling_boxes")
    found = events_of(boxes.trajectory, boxes.motion, boxes.rows)
    assert {event.kind for event in found} == {"contact"}
    rows = {
        text: [int(np.argmin(np.abs(boxes.motion.time - one.time))) for one in found if one.text == text]
        for text in {event.text for event in found}
    }
    assert len(rows) >= 4
    assert all((np.diff(several) > 1).all() for several in rows.values())  # apart in between
    limits = rendered("limits")
    found = events_of(limits.trajectory, limits.motion, limits.rows)
    [force] = [path for path in limits.trajectory.paths if path.endswith("limit_force")]
    is_active = (limits.trajectory.channel(force).values > 0.0).any(axis=1)
    assert [event.time for event in found if event.kind == "limit"] == pytest.approx(
        limits.trajectory.time[1:][is_active[1:] & ~is_active[:-1]]
    )


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_scene_of_the_gallery_can_be_drawn_at_its_start(path):
    simulation = prepare(path)
    picture = Picture(simulation.loaded, start_of(simulation), np.array([0]))
    placed = placed_at(picture.drawing, picture.motion, 0)
    assert {solid.body for solid in picture.drawing.solids if solid.layer == "bodies"} == set(
        range(len(picture.drawing.bodies))
    )
    for one in placed:
        assert np.isfinite(one.mesh.vertices).all()
        assert np.isfinite(one.linear).all()
        assert len(one.mesh.triangles)
        assert np.linalg.norm(one.mesh.normals, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert len(picture.points) >= 2
    assert picture.drawing.symbol < picture.drawing.reach


def test_the_camera_of_a_film_follows_what_goes_far():
    """The ball rolls thirty times its diameter, and stays in the middle of a film."""
    whole = rendered("ball_bounces_and_rolls")
    picture = Picture(whole.loaded, whole.trajectory, whole.rows[:: len(whole.rows) // 4])
    for draw, is_near in ((film, True), (images, False)):
        for image in draw(picture, [], ImageFormat(90, 60, 1)):
            pixels = image.astype(float)
            rows, columns = np.nonzero(pixels[..., 2] > pixels[..., 0] + 30.0)
            assert (len(rows) > 150) == is_near
            if is_near:
                assert 30 < columns.mean() < 60
                assert 10 < rows.mean() < 50


SLIDERS = """
mbsim: 1
bodies: {one: {mass: 1, inertia: {principal: [1, 1, 1]}}, two: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints:
  first: {type: prismatic, child: one, axis: [1, 0, 0], v: 0.5}
  second: {type: prismatic, child: two, axis: [1, 0, 0], origin: {position: [0, 0.1, 0]}, v: 0.4}
simulation: {duration: 1 s, step: 10 ms}
"""


def test_bodies_without_shapes_are_large_enough_to_be_seen_in_their_motion(tmp_path):
    """Bodies that start within 0.1 m and move by 0.5 m: the balls are 3 % of the picture, as for bodies at rest."""
    (tmp_path / "sliders.yaml").write_text(SLIDERS)
    simulation, sink = prepare(tmp_path / "sliders.yaml"), MemorySink()
    simulation.run(sink)
    picture = Picture(simulation.loaded, sink.trajectory(), np.arange(0, 101, 10))
    balls = [solid.mesh for solid in picture.drawing.solids if solid.layer == "bodies"]
    width = np.ptp(np.concatenate([ball.vertices for ball in balls]), axis=0).min()
    assert 0.02 < width / np.ptp(picture.points, axis=0).max() < 0.06


def test_a_path_over_a_surface_is_drawn_on_it() -> None:
    """Its points lie on the surface, and it has no corner."""
    none = np.zeros((1, 0))
    still = MotionHistory(
        np.zeros(1), np.zeros((1, 0, 3)), np.zeros((1, 0, 4)), {}, ContactHistory(np.zeros(2, np.int64)), none, none, {}
    )
    a, b = np.array([[-0.5, 0.25, 0.1]]), np.array([[0.6, 0.2, -0.1]])
    for kind, R, arc in (("sphere", 0.4, None), ("cylinder", 0.4, (0.0, 0.0, 1.0))):
        spec = ArcSpec.model_validate({"wrap": {"type": kind, "body": "world", "radius": R}, "side": [0, 1, 0]})
        pieces = list(chain([spec], {}, still, a, b))
        inner = np.array([end[0] for _, end in pieces[:-1]])
        flat = inner if arc is None else inner[:, :2]
        np.testing.assert_allclose(np.linalg.norm(flat, axis=1), R, atol=1e-12)
        chords = [float(np.linalg.norm(end - begin)) for begin, end in pieces]
        turn = 2.0 * np.arcsin(np.linalg.norm(np.diff(flat[:2], axis=0)) / (2.0 * R))
        assert 0.0 < turn < 0.2
        assert sum(chords) > np.linalg.norm(b - a)
        directions = [(end - begin)[0] / size for (begin, end), size in zip(pieces, chords, strict=True)]
        bends = [np.dot(one, other) for one, other in itertools.pairwise(directions)]
        assert min(bends) > np.cos(1.01 * turn)  # no corner: lines are tangent to the arc


def test_belts_are_drawn_along_their_tangents_and_around_their_pulleys() -> None:
    """Open belt over three discs: three straight parts, each tangential at both ends, and three arcs."""
    picture = rendered("belts")
    bars = [bar for bar in picture.drawing.bars if bar.name == "constraint open"]
    arcs = [solid for solid in picture.drawing.solids if solid.name == "constraint open"]
    discs = [(np.array(c), r) for c, r in (([0, 0, 0], 0.1), ([0.5, 0, 0.4], 0.06), ([1, 0, 0.2], 0.25))]
    assert len(bars) == len(arcs) == 3
    for k, bar in enumerate(bars):
        assert bar.bodies == (GROUND, GROUND)  # at rest in the world, while the wheels turn
        along = bar.points[1] - bar.points[0]
        for point, (centre, radius) in zip(bar.points, (discs[k], discs[(k + 1) % 3]), strict=True):
            np.testing.assert_allclose(np.linalg.norm(point - centre), radius, atol=1e-12)
            assert abs((point - centre) @ along) < 1e-12
    thick = np.ptp(arcs[0].mesh.vertices[:, 1])
    for arc, (centre, radius) in zip(arcs, (discs[1], discs[2], discs[0]), strict=True):
        distance = np.linalg.norm((arc.mesh.vertices - centre)[:, [0, 2]], axis=1)
        assert np.abs(distance - radius).max() < 0.51 * thick
