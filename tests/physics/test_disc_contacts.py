"""Contacts of trees whose joints have friction in two directions: balls, sleeves and plates."""

from __future__ import annotations

import numpy as np
import pytest
from friction_trees import prepared, started
from test_tree_contacts import JOURNAL, METHODS, L, arm, arm_on_plate, compare


def arm_with_discs(kinds, angle=0.8, height=None, **more):
    """An arm whose joints have friction patches that slip in two directions: balls, sleeves and plates."""
    scene = arm(len(kinds), height, **more)
    for i, kind in enumerate(kinds):
        joint, swing = scene["joints"][f"joint{i}"], angle if i == 0 else 0.25 * angle
        match kind:
            case "ball":
                joint |= {"type": "spherical", "q": {"rotvec": [0.1 * i * angle, swing, 0.0]}}
                surface = {"radius": 0.02}
            case "sleeve":
                joint |= {"type": "cylindrical", "axis": [0, 1, 0], "q": [swing, 0.0], "stiffness": [0.0, 1e3]}
                surface = JOURNAL["surface"]
            case "plate":
                joint |= {"type": "planar", "q": [0.0, 0.0], "stiffness": [1e3, 1e3]}
                surface = {"length": 0.1, "width": 0.08}
            case _:
                continue
        del joint["friction"]
        if kind != "sleeve":
            del joint["axis"]
        joint["friction"] = {"coefficient": 0.3, "surface": surface}
    return scene


@pytest.mark.parametrize(
    ("kinds", "method"),
    [(["ball", "sleeve", "hinge", "plate"], method) for method in METHODS]
    + [(["ball"] * 3, method) for method in METHODS if method != "variational"],
)
def test_an_arm_with_discs_on_the_floor_moves_as_with_rows(tmp_path, monkeypatch, kinds, method):
    assert compare(tmp_path, monkeypatch, arm_with_discs(kinds), method, 330) > 10


def test_states_of_many_discs_do_not_cycle(tmp_path, monkeypatch):
    """Newton's method alternates between loads of opposite signs in a step, but for its half steps."""
    assert compare(tmp_path, monkeypatch, arm_with_discs(["ball"] * 10, 0.5), "aba", 552) > 10


@pytest.mark.parametrize(("angle", "height"), [(0.0, 2 * L + 0.02), (1e-9, 2 * L + 0.02), (np.pi / 2, 0.021)])
def test_an_arm_with_discs_at_a_special_position_moves_as_with_rows(tmp_path, monkeypatch, angle, height):
    """Straight above the contact, where no joint moves the tip along the normal; and at a right angle.

    The losses, 1e-3 of the energy, are accurate to the tolerance of the contacts relative to the energy.
    """
    scene = arm_with_discs(["ball", "ball"], float(angle), height)
    scene["joints"]["joint1"]["q"] = {"rotvec": [0.0, 0.0, 0.0]}
    scene["joints"]["joint0"]["v"] = [0.3, 0.0, 0.1]
    assert compare(tmp_path, monkeypatch, scene, "aba", 60, 1e-7) > 5


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff", "variational"])
def test_an_arm_with_discs_on_a_moving_plate_moves_as_with_rows(tmp_path, monkeypatch, method):
    """Joints with discs are eliminated by equations where the loop of the contact is open."""
    scene, discs = arm_on_plate(3), arm_with_discs(["ball", "sleeve", "hinge"])
    scene["joints"] |= {
        name: discs["joints"][name] | {"origin": scene["joints"][name]["origin"]} for name in discs["joints"]
    }
    assert compare(tmp_path, monkeypatch, scene, method, 330) > 10


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_an_arm_with_discs_comes_to_rest_on_the_floor(tmp_path, method):
    """Balls that stick share their torque between three discs."""
    scene = arm_with_discs(["ball"] * 3)
    for joint in scene["joints"].values():
        joint |= {"damping": 0.02}
        joint["friction"]["coefficient"] = 0.6
    state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
    with_rows = 0
    for _ in range(2500):
        stepper.contact_work.factors.rank[:] = 0
        assert stepper.step(state, 1) is None
        with_rows += stepper.contact_work.factors.rank.any()
    assert with_rows <= 5
    assert np.abs(state.v).max() < 1e-13
