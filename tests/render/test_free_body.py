"""Free-body diagrams: the arrows are all forces on a body, at points of their lines."""

from __future__ import annotations

import zlib
from string import ascii_uppercase, digits
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from multibody_cli.cli.render import verb
from multibody_cli.immutable import replace
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.output.sink import MemorySink
from multibody_cli.render.binary import Binary
from multibody_cli.render.camera import fitted_camera, view_along
from multibody_cli.render.drawing import (
    FORCE_COLOR,
    MOMENT_COLOR,
    TYPICAL,
    Placed,
    arrow_scales,
    placed_at,
    scaled_arrows,
)
from multibody_cli.render.image import ImageFormat, look
from multibody_cli.render.legend import _LETTERS, Stroke, as_svg, legend_of, painted, round_number
from multibody_cli.render.motion import AppliedHistory
from multibody_cli.render.page_data import Shown, run_data
from multibody_cli.render.picture import Picture
from multibody_cli.studies.simulation import prepare

SCENE = """\
mbsim: 1
name: sign
bodies:
  sign: {shapes: [{type: box, size: [1, 0.05, 0.2], density: 500}]}
  lamp: {mass: 0.5, inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  pin: {type: revolute, child: sign, axis: [0, 1, 0], child_origin: {position: [-0.5, 0, 0]}}
  held: {type: fixed, parent: sign, child: lamp, origin: {position: [0.2, 0, -0.1]}}
springs:
  wire:
    between: [{body: world, point: [0, 0, 0.8]}, {body: sign, point: [0.4, 0, 0.1]}]
    stiffness: 4000
    rest_length: 0.9
forces:
  wind: {body: sign, torque: [0.3, 0, 0]}
simulation: {duration: 20 ms, step: 1 ms}
output: {every: 10 ms}
"""


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "sign.yaml"
    path.write_text(SCENE)
    simulation, sink = prepare(path), MemorySink()
    simulation.run(sink)
    return Picture(simulation.loaded, sink.trajectory(), np.arange(3), free=("sign",))


def test_the_arrows_are_the_rate_of_momentum(picture):
    applied, trajectory = picture.motion.applied, picture.trajectory
    expected = {"gravity on sign", "joints/pin on sign", "joints/held on sign", "springs/wire on sign"}
    assert set(applied.names) == {*expected, "forces/wind on sign"}
    mass, alpha = 500 * 1 * 0.05 * 0.2, trajectory.channel("joints/pin/acceleration").values
    com = trajectory.channel("bodies/sign/com").values
    inertia = mass * (1**2 + 0.2**2) / 12
    rate = trajectory.channel("joints/pin/v").values
    acceleration = np.cross([[0, 1, 0]] * alpha, com) - rate**2 * com  # the pin is at the origin
    np.testing.assert_allclose(applied.force.sum(axis=1), mass * acceleration, atol=1e-10)
    moments = applied.moment + np.cross(applied.point - com[:, None], applied.force)
    np.testing.assert_allclose(moments.sum(axis=1)[:, 1:2], inertia * alpha, atol=1e-10)


def test_the_arrow_of_a_spring_lies_on_its_line(picture):
    applied = picture.motion.applied
    k = applied.names.index("springs/wire on sign")
    end = picture.motion.point(0, [0.4, 0, 0.1])
    along = np.array([0, 0, 0.8]) - end
    np.testing.assert_allclose(np.cross(applied.point[:, k] - end, along), 0, atol=1e-12)
    np.testing.assert_allclose(np.cross(applied.force[:, k], along), 0, atol=1e-9)
    assert np.all((applied.force[:, k] * along).sum(axis=1) > 0)  # it pulls
    np.testing.assert_allclose(applied.moment[:, k], 0, atol=1e-12)


def test_arrows_are_in_proportion_and_other_bodies_are_faint(picture):
    force, _ = scaled_arrows(picture.motion.applied, picture.drawing.reach)
    norms = np.linalg.norm(force, axis=-1)
    assert np.quantile(norms[norms > 0], 0.95) == pytest.approx(TYPICAL * picture.drawing.reach)
    placed = placed_at(picture.drawing, picture.motion, 0)
    colors = [one.color for one in placed if one.layer == "applied"]
    assert colors.count(FORCE_COLOR) == 4
    assert MOMENT_COLOR in colors  # of the wind; the pin has moments that hold the sign in its plane
    assert {one.layer for one in placed} == {"bodies", "ghost", "applied"}
    assert "N (violet) or " in picture.scale


