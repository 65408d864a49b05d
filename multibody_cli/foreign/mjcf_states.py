"""Keyframes of MJCF: initial states of the scene by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.foreign.draft import Joint
from multibody_cli.foreign.mjcf_model import BALL, FREE, SIZES, MjcfModel, pose_entry, pose_of, reference_of
from multibody_cli.foreign.mjcf_transmissions import control_of, fixed_tendons, is_integral, tendon_name

TOLERANCE = 0.01
"""Largest distance of a tendon from its range at the start, rad, which the assembly removes."""


def read_states(model: MjcfModel) -> None:
    """Read keyframes as initial states."""
    arrays = model.arrays
    states = {}
    for key in range(len(arrays.key_time)):
        if reason := _outside_of_a_tendon(model, key):
            model.drop(model.element("key", key, "keyframe"), reason)
            continue
        joints: dict[str, Any] = {}
        bodies: dict[str, Any] = {}
        for joint in range(len(arrays.jnt_type)):
            q, v = _of_key(model, key, joint)
            name = model.draft.coordinates[model.joint_name(joint)].joint
            if name in model.draft.joints:
                entry = joints.setdefault(name, {"q": [], "v": []})
                entry["q"].append(_scene_position(model, key, joint, q))
                entry["v"].append(_scene_velocity(model, joint, q, v))
            elif held := model.draft.inboard(name):
                _add_held(model, key, joints, held[0])
            else:
                bodies[name] = _scene_position(model, key, joint, q) | {"velocity": _scene_velocity(model, joint, q, v)}
        single = {
            name: {field: values[0] for field, values in entry.items()} if len(entry["q"]) == 1 else entry
            for name, entry in joints.items()
        }
        numbers = {"inputs": _controls(model, key), "actuators": _activations(model, key)}
        sections = {"joints": single, "bodies": bodies, **numbers}
        parts = {section: entries for section, entries in sections.items() if entries}
        states[arrays.names["key"][key] or f"key_{key + 1}"] = parts
    if states:
        element = next((one for one in model.bodies[0].walk() if one.tag == "keyframe"), model.bodies[0])
        model.draft.set("states", element, states)


def _add_held(model: MjcfModel, key: int, joints: dict[str, Any], joint: Joint) -> None:
    """Add the coordinates of a free body that an equality holds, whose joint takes the place of the free one."""
    if joint.type == "spherical":
        turn, spin = model.motion_between(joint.parent, joint.child, key + 1)
        joints[joint.name] = {"q": [{"quaternion": turn}], "v": [spin]}
    else:
        text = f"joint `{joint.name}` determines the pose of `{joint.child}`, which the keyframe does not change"
        model.reading.ledger.note(model.element("key", key, "keyframe").mark, text)


def _outside_of_a_tendon(model: MjcfModel, key: int) -> str:
    """Return the reason why no state can have the coordinates of a keyframe; empty if one can."""
    arrays = model.arrays
    for tendon, terms in fixed_tendons(model).items():
        value = sum(factor * float(_of_key(model, key, joint)[0][0]) for joint, factor in terms)
        lower, upper = arrays.tendon_range[tendon].tolist()
        if arrays.tendon_limited[tendon] and not lower - TOLERANCE <= value <= upper + TOLERANCE:
            name = tendon_name(model, tendon)
            return f"tendon `{name}` is at {value:.4g}, outside of its range from {lower:.4g} to {upper:.4g}"
    return ""


def _controls(model: MjcfModel, key: int) -> dict[str, float]:
    """Return the inputs that a keyframe changes."""
    found = {}
    for actuator, name in model.inputs.items():
        if is_integral(model, actuator):
            control = _act(model, key, actuator)
        else:
            control = control_of(model, actuator, float(model.arrays.key_ctrl[key, actuator]))
        if control != model.draft.elements["inputs"][name].value:
            found[name] = control
    return found


def _activations(model: MjcfModel, key: int) -> dict[str, dict[str, float]]:
    """Return the initial activations of filters that a keyframe changes."""
    return {
        name: {"initial_activation": offset + factor * act}
        for actuator, (name, offset, factor) in model.activations.items()
        if (act := _act(model, key, actuator)) != 0.0
    }


def _act(model: MjcfModel, key: int, actuator: int) -> float:
    """Return the activation of an actuator in a keyframe."""
    return float(model.arrays.key_act[key, model.arrays.actuator_actadr[actuator]])


def _of_key(model: MjcfModel, key: int, joint: int) -> tuple[Any, Any]:
    """Return the coordinates and velocities of a joint of the file in a keyframe."""
    arrays = model.arrays
    size, speeds = SIZES[int(arrays.jnt_type[joint])]
    first, column = int(arrays.jnt_qposadr[joint]), int(arrays.jnt_dofadr[joint])
    return arrays.key_qpos[key, first : first + size], arrays.key_qvel[key, column : column + speeds]


def _scene_position(model: MjcfModel, key: int, joint: int, q: Any) -> Any:
    """Return coordinates in the form of the scene, those of hinges and slides within their limits."""
    type_ = int(model.arrays.jnt_type[joint])
    if type_ == FREE:
        return pose_entry(q)
    if type_ == BALL:
        return {"quaternion": q.tolist()}
    value = float(q[0])
    if model.arrays.jnt_limited[joint] and not model.is_disabled("limit"):
        value = float(np.clip(value, *model.arrays.jnt_range[joint]))
    if value != q[0]:
        keyframe = model.arrays.names["key"][key] or f"key_{key + 1}"
        text = f"`{keyframe}` has {model.joint_name(joint)} at its limit {value:g} in place of {q[0]:g}"
        model.reading.ledger.note(model.element("key", key, "keyframe").mark, text)
    return value - reference_of(model, joint)


def _scene_velocity(model: MjcfModel, joint: int, q: Any, v: Any) -> Any:
    """Return velocities in the form of the scene; that of a free body has the axes of the world."""
    type_ = int(model.arrays.jnt_type[joint])
    if type_ == FREE:
        return {"linear": v[:3].tolist(), "angular": (pose_of(q[:3], q[3:]).rotation @ v[3:]).tolist()}
    return v.tolist() if type_ == BALL else float(v[0])
