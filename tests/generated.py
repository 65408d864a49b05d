"""Generated recursions as plain Python: their source runs without being compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.codegen.equations import memory_for, write_gravity_only, write_with_body_forces
from multibody_cli.codegen.source import GeneratedFunctions
from multibody_cli.kernel import in_python
from multibody_cli.spatial.rotations import exponential_coefficients
from multibody_cli.symbolic.scalar import FUNCTIONS

NAMES = {word: getattr(math, word) for word in FUNCTIONS} | {
    "sine_and_cosine": lambda x: (math.sin(x), math.cos(x)),
    "exponential_coefficients": in_python(exponential_coefficients),
}


def free(packed, armed=None) -> GeneratedFunctions:
    """Accelerations of a machine that only gravity and forces on coordinates move."""
    return write_gravity_only(packed.tree.tree, packed.model.joint_maps, armed_in(packed, armed))


def placed(packed, armed=None) -> GeneratedFunctions:
    """Accelerations from the bias wrenches of placed bodies, and the response to impulses."""
    return write_with_body_forces(packed.tree.tree, packed.model.joint_maps, armed_in(packed, armed))


def armed_in(packed, armed):
    return np.zeros(packed.model.nv, bool) if armed is None else armed


class Interpreted:
    """The functions of one text, with their memory."""

    def __init__(self, packed, written: GeneratedFunctions) -> None:
        self.packed, self.written = packed, written
        self.memory = memory_for(written, packed.tree.tree.gravity)
        self.functions: list[Callable[..., None]] = []
        for source in written.sources:
            namespace: dict[str, Any] = dict(NAMES)
            exec(source.text, namespace)
            self.functions.append(namespace["generated"])

    def __call__(self, which: int, q, v, tau, a, bias=None, armature=None) -> np.ndarray:
        layout, n = self.written.layout, self.packed.model.nv
        bias = np.zeros((len(self.packed.tree.tree.links), 6)) if bias is None else bias
        armature = np.zeros(n) if armature is None else armature
        arrays = (q, v, tau, armature, a, bias.ravel(), layout.table, self.memory, layout.runs.ravel())
        self.functions[which](*arrays)
        return a


def accelerations_of(packed, state, written: GeneratedFunctions | None = None, armature=None) -> np.ndarray:
    """Return dv/dt (nv,) by the generated code; two calls, since the result must not depend on the memory before."""
    text = Interpreted(packed, written or free(packed))
    for _ in range(2):
        a = np.where(packed.tree.tree.driven, state.a, np.nan)
        text(0, state.q, state.v, np.zeros(packed.model.nv), a, armature=armature)
    return a
