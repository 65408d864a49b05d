"""Equalities, tendons and actuators of MJCF: relations and forces between bodies and coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.frames import Pose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.mjcf_model import BALL, FREE, Model, pose_of, reference_of

CONNECT, WELD, JOINT, TENDON = range(4)
"""Types of equalities (`mjtEq`)."""

OF_BODIES, OF_SITES = 1, 6
"""Types of the objects of an equality (`mjtObj`)."""

WRAP_JOINT, WRAP_PULLEY, WRAP_SITE = 1, 2, 3
"""Types of the parts of tendons (`mjtWrap`)."""

ON_JOINT, ON_JOINT_IN_PARENT, ON_TENDON = 0, 1, 3
"""Types of transmissions (`mjtTrn`)."""

FIXED_GAIN, AFFINE_GAIN = 0, 1
NO_BIAS, AFFINE_BIAS = 0, 1
"""Types of gains and biases (`mjtGain`, `mjtBias`)."""


# --- equalities -------------------------------------------------------------------------------------------------------
def read_equalities(model: Model) -> None:
    """Read equalities: `connect` and `weld` are joints that close loops, those of joints and tendons couplings."""
    arrays = model.arrays
    for index, type_ in enumerate(arrays.eq_type):
        element = model.element("eq", index, "equality")
        if not arrays.eq_active0[index] or model.is_disabled("equality"):
            model.drop(element, "not active at the start")
        elif type_ in (CONNECT, WELD):
            _close_loop(model, index, element)
        elif type_ in (JOINT, TENDON):
            _couple(model, index, element)
        else:
            model.drop(element, "deformable bodies (flex)")


def _close_loop(model: Model, index: int, element: Element) -> None:
    arrays = model.arrays
    first, second = (int(ids[index]) for ids in (arrays.eq_obj1id, arrays.eq_obj2id))
    data = arrays.eq_data[index]
    is_weld = arrays.eq_type[index] == WELD
    if arrays.eq_objtype[index] == OF_SITES:
        poses = [pose_of(arrays.site_pos[site], arrays.site_quat[site]) for site in (first, second)]
        first, second = int(arrays.site_bodyid[first]), int(arrays.site_bodyid[second])
    elif is_weld:
        anchor = Pose(data[:3], np.eye(3))
        poses = [pose_of(data[3:6], data[6:10]).at(anchor), anchor]
    else:
        poses = [Pose(data[:3], np.eye(3)), Pose(data[3:6], np.eye(3))]
    ends = [(model.names[first], poses[0]), (model.names[second], poses[1])]
    if ends[1][0] == WORLD:
        ends.reverse()
    (parent, pose), (child, child_pose) = ends
    name = arrays.names["eq"][index] or f"{parent}_{child}"
    joint = model.draft.add_joint(name, element, "fixed" if is_weld else "spherical", parent, child)
    joint.pose, joint.child_pose = pose, child_pose
    if not is_weld:
        joint.pose, joint.child_pose = Pose(pose.position, np.eye(3)), Pose(child_pose.position, np.eye(3))


def _couple(model: Model, index: int, element: Element) -> None:
    """Read coordinate 1 = polynomial of coordinate 2, both from their initial values."""
    arrays = model.arrays
    polynomial = arrays.eq_data[index][:5].tolist()
    of_joints = arrays.eq_type[index] == JOINT
    terms_of = _terms_of_joint if of_joints else _terms_of_tendon
    second = int(arrays.eq_obj2id[index])
    if any(polynomial[2:]) and second >= 0:
        model.drop(element, "a coupling by a polynomial of degree above 1")
        return
    terms = terms_of(model, int(arrays.eq_obj1id[index]), 1.0)
    others = terms_of(model, second, -polynomial[1]) if second >= 0 else {}
    if terms is None or others is None:
        model.drop(element, "a coupling of lengths along paths")
        return
    for name, factor in others.items():
        terms[name] = terms.get(name, 0.0) + factor
    value = {"value": polynomial[0]} if polynomial[0] else {}
    kind = "jnt" if of_joints else "tendon"
    name = arrays.names["eq"][index] or arrays.names[kind][arrays.eq_obj1id[index]] or f"coupling_{index + 1}"
    model.draft.add("couplings", name, element, type="linear", terms=terms, **value)


def _terms_of_joint(model: Model, joint: int, factor: float) -> dict[str, float] | None:
    if model.arrays.jnt_type[joint] in (FREE, BALL):
        return None
    return {model.address(joint): factor}


def _terms_of_tendon(model: Model, tendon: int, factor: float) -> dict[str, float] | None:
    """Return the terms of a fixed tendon; None for one along a path."""
    arrays = model.arrays
    first = int(arrays.tendon_adr[tendon])
    parts = range(first, first + int(arrays.tendon_num[tendon]))
    if any(arrays.wrap_type[part] != WRAP_JOINT for part in parts):
        return None
    terms: dict[str, float] = {}
    for part in parts:
        name = model.address(int(arrays.wrap_objid[part]))
        terms[name] = terms.get(name, 0.0) + factor * float(arrays.wrap_prm[part])
    return terms


# --- tendons ----------------------------------------------------------------------------------------------------------
def read_tendons(model: Model) -> None:
    """Read tendons along straight paths with stiffness or damping: springs."""
    arrays = model.arrays
    for index in range(len(arrays.tendon_adr)):
        element = model.element("tendon", index, "tendon")
        stiffness, damping = float(arrays.tendon_stiffness[index]), float(arrays.tendon_damping[index])
        first = int(arrays.tendon_adr[index])
        parts = range(first, first + int(arrays.tendon_num[index]))
        if any(arrays.wrap_type[part] != WRAP_SITE for part in parts) or not (stiffness or damping):
            continue
        path = [_site(model, int(arrays.wrap_objid[part])) for part in parts]
        low, high = arrays.tendon_lengthspring[index].tolist()
        name = arrays.names["tendon"][index] or f"tendon_{index + 1}"
        fields = {"stiffness": stiffness, "rest_length": low} | ({"damping": damping} if damping else {})
        model.draft.add("springs", name, element, path=path, **fields)
        if low != high:
            model.reading.ledger.approximate(
                element, "no range without force", f"{low:g} to {high:g} m", "springlength"
            )


def _site(model: Model, site: int) -> dict[str, Any]:
    arrays = model.arrays
    return {"body": model.names[arrays.site_bodyid[site]], "point": arrays.site_pos[site].tolist()}


# --- actuators --------------------------------------------------------------------------------------------------------
def read_actuators(model: Model) -> None:
    """Read actuators of one coordinate: a force, or a servo of position or velocity, for controls that are 0."""
    arrays = model.arrays
    for index in range(len(arrays.actuator_trntype)):
        element = model.element("actuator", index, "actuator")
        reason = _unsupported(model, index)
        if reason:
            model.drop(element, reason)
        elif not model.is_disabled("actuation"):
            _add_actuator(model, index, element)


def _unsupported(model: Model, index: int) -> str:
    """Return the reason why a scene cannot have an actuator; empty if it can."""
    arrays = model.arrays
    joint = int(arrays.actuator_trnid[index, 0])
    if arrays.actuator_trntype[index] not in (ON_JOINT, ON_JOINT_IN_PARENT):
        return "acts on no coordinate of a joint"
    if arrays.jnt_type[joint] in (FREE, BALL):
        return "acts on a rotation with three degrees of freedom"
    if arrays.actuator_dyntype[index]:
        return "has an activation with dynamics"
    if arrays.actuator_gaintype[index] != FIXED_GAIN or arrays.actuator_biastype[index] not in (NO_BIAS, AFFINE_BIAS):
        return "a law of its own"
    return ""


def _add_actuator(model: Model, index: int, element: Element) -> None:
    """Add force = gear (gain u + b0 + b1 gear q + b2 gear v), with the control u = 0 within its range."""
    arrays = model.arrays
    joint = int(arrays.actuator_trnid[index, 0])
    gear = float(arrays.actuator_gear[index, 0])
    gain, (b0, b1, b2) = float(arrays.actuator_gainprm[index, 0]), arrays.actuator_biasprm[index, :3].tolist()
    control = 0.0
    if arrays.actuator_ctrllimited[index]:
        control = float(np.clip(0.0, *arrays.actuator_ctrlrange[index]))
    if not arrays.actuator_biastype[index]:
        b0 = b1 = b2 = 0.0
    fields: dict[str, Any] = {"joint": model.address(joint)}
    force = gear * (gain * control + b0 + b1 * gear * reference_of(model, joint))
    stiffness, damping = -b1 * gear * gear, -b2 * gear * gear
    if stiffness > 0.0:
        fields |= {"type": "position", "kp": stiffness, "target": force / stiffness} | (
            {"kv": damping} if damping else {}
        )
    elif damping > 0.0:
        fields |= {"type": "velocity", "kv": damping, "target": force / damping}
    else:
        fields |= {"type": "general", "force": force}
    if arrays.actuator_forcelimited[index]:
        fields["limits"] = sorted(float(gear * value) for value in arrays.actuator_forcerange[index])
    name = arrays.names["actuator"][index] or f"{fields['joint'].replace('/', '_')}_{fields['type']}"
    model.draft.add("actuators", name, element, **fields)