def test_the_arrows_of_the_legend_are_as_long_as_those_of_their_forces(picture):
    """An arrow across the view in the middle of the picture, as it is drawn, and the same of the legend, in pixels."""
    shape = ImageFormat(400, 300, 1)
    camera = fitted_camera(picture.points, picture.view, picture.up, shape.aspect)
    strokes = legend_of(picture, camera, shape)
    scales = arrow_scales(picture.motion.applied, picture.drawing.reach)
    for color, scale in zip((FORCE_COLOR, MOMENT_COLOR), scales, strict=True):
        line = next(one.points for one in strokes if one.color == color)
        length = float(np.ptp(line[:, 0]))
        triangle = Mesh(
            np.array([np.zeros(3), camera.axes[0], camera.axes[1]]), np.zeros((3, 3)), np.array([[0, 1, 2]])
        )
        placed = Placed(triangle, camera.target, np.eye(3) * scale, color, "applied")
        corners = look([placed], camera, shape).corners[0]
        per_unit = float(np.hypot(*(corners[1] - corners[0])[:2]))
        value = length / per_unit
        assert value == pytest.approx(round_number(value), rel=1e-9)  # a round number of N or N m
        assert 0.2 * shape.width / 2.5 < length <= 0.2 * shape.width * (1.0 + 1e-9)


def test_lines_of_sight_are_parallel_and_along_the_hinges(picture):
    """All arrows are in proportion to their forces in the picture; the wire lies behind nothing of it."""
    shape, applied = ImageFormat(800, 600, 1), picture.motion.applied
    camera = picture.camera(picture.points, shape.aspect)
    np.testing.assert_allclose(camera.axes, [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=1e-12)
    scale = arrow_scales(applied, picture.drawing.reach)[0]
    pixels = []
    for k, force in enumerate(applied.force[0]):
        triangle = Mesh(np.array([np.zeros(3), scale * force, camera.axes[1]]), np.zeros((3, 3)), np.array([[0, 1, 2]]))
        placed = Placed(triangle, applied.point[0, k], np.eye(3), FORCE_COLOR, "applied")
        corners = look([placed], camera, shape).corners[0]
        pixels.append(float(np.hypot(*(corners[1] - corners[0])[:2])))
    sizes = np.linalg.norm(applied.force[0][:, [0, 2]], axis=1)
    np.testing.assert_allclose(pixels, sizes * pixels[0] / sizes[0], rtol=0.01, atol=1e-9)


def test_spatial_hinges_have_an_oblique_view(picture):
    """Another hinge across the first one."""
    joints = {**picture.loaded.scene.joints, "held": picture.loaded.scene.joints["pin"].model_copy()}
    joints["held"] = joints["held"].model_copy(update={"axis": (1.0, 0.0, 0.0)})
    scene = picture.loaded.scene.model_copy(update={"joints": joints})
    other = replace(picture, loaded=replace(picture.loaded, scene=scene))
    assert other._normal is None
    assert np.abs(picture._normal).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("turn", np.linspace(0.0, 6.0, 7))
def test_a_view_along_a_normal(turn):
    """Normals in the ground plane, up, and oblique ones: the camera looks along them, and is upright."""
    up = np.array([0.0, 0.0, 1.0])
    for normal in (
        np.array([np.cos(turn), np.sin(turn), 0.0]),
        np.array([np.cos(turn), np.sin(turn), 1.0]) / 2**0.5,
        up,
    ):
        camera = fitted_camera(np.eye(3), view_along(normal, up), up, 1.0)
        assert abs(camera.axes[2] @ normal) > 1.0 - 1e-5
        assert camera.axes[1] @ up > -1e-12
        assert camera.axes[0][np.argmax(np.abs(camera.axes[0]))] > 0.0  # the largest part leads to the right


def test_letters_differ():
    known = [_LETTERS[letter] for letter in ascii_uppercase + digits]
    assert len(set(known)) == len(known) - 1  # O and 0


def test_a_rod_leads_to_a_load(tmp_path):
    path = tmp_path / "beam.yaml"
    path.write_text("""mbsim: 1
bodies: {b: {mass: 1, com: [0.5, 0, 0], inertia: {principal: [1, 1, 1]}}}
joints: {pin: {type: revolute, axis: [0, 1, 0], child: b}}
forces: {load: {body: b, point: [1, 0, 0], force: [0, 0, -1]}}
simulation: {duration: 1 ms, step: 1 ms}
""")
    simulation, sink = prepare(path), MemorySink()
    simulation.run(sink)
    drawing = Picture(simulation.loaded, sink.trajectory(), np.arange(1)).drawing
    ends = [one.mesh.vertices[:, 0].max() for one in drawing.solids if one.name == "body b"]
    assert max(ends) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("most", "found"), [(1.0, 1.0), (1.99, 1.0), (2.0, 2.0), (49.0, 20.0), (0.0501, 0.05), (1e-7, 1e-7)]
)
def test_round_numbers(most, found):
    assert round_number(most) == found


