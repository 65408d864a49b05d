"""The channels that an assertion may speak of are those that a run reports."""

from pathlib import Path

import pytest

from multibody_cli.compile import compile_scene
from multibody_cli.scene.channels import channels
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
        assert known[f"joints/{joint}/q"].width == len(entry.coordinates)


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_resolved_text_gives_the_same_scene(path, tmp_path):
    first = load_scene(path)
    copy = tmp_path / "scene.yaml"
    copy.write_text(first.text)
    assert load_scene(copy).scene == first.scene
