"""Free-body diagrams: the arrows are all forces on a body, at points of their lines."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from multibody_cli.cli.render import verb
from multibody_cli.immutable import replace
from multibody_cli.output.sink import MemorySink
from multibody_cli.render.drawing import FORCE_COLOR, MOMENT_COLOR, TYPICAL, arrow_scales, placed_at, scaled_arrows
from multibody_cli.render.motion import AppliedHistory
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
