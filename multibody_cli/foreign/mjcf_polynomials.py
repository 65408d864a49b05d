"""Springs and dampers of MJCF that are not linear: the terms of `stiffness` and `damping` beyond the first.

MuJoCo has, with the deviation x from rest and the rate v of a joint or tendon,

    spring  -(k0 x + k1 x^2 + k2 x^3),    damper  -(b0 + b1 |v| + b2 v^2) v.

The first terms are the spring and the damper of the joint, combination or path; the others are an actuator `general`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.mjcf_model import BALL, FREE, MjcfModel, reference_of
from multibody_cli.foreign.mjcf_transmissions import quantity_of_tendon
from multibody_cli.foreign.renaming import unused
from multibody_cli.foreign.rounding import number

FLAGS = {"stiffness": "spring", "damping": "damper"}
"""Flags that disable the forces of an attribute."""


class _Law(NamedTuple):
    """The terms beyond the first, by attribute, of an element; its quantity in the scene, and x as an expression."""

    element: Element
    quantity: dict[str, str]
    deviation: str
    terms: dict[str, Any]


def read_polynomials(model: MjcfModel) -> None:
    """Read the terms beyond the first; those of balls and free joints are left out, with an entry in the ledger."""
    if not hasattr(model.arrays, "jnt_stiffnesspoly"):  # a release of MuJoCo before 3.7
        return
    for law in (*_of_joints(model), *_of_tendons(model)):
        terms = {
            key: values for key, values in law.terms.items() if np.any(values) and not model.is_disabled(FLAGS[key])
        }
        if not law.quantity:
            for key, values in terms.items():
                text = f"without its terms beyond the first, {' '.join(f'{value:g}' for value in values)}"
                attribute = key if key in law.element.attributes else ""
                model.reading.ledger.approximate(law.element, f"`{key}` of a ball or free joint", text, attribute)
        elif terms:
            k, b = ([float(value) for value in terms.get(key, ())] for key in FLAGS)
            powers = [f"{number(c)}*{law.deviation}**{n}" for n, c in enumerate(k, start=2) if c]
            powers += [f"{number(c)}*{word}" for c, word in zip(b, ("abs(v)*v", "v**3"), strict=False) if c]
            (name,) = law.quantity.values()
            used = [*model.arrays.names["actuator"], *model.draft.elements.get("actuators", {})]
            own = unused(f"{name.replace('/', '_')}_polynomial", used)
            force = f"-({' + '.join(powers)})"
            model.draft.add("actuators", own, law.element, type="general", **law.quantity, force=force)


def _of_joints(model: MjcfModel) -> Iterator[_Law]:
    arrays = model.arrays
    for body in range(1, len(arrays.body_parentid)):
        first, count = int(arrays.body_jntadr[body]), int(arrays.body_jntnum[body])
        for joint, element in enumerate(model.of_body(body, count, "joint", "freejoint"), start=first):
            is_scalar = arrays.jnt_type[joint] not in (FREE, BALL)
            rest = float(arrays.qpos_spring[arrays.jnt_qposadr[joint]]) - reference_of(model, joint)
            terms = {
                "stiffness": arrays.jnt_stiffnesspoly[joint],
                "damping": arrays.dof_dampingpoly[arrays.jnt_dofadr[joint]],
            }
            yield _Law(element, {"joint": model.address(joint)} if is_scalar else {}, _deviation(rest), terms)


def _deviation(rest: float) -> str:
    """Return the expression of q - rest, in brackets where it has two terms."""
    return f"(q {'+' if rest < 0.0 else '-'} {number(abs(rest))})" if rest else "q"


def _of_tendons(model: MjcfModel) -> Iterator[_Law]:
    arrays = model.arrays
    for index in range(len(arrays.tendon_adr)):
        if quantity := quantity_of_tendon(model, index):
            low, high = arrays.tendon_lengthspring[index].tolist()
            deviation = _deviation(low) if low == high else f"(q - max({number(low)}, min(q, {number(high)})))"
            terms = {"stiffness": arrays.tendon_stiffnesspoly[index], "damping": arrays.tendon_dampingpoly[index]}
            yield _Law(model.element("tendon", index, "tendon"), quantity, deviation, terms)
