"""Every scene of `broken/` is refused with exactly the messages of its `.expected` file.

`{constraints}` in a message is the list of the types of this catalogue, so that a new type changes no file.
"""

from pathlib import Path

import pytest

from multibody_cli.actuators import ACTUATORS
from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.errors import SceneError
from multibody_cli.scene.load import load_scene
from multibody_cli.scene.shapes import SHAPES

BROKEN = Path(__file__).parent / "broken"
CATALOGUES = {"actuators": ACTUATORS, "constraints": CONSTRAINTS, "couplings": COUPLINGS, "shapes": SHAPES}
SCENES = sorted(path.name for path in BROKEN.glob("*.yaml"))


def test_the_corpus_is_not_empty():
    assert len(SCENES) >= 100


@pytest.mark.parametrize("name", SCENES)
def test_messages(name, monkeypatch):
    monkeypatch.chdir(BROKEN)
    with pytest.raises(SceneError) as refusal:
        load_scene(name)
    expected = Path(name).with_suffix(".expected").read_text().rstrip("\n")
    for catalogue, types in CATALOGUES.items():
        expected = expected.replace(f"{{{catalogue}}}", ", ".join(sorted(types)))
    assert str(refusal.value) == expected
    assert refusal.value.exit_code == 2


def test_every_expected_message_has_a_scene():
    assert {path.stem for path in BROKEN.glob("*.expected")} == {Path(name).stem for name in SCENES}


def test_missing_file(tmp_path):
    with pytest.raises(SceneError, match=r"nowhere\.yaml: cannot read the file: No such file"):
        load_scene(tmp_path / "nowhere.yaml")


def test_folder(tmp_path):
    with pytest.raises(SceneError, match="cannot read the file: Is a directory; name a file in it"):
        load_scene(tmp_path)


def test_a_file_that_is_not_utf8(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_bytes(b"mbsim: \xff\xfe")
    with pytest.raises(SceneError, match=r"scene\.yaml: the file is not UTF-8 text \(byte 7\)"):
        load_scene(path)
