"""The catalogue of force elements: complete entries, and the refusal of incomplete ones."""

from __future__ import annotations

import numpy as np
import pytest
from force_scenes import ELEMENTS as TESTED
from force_scenes import element_in, floating

from multibody_cli.forces import body_drag, body_load, joint_spring
from multibody_cli.forces.contract import ForceElement, IncompleteElementError
from multibody_cli.forces.elements import ELEMENTS, FORCE_KEYS, FORCES, PLACES
from multibody_cli.immutable import replace


def test_every_element_on_bodies_is_tested_against_finite_differences():
    tested = {element_in(floating(name)).name for name in TESTED}
    assert tested == {element.name for element in ELEMENTS if element.acts_on_bodies}


def test_names_and_entries_are_unique():
    assert len(PLACES) == len(ELEMENTS)
    assert set(FORCE_KEYS.values()) == set(FORCES)
    kinds = [(element.entry.section, element.entry.kind) for element in ELEMENTS if element.entry]
    assert len(set(kinds)) == len(kinds)


DRAG = body_drag.ELEMENT


@pytest.mark.parametrize(
    ("element", "change", "problem"),
    [
        (DRAG, {"add_stiffness_blocks": None}, "it is `implicit` and has no kernel `add_stiffness_blocks`"),
        (
            DRAG,
            {"stiffness_damping_product": None},
            "it acts on bodies and has no kernel `stiffness_damping_product`",
        ),
        (
            DRAG,
            {"implicit": False},
            "it acts on bodies and is not `implicit`, so that its kernel `add_stiffness_blocks` would never be called",
        ),
        (DRAG, {"bodies": ("body",)}, "its records lack the integer field `body`"),
        (DRAG, {"bodies": ()}, "expected one of `coordinates` (of a joint), and `bodies`, `cable` or `spans`"),
        (DRAG, {"coordinates": 1}, "expected one of `coordinates` (of a joint), and `bodies`, `cable` or `spans`"),
        (DRAG, {"cable": True}, "its records lack the integer field `first`"),
        (DRAG, {"dtype": np.dtype([("row", "i8")])}, "its records lack the integer field `account`"),
        (
            DRAG,
            {"dtype": np.dtype([("account", "i8"), ("row", "i8")])},
            "the last field of its records must be `account`",
        ),
        (
            DRAG,
            {"apply_force": body_drag.add_stiffness_blocks},
            "its kernel `apply_force` takes (forces, t, bodies, displacement_factor, velocity_factor, blocks) after "
            "its record, expected (forces, t, q, v, bodies, tau, powers, watched, warnings, k)",
        ),
        (
            body_load.ELEMENT,
            {"implicit": True},
            "it is `implicit` and has no kernel `add_stiffness_blocks`",
        ),
        (
            joint_spring.ELEMENT,
            {"implicit_joint_force": None},
            "it is `implicit` and has no kernel `implicit_joint_force`",
        ),
        (
            joint_spring.ELEMENT,
            {"stiffness_damping_product": body_drag.stiffness_damping_product},
            "it acts on coordinates of joints, so that its kernel `stiffness_damping_product` would never be called",
        ),
    ],
)
def test_an_incomplete_element_is_refused(element: ForceElement, change, problem):
    with pytest.raises(IncompleteElementError) as refused:
        replace(element, **change)
    assert str(refused.value) == f"force element `{element.name}`: {problem}"


def test_an_element_without_a_force_is_refused():
    with pytest.raises(IncompleteElementError, match="has no kernel `apply_force`"):
        replace(DRAG, apply_force=None)
