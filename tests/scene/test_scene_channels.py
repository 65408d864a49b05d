"""The channels available in assertions are those of a run."""

import math
from pathlib import Path

import pytest

from multibody_cli.compile import compile_scene
from multibody_cli.escaping import path_component
from multibody_cli.joints.contract import Coordinate
from multibody_cli.output.bodies import body_paths
from multibody_cli.output.channel import INSTANT
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.series import series_of
from multibody_cli.scene.channels import KINDS, channels
from multibody_cli.scene.load import load_scene

GALLERY = sorted((Path(__file__).parents[2] / "scenes" / "gallery").glob("*.yaml"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_accounts_and_widths(path):
    loaded = load_scene(path)
    known = channels(loaded.scene)
    names = compile_scene(loaded).model.names
    accounts = {name for name in known if name.startswith(("energy/work/", "energy/dissipation/"))}
    assert accounts == {f"energy/{account.kind}/{account.cause}" for account in names.accounts}
    for joint in loaded.scene.joints:
        entry = next(entry for entry in names.joints if entry.name == joint)
        if entry.coordinates:
            assert known[f"joints/{path_component(joint)}/q"].width == len(entry.coordinates)


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_channels_are_those_of_the_result_file(path):
    """Names and widths as in the result file, but for arrays of all bodies and channels without components."""
    loaded = load_scene(path)
    known = {name: channel.width for name, channel in channels(loaded.scene).items()}
    names = compile_scene(loaded).model.names
    recorded = {
        series.path: math.prod(series.shape)
        for series in series_of(names)
        if series.channel.per == INSTANT and "body" not in series.channel.dimensions
    }
    of_bodies = set(body_paths(names.bodies, {series.path for series in series_of(names)}))
    assert {name: width for name, width in known.items() if name not in of_bodies} == recorded
    assert of_bodies <= known.keys()


def test_every_unit_is_known():
    for channel in (channel for channel in CHANNELS if channel.per == INSTANT):
        for coordinate in Coordinate:
            for unit in channel.units.format(q=coordinate.value).split(", "):
                assert " or " in unit or unit in KINDS


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_resolved_text_gives_the_same_scene(path, tmp_path):
    first = load_scene(path)
    copy = tmp_path / "scene.yaml"
    copy.write_text(first.text)
    assert load_scene(copy).scene == first.scene
