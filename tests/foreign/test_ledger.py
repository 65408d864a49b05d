"""Each element and attribute of a source has one fate, for any contents."""

from __future__ import annotations

import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

ROBOT = Path(__file__).with_name("robot.urdf")


def report_of(path: Path) -> ImportReport:
    return ImportReport(read_model(path, Options(), Problems()).ledger)


def test_the_robot_of_these_tests_has_no_unknown_item() -> None:
    assert report_of(ROBOT).count("unknown") == 0


def test_items_are_those_of_the_file() -> None:
    """Kept and lost items add up to all elements and attributes, of which dropped elements cover their content."""
    report = report_of(ROBOT)
    tree = ElementTree.parse(ROBOT).getroot()
    total = sum(1 + len(element.attrib) for element in tree.iter())
    covered = sum(
        sum(1 + len(inner.attributes) for inner in entry.element.walk()) - 1
        for entry in report.losses
        if not entry.attribute and entry.fate != "approximated"
    )
    assert len(report.entries) + covered == total
    keys = [(id(entry.element), entry.attribute) for entry in report.entries]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("seed", range(50))
def test_unknown_elements_and_attributes_are_reported_once_each(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tree = ElementTree.parse(ROBOT)
    before = report_of(ROBOT)
    dropped = {entry.element.tag for entry in before.losses if not entry.attribute and entry.fate == "dropped"}
    covered = {inner for element in tree.iter() if element.tag in dropped for inner in element.iter()}
    parents = [element for element in tree.iter() if element not in covered]
    added = []
    for k in range(rng.randint(1, 8)):
        parent = rng.choice(parents)
        if rng.random() < 0.5:
            element = ElementTree.Element(f"unknown{k}", {"name": "a"} if rng.random() < 0.5 else {})
            element.text = rng.choice([None, "text"])
            if rng.random() < 0.5:
                ElementTree.SubElement(element, "inner", value="1")
            parent.insert(rng.randint(0, len(parent)), element)
            added.append((f"unknown{k}", ""))
        else:
            parent.set(f"unknown{k}", "1")
            added.append((parent.tag, f"unknown{k}"))
    children = list(tree.getroot())
    rng.shuffle(children)  # their order has no meaning
    tree.getroot()[:] = children
    path = tmp_path / "fuzzed.urdf"
    tree.write(path)
    report = report_of(path)
    unknown = [(entry.element.tag, entry.attribute) for entry in report.entries if entry.fate == "unknown"]
    assert sorted(unknown) == sorted(added)
    assert report.count("kept") == before.count("kept")
    text = "\n".join(report.lines())
    for k in range(len(added)):
        assert len(re.findall(rf"unknown{k}\b", text)) == 1
