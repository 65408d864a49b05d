"""Equalities, tendons and actuators of MJCF: relations and forces between bodies and coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.expressions import Reference
from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.mjcf_model import BALL, FREE, UNTURNED, MjcfModel, pose_of, reference_of
from multibody_cli.foreign.renaming import unused
from multibody_cli.foreign.rounding import number

CONNECT, WELD, JOINT, TENDON = range(4)
"""Types of equalities (`mjtEq`)."""

OF_SITES = 6
"""Type of the objects of an equality that are sites (`mjtObj`)."""

WRAP_JOINT, WRAP_PULLEY, WRAP_SITE = 1, 2, 3
SURFACES = {4: "sphere", 5: "cylinder"}
"""Types of the parts of tendons (`mjtWrap`)."""

ON_JOINTS, ON_TENDON = (0, 1), 3
"""Types of transmissions (`mjtTrn`)."""

NO_DYNAMICS, INTEGRATOR, FILTERS = 0, 1, (2, 3)
"""Types of activations (`mjtDyn`)."""

FIXED_GAIN = 0
NO_BIAS, AFFINE_BIAS = 0, 1
"""Types of gains and biases (`mjtGain`, `mjtBias`)."""


# --- equalities -------------------------------------------------------------------------------------------------------
def read_equalities(model: MjcfModel) -> None:
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


def _close_loop(model: MjcfModel, index: int, element: Element) -> None:
    arrays = model.arrays
    first, second = (int(ids[index]) for ids in (arrays.eq_obj1id, arrays.eq_obj2id))
    data = arrays.eq_data[index]
    is_weld = arrays.eq_type[index] == WELD
    if arrays.eq_objtype[index] == OF_SITES:
        poses = [pose_of(arrays.site_pos[site], arrays.site_quat[site]) for site in (first, second)]
        first, second = int(arrays.site_bodyid[first]), int(arrays.site_bodyid[second])
    elif is_weld:
        poses = [pose_of(data[3:6], data[6:10]), FramePose(data[:3], np.eye(3))]
    else:
        poses = [FramePose(data[:3], np.eye(3)), FramePose(data[3:6], np.eye(3))]
    if first == second:
        model.drop(element, "both ends belong to one body")
        return
    holds_turn = is_weld and data[10] != 0.0  # `torquescale`
    if not holds_turn:
        poses = [FramePose(pose.position, np.eye(3)) for pose in poses]
    ends = [(model.names[first], poses[0]), (model.names[second], poses[1])]
    if ends[1][0] == WORLD or model.carries(ends[1][0], ends[0][0]):
        ends.reverse()
    (parent, pose), (child, child_pose) = ends
    name = unused(arrays.names["eq"][index] or f"{parent}_{child}", model.draft.joints)
    joint = model.draft.add_joint(name, element, "fixed" if holds_turn else "spherical", parent, child)
    joint.pose, joint.child_pose = pose, child_pose
    model.count_opening("eq", index)
    turn, _ = model.motion_between(parent, child, 0)
    if not holds_turn and model.draft.inboard(child) == [joint] and turn != UNTURNED["quaternion"]:
        joint.fields["q"] = {"quaternion": turn}  # in place of a free joint


def _couple(model: MjcfModel, index: int, element: Element) -> None:
    """Read coordinate 1 = polynomial of coordinate 2, both from their initial values."""
    arrays = model.arrays
    polynomial = arrays.eq_data[index][:5].tolist()
    of_joints = arrays.eq_type[index] == JOINT
    terms_of = _terms_of_joint if of_joints else _terms_of_tendon
    second = int(arrays.eq_obj2id[index])
    is_curved = any(polynomial[2:]) and second >= 0
    first_name = arrays.names["jnt" if of_joints else "tendon"][arrays.eq_obj1id[index]]
    if is_curved and not of_joints:
        model.drop(element, f"a coupling of tendons by a polynomial of degree above 1, of `{first_name}`")
        return
    terms = terms_of(model, int(arrays.eq_obj1id[index]), 1.0)
    others = terms_of(model, second, -polynomial[1]) if second >= 0 else {}
    if terms is None or others is None:
        model.drop(element, f"a coupling of lengths along paths, of `{first_name}`")
        return
    model.count_opening("eq", index)
    if is_curved:
        powers = [f"{c:.17g}" + ("", "*x")[k > 0] + (f"**{k}" if k > 1 else "") for k, c in enumerate(polynomial) if c]
        (output,), (source,) = terms, others
        fields: dict[str, Any] = {"output": output, "inputs": {"x": source}, "value": " + ".join(powers)}
    else:
        for name, factor in others.items():
            terms[name] = terms.get(name, 0.0) + factor
        fields = {"terms": terms} | ({"value": polynomial[0]} if polynomial[0] else {})
    name = arrays.names["eq"][index] or first_name or f"coupling_{index + 1}"
    name = unused(name, model.draft.elements.get("couplings", {}))
    model.draft.add("couplings", name, element, type="function" if is_curved else "linear", **fields)


def _terms_of_joint(model: MjcfModel, joint: int, factor: float) -> dict[str, float] | None:
    if model.arrays.jnt_type[joint] in (FREE, BALL):
        return None
    return {model.address(joint): factor}


def _terms_of_tendon(model: MjcfModel, tendon: int, factor: float) -> dict[str, float] | None:
    """Return the terms of a fixed tendon; None for one along a path."""
    arrays = model.arrays
    parts = _parts(model, tendon)
    if any(arrays.wrap_type[part] != WRAP_JOINT for part in parts):
        return None
    terms: dict[str, float] = {}
    for part in parts:
        name = model.address(int(arrays.wrap_objid[part]))
        terms[name] = terms.get(name, 0.0) + factor * float(arrays.wrap_prm[part])
    return terms


# --- tendons ----------------------------------------------------------------------------------------------------------
def read_tendons(model: MjcfModel) -> None:
    """Read tendons: sums of coordinates are combinations, straight lines through sites paths with springs and ropes."""
    arrays = model.arrays
    for index in range(len(arrays.tendon_adr)):
        element = model.element("tendon", index, "tendon")
        parts = _parts(model, index)
        terms = _terms_of_tendon(model, index, 1.0)
        if terms is not None:
            offset = sum(arrays.wrap_prm[part] * reference_of(model, int(arrays.wrap_objid[part])) for part in parts)
            fields = {"terms": terms} | ({"offset": float(offset)} if offset else {})
            fields |= _elastic(model, index, "rest") | _friction(model, index)
            model.draft.add("combinations", tendon_name(model, index), element, **fields)
        elif reason := _obstacle(model, index):
            model.drop(element, reason)
        else:
            _add_path(model, index, element)


def fixed_tendons(model: MjcfModel) -> dict[int, list[tuple[int, float]]]:
    """Return the joints and factors of each tendon that is a sum of coordinates."""
    arrays = model.arrays
    return {
        tendon: [(int(arrays.wrap_objid[part]), float(arrays.wrap_prm[part])) for part in _parts(model, tendon)]
        for tendon in range(len(arrays.tendon_adr))
        if all(arrays.wrap_type[part] == WRAP_JOINT for part in _parts(model, tendon))
    }


def tendon_name(model: MjcfModel, index: int) -> str:
    """Return the name of a tendon in the scene."""
    return model.arrays.names["tendon"][index] or f"tendon_{index + 1}"


def _obstacle(model: MjcfModel, index: int) -> str:
    """Return the reason why a scene cannot have the path of a tendon; empty if it can."""
    arrays, bodies = model.arrays, set[int]()
    owners = {WRAP_SITE: arrays.site_bodyid} | dict.fromkeys(SURFACES, arrays.geom_bodyid)
    for part in _parts(model, index):
        kind, target, side = (int(ids[part]) for ids in (arrays.wrap_type, arrays.wrap_objid, arrays.wrap_prm))
        if kind in SURFACES and side >= 0:
            if arrays.site_bodyid[side] != arrays.geom_bodyid[target]:
                return "the side of a geom over which it wraps is a site of another body"
            if float(np.linalg.norm(_side(model, target, side))) < arrays.geom_size[target][0]:
                return "it wraps inside of a geom"
        if kind in owners:
            bodies.add(int(owners[kind][target]))
    return "its points belong to one body" if len(bodies) == 1 else ""


def _side(model: MjcfModel, geom: int, site: int) -> Any:
    """Return the position of a side site in the frame of a geom, m."""
    arrays = model.arrays
    frame = pose_of(arrays.geom_pos[geom], arrays.geom_quat[geom])
    return frame.inverse.at(FramePose(np.array(arrays.site_pos[site]), np.eye(3))).position


def _arc(model: MjcfModel, part: int) -> dict[str, Any]:
    """Return the entry of a path for a geom over which a tendon wraps."""
    arrays = model.arrays
    geom, side = int(arrays.wrap_objid[part]), int(arrays.wrap_prm[part])
    surface = {"type": SURFACES[int(arrays.wrap_type[part])], "body": model.names[arrays.geom_bodyid[geom]]}
    surface |= pose_of(arrays.geom_pos[geom], arrays.geom_quat[geom]).data() | {
        "radius": float(arrays.geom_size[geom][0])
    }
    return {"wrap": surface} | ({"side": _side(model, geom, side).tolist()} if side >= 0 else {})


def _parts(model: MjcfModel, index: int) -> range:
    first = int(model.arrays.tendon_adr[index])
    return range(first, first + int(model.arrays.tendon_num[index]))


def _elastic(model: MjcfModel, index: int, rest: str) -> dict[str, Any]:
    """Return spring, damper and limits of a tendon; `rest` is the name of its relaxed value or range."""
    arrays = model.arrays
    found: dict[str, Any] = {}
    stiffness = 0.0 if model.is_disabled("spring") else float(arrays.tendon_stiffness[index])
    damping = 0.0 if model.is_disabled("damper") else float(arrays.tendon_damping[index])
    low, high = arrays.tendon_lengthspring[index].tolist()
    if stiffness:
        found |= {"stiffness": stiffness, rest: low if low == high else [low, high]}
    if damping:
        found["damping"] = damping
    if arrays.tendon_limited[index] and not model.is_disabled("limit"):
        found["limits"] = arrays.tendon_range[index].tolist()
    return found


def _friction(model: MjcfModel, index: int) -> dict[str, float]:
    """Return the dry friction of a tendon."""
    loss = 0.0 if model.is_disabled("frictionloss") else float(model.arrays.tendon_frictionloss[index])
    return {"friction": loss} if loss else {}


def _add_path(model: MjcfModel, index: int, element: Element) -> None:
    arrays, draft, name = model.arrays, model.draft, tendon_name(model, index)
    points: list[dict[str, Any]] = []
    divisor = 0.0
    for part in _parts(model, index):
        if arrays.wrap_type[part] == WRAP_PULLEY:
            divisor = float(arrays.wrap_prm[part])
            continue
        if arrays.wrap_type[part] in SURFACES:
            points.append(_arc(model, part))
            continue
        site = int(arrays.wrap_objid[part])
        point = {"body": model.names[arrays.site_bodyid[site]], "point": arrays.site_pos[site].tolist()}
        points.append(point | ({"divisor": divisor} if divisor else {}))
        divisor = 0.0
    draft.add("paths", name, element, path=points, **_friction(model, index))
    fields = _elastic(model, index, "rest_length")
    if "limits" in fields:
        model.count_opening("tendon", index)
        low, high = fields.pop("limits")  # a length is never below 0
        draft.add("constraints", name, element, type="distance", path=name, limits=[low if low > 0.0 else None, high])
    if fields:
        draft.add("springs", name, element, path=name, **({"stiffness": 0.0, "rest_length": 0.0} | fields))


# --- actuators --------------------------------------------------------------------------------------------------------
def read_actuators(model: MjcfModel) -> None:
    """Read actuators of one coordinate: a force, or a servo of position or velocity, whose controls are inputs."""
    arrays = model.arrays
    for index in range(len(arrays.actuator_trntype)):
        element = model.element("actuator", index, "actuator")
        reason = _unsupported(model, index)
        if reason:
            model.drop(element, reason)
        else:
            _add_actuator(model, index, element)


def _unsupported(model: MjcfModel, index: int) -> str:
    """Return the reason why a scene cannot have an actuator; empty if it can."""
    arrays = model.arrays
    if model.is_disabled("actuation"):
        return "actuation is disabled in the file"
    group = int(arrays.actuator_group[index])
    if group >= 0 and arrays.option["disableactuator"] >> group & 1:
        return "its group is disabled in the file"
    if arrays.actuator_dyntype[index] not in (NO_DYNAMICS, INTEGRATOR, *FILTERS):
        return "has an activation with dynamics of its own"
    if arrays.actuator_gaintype[index] != FIXED_GAIN or arrays.actuator_biastype[index] not in (NO_BIAS, AFFINE_BIAS):
        return "a law of its own"
    return "" if _quantity(model, index) else "acts on no coordinate, combination or path"


def _quantity(model: MjcfModel, index: int) -> dict[str, Any]:
    """Return the quantity on which an actuator acts, as the scene names it; empty if it has no name there."""
    arrays = model.arrays
    acts_on, number = arrays.actuator_trntype[index], int(arrays.actuator_trnid[index, 0])
    if acts_on in ON_JOINTS and arrays.jnt_type[number] not in (FREE, BALL):
        return {"joint": model.address(number)}
    return quantity_of_tendon(model, number) if acts_on == ON_TENDON else {}


def quantity_of_tendon(model: MjcfModel, index: int) -> dict[str, str]:
    """Return a tendon as the scene names it; empty if the scene does not have it."""
    name = tendon_name(model, index)
    if _terms_of_tendon(model, index, 1.0) is not None:
        return {"combination": name}
    return {} if _obstacle(model, index) else {"path": name}


def _add_actuator(model: MjcfModel, index: int, element: Element) -> None:
    """Add force = gear (gain u + b0 + b1 gear q + b2 gear v), with the control u as an input of the same name."""
    arrays = model.arrays
    fields = _quantity(model, index)
    (name,) = fields.values()
    reference = reference_of(model, int(arrays.actuator_trnid[index, 0])) if "joint" in fields else 0.0
    gear, gain = float(arrays.actuator_gear[index, 0]), float(arrays.actuator_gainprm[index, 0])
    b0, b1, b2 = arrays.actuator_biasprm[index, :3].tolist()
    is_filtered = arrays.actuator_dyntype[index] in FILTERS
    if arrays.actuator_biastype[index] == NO_BIAS:
        b0 = b1 = b2 = 0.0
    still = gear * (b0 + b1 * gear * reference)
    stiffness, damping = -b1 * gear * gear, -b2 * gear * gear
    kind = "position" if stiffness > 0.0 <= damping else "velocity" if stiffness == 0.0 < damping else "general"
    unit = {"position": stiffness, "velocity": damping}.get(kind, 1.0)
    used = [*arrays.names["actuator"], *model.draft.elements.get("actuators", {})]
    own = arrays.names["actuator"][index] or unused(f"{name.replace('/', '_')}_{kind}", used)
    command: Any = still / unit
    if is_integral(model, index):
        text = f"the activation of {element}, the integral of its control, is an input, as with controls of 0"
        model.reading.ledger.note(element.mark, text)
    if gain:
        start = 0.0 if is_integral(model, index) else control_of(model, index, 0.0)
        model.draft.add_value("inputs", own, element, start)
        model.inputs[index] = own
        command = _affine(gear * gain / unit, str(Reference(("inputs", own))), command)
    fields["type"] = kind
    if kind == "position":
        fields |= {"kp": stiffness, "target": command} | ({"kv": damping} if damping else {})
    elif kind == "velocity":
        fields |= {"kv": damping, "target": command}
    elif stiffness == damping == 0.0:
        fields |= {"force": command}
    else:  # no servo: a force that grows with the distance or the speed
        terms = [f"({number(-factor)})*{word}" for factor, word in ((stiffness, "q"), (damping, "v")) if factor]
        fields |= {"force": " + ".join(["activation" if is_filtered else f"{command}", *terms])}
        fields |= {"input": command} if is_filtered else {}
    if _has_range(model, index) and index in model.inputs and not is_integral(model, index):
        if kind == "general" and (stiffness or damping) and not is_filtered:
            model.reading.ledger.note(element.mark, f"the control of {element} has no limits")
        else:
            bounds = [(gear * gain * control + still) / unit for control in arrays.actuator_ctrlrange[index].tolist()]
            fields["input_limits"] = sorted(bounds)
    if is_filtered:
        fields |= {"filter": float(arrays.actuator_dynprm[index, 0])}
        fields |= {"initial_activation": still / unit} if still else {}
        model.activations[index] = (own, still / unit, gear * gain / unit)
    limits = _force_limits(model, index)
    fields |= {"limits": limits} if limits else {}
    model.draft.add("actuators", own, element, **fields)


def is_integral(model: MjcfModel, index: int) -> bool:
    """Whether an actuator acts by the integral of its control."""
    return bool(model.arrays.actuator_dyntype[index] == INTEGRATOR)


def control_of(model: MjcfModel, index: int, control: float) -> float:
    """Return a control within the range of its actuator."""
    return float(np.clip(control, *model.arrays.actuator_ctrlrange[index])) if _has_range(model, index) else control


def _has_range(model: MjcfModel, index: int) -> bool:
    return bool(model.arrays.actuator_ctrllimited[index]) and not model.is_disabled("clampctrl")


def _affine(factor: float, word: str, offset: float) -> str:
    """Return the expression factor*word + offset."""
    product = word if factor == 1.0 else f"{number(factor)}*{word}"
    return product if offset == 0.0 else f"{product} {'-' if offset < 0.0 else '+'} {number(abs(offset))}"


def _force_limits(model: MjcfModel, index: int) -> list[float | None]:
    """Return the limits of the force of an actuator: its own, and those of a joint on which no other one acts."""
    arrays = model.arrays
    low, high = -np.inf, np.inf
    if arrays.actuator_forcelimited[index]:
        low, high = sorted(float(arrays.actuator_gear[index, 0] * value) for value in arrays.actuator_forcerange[index])
    joint = int(arrays.actuator_trnid[index, 0])
    if arrays.actuator_trntype[index] in ON_JOINTS and arrays.jnt_actfrclimited[joint]:
        lowest, highest = arrays.jnt_actfrcrange[joint].tolist()
        if _is_alone(model, joint):
            low, high = max(low, lowest), min(high, highest)
        else:
            text = f"{model.joint_name(joint)}: the bound on the sum of its actuators, {highest:g}, does not count"
            model.reading.ledger.note(model.bodies[arrays.jnt_bodyid[joint]].mark, text)
    bounds = [bound if np.isfinite(bound) else None for bound in (low, high)]
    return bounds if low < high and any(bound is not None for bound in bounds) else []


def _is_alone(model: MjcfModel, joint: int) -> bool:
    """Whether a joint has one actuator, and no tendon with an actuator acts on it."""
    arrays = model.arrays
    count = 0
    for type_, target in zip(arrays.actuator_trntype.tolist(), arrays.actuator_trnid[:, 0].tolist(), strict=True):
        if type_ == ON_TENDON:
            terms = _terms_of_tendon(model, target, 1.0)
            count += terms is None or model.address(joint) in terms
        count += type_ in ON_JOINTS and target == joint
    return count == 1
