"""The section `states:` of a scene: initial states by name, of which `simulation.state` chooses one.

A state has fields of joints, bodies and actuators, and numbers as inputs.  Those of the chosen one replace those of
the scene, before the overrides; the resolved scene contains neither the section nor the choice.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.errors import nearest
from multibody_cli.nodes import Mark, Node, Problems, mapping, plain
from multibody_cli.spec.quantities import format_value

SECTION, CHOICE = "states", ("simulation", "state")

FIELDS = {
    "joints": ("q", "v"),
    "bodies": ("position", "rotation", "velocity"),
    "inputs": (),
    "actuators": ("initial_activation",),
}
"""The fields that a state may give, by section; none where an entry is a number."""


def with_state(root: Node, problems: Problems) -> tuple[Node, Node | None]:
    """Return the scene with the chosen state and without the section of states; also return this section.

    Parameters
    ----------
    root
        The scene, with all overrides of states.
    problems
        Collects a choice that is no state; `scene.checks.states` reports invalid states.
    """
    states, settings = root.value.get(SECTION), root.value.get(CHOICE[0])
    root = _without(root, SECTION)
    chosen = settings.value.get(CHOICE[1]) if settings is not None and type(settings.value) is dict else None
    if chosen is None:
        return root, states
    root = _with_entry(root, CHOICE[0], _without(settings, CHOICE[1]))
    names = states.value if states is not None and type(states.value) is dict else {}
    if isinstance(chosen.value, str) and chosen.value in names:
        return _merged(root, names[chosen.value]), states
    word = chosen.value if isinstance(chosen.value, str) else ""
    remedy = nearest(word, names) if names else "the scene has no `states`: leave out the choice, or add the section"
    problems.add(chosen.mark, CHOICE, f"unknown state {format_value(plain(chosen))}: {remedy}")
    return root, states


def _merged(root: Node, state: Node) -> Node:
    for section, fields in FIELDS.items():
        present, given = root.value.get(section), _entries(state).get(section)
        if present is None or type(present.value) is not dict or given is None:
            continue
        for name, entry in _entries(given).items():
            element = present.value.get(name)
            if element is None:
                continue
            if not fields:
                present = _with_entry(present, name, entry)
            elif type(element.value) is dict and type(entry.value) is dict:
                for field in fields:
                    if field in entry.value and entry.keys is not None:
                        element = _with_entry(element, field, entry.value[field], entry.keys[field])
                present = _with_entry(present, name, element)
        root = _with_entry(root, section, present)
    return root


def _entries(node: Node) -> dict[str, Any]:
    return node.value if type(node.value) is dict else {}


def _with_entry(node: Node, key: str, entry: Node, mark: Mark | None = None) -> Node:
    """Return a mapping with another entry; `mark` is the position of its key, by default that of the present one."""
    assert node.keys is not None
    return mapping({**node.value, key: entry}, node.mark, {**node.keys, key: mark or node.keys[key]})


def _without(node: Node, key: str) -> Node:
    assert node.keys is not None
    left = [one for one in node.value if one != key]
    return mapping({one: node.value[one] for one in left}, node.mark, {one: node.keys[one] for one in left})