def test_strokes_are_painted_where_they_are():
    """A horizontal line of thickness 4 covers 4 rows of pixels whole, and none beyond those beside."""
    white = np.full((40, 60, 3), 255, np.uint8)
    image = painted(white, [Stroke(np.array([(10.0, 20.0), (50.0, 20.0)]), 4.0, (0.0, 0.0, 0.0))])
    assert (image[18:22, 12:48] == 0).all()
    assert (image[:17] == 255).all()
    assert (image[23:] == 255).all()
    assert (white == 255).all()
    assert 'stroke="#000000"' in as_svg([Stroke(np.zeros((2, 2)), 4.0, (0.0, 0.0, 0.0))])


def test_letters_of_all_numbers_are_known(picture):
    shape = ImageFormat(400, 300, 1)
    camera = fitted_camera(picture.points, picture.view, picture.up, shape.aspect)
    for size in (1e-12, 1e-3, 7.0, 1e9):
        applied = replace(picture.motion.applied, force=size * picture.motion.applied.force)
        applied = replace(applied, moment=size * picture.motion.applied.moment)
        legend = SimpleNamespace(motion=SimpleNamespace(applied=applied), drawing=picture.drawing)
        assert len(legend_of(legend, camera, shape)) > 8


def test_the_page_has_the_arrows_and_their_scales(picture):
    """The drawing of the player, from the words of the page: forces and moments in proportion, each at its point."""
    binary = Binary()
    data = run_data(Shown("run", picture.drawing, picture.motion), binary)["applied"]
    content, applied = zlib.decompress(binary.compressed()), picture.motion.applied

    def values(one):
        count, offset = int(np.prod(one["words"]["shape"])), one["words"]["offset"]
        high, low = np.frombuffer(content, np.uint8, 2 * count, offset).reshape(2, count).astype(np.int64)
        folded = (256 * high + low).reshape(-1, one["words"]["shape"][0])
        change = np.where(folded % 2 == 0, folded // 2, -(folded // 2) - 1)
        words = np.cumsum(change, axis=1).T % 65536
        return (np.array(one["origin"]) + np.array(one["step"]) * words).reshape(one["words"]["shape"])

    assert data["count"] == len(applied.names)
    np.testing.assert_allclose(values(data["point"]), applied.point, atol=1e-4)
    moment, force = (values(one) for one in data["vectors"])
    np.testing.assert_allclose(force, applied.force, atol=1e-4 * np.abs(applied.force).max())
    np.testing.assert_allclose(moment, applied.moment, atol=1e-4 * np.abs(applied.moment).max())
    arrows = scaled_arrows(applied, picture.drawing.reach)
    np.testing.assert_allclose(data["scales"][1] * applied.force, arrows[0], rtol=1e-12)
    np.testing.assert_allclose(data["scales"][0] * applied.moment, arrows[1], rtol=1e-12)


def test_moments_of_round_off_are_no_arrows():
    forces, moments = np.full((2, 1, 3), 40.0), np.full((2, 1, 3), 1e-13)
    applied = AppliedHistory(("a",), frozenset(), np.zeros((2, 1, 3)), forces, moments)
    force, moment = arrow_scales(applied, 0.5)
    assert force > 0.0
    assert moment == 0.0
    assert arrow_scales(replace(applied, force=moments, moment=forces), 0.5)[0] == 0.0


def test_the_verb_refuses_what_it_cannot_draw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sign.yaml").write_text(SCENE)
    runner = CliRunner()
    for words, message in (
        (["--free-body", "sing", "-o", "a.png"], "--free-body sing: there is no such body: did you mean `sign`?"),
        (["--free-body", "sign", "-o", "a.glb"], "--free-body has no effect on *.glb"),
    ):
        result = runner.invoke(verb, ["sign.yaml", *words])
        assert message in str(result.exception) + result.output
    result = runner.invoke(verb, ["sign.yaml", "--free-body", "sign", "--size", "200x100", "-o", "a.png"])
    assert result.exit_code == 0, result.exception
    assert "an arrow of" in result.output
