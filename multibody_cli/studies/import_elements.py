"""The force of each element of an imported scene beside that of the engine of its file, at rest and in motion.

The generalized forces of an element are the change of the bias where it is the only one.  Muscles have their
activation at the start, and are at rest, with their fibers in equilibrium; all others are in motion, with controls of
1.  The states are the initial pose and others near it.  Differences are relative to the largest force of the element
at any state, with the scale sqrt(M_ii) of each joint, unless it is round-off.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import numpy as np

from multibody_cli.document.source import ReadScene
from multibody_cli.foreign.draft import Draft
from multibody_cli.limits import Usage
from multibody_cli.model import Floats
from multibody_cli.peers.engine import CONTROL, Engine
from multibody_cli.studies.imported_scene import ImportedScene, Values
from multibody_cli.studies.simulation import prepare

SECTIONS = ("forces", "springs", "muscles", "actuators")
"""Sections of elements with forces."""

NEAR = 0.2
"""Largest displacement from the initial pose, rad; a tenth of it in m."""

STATES = 4

ROUND_OFF = 1e-9
"""Force over sqrt(M_ii) that counts as none, sqrt(J)/s: of an element whose line meets the axis of a joint."""


def differences_of_elements(draft: Draft, engine: Engine) -> dict[str, float]:
    """Return the largest relative difference of the forces of each element of the file; NaN where one has none."""
    names = engine.elements
    if not names:
        return {}
    full = copy(draft)
    inputs = {name: one._replace(value=CONTROL) for name, one in draft.elements.get("inputs", {}).items()}
    full.elements = {**draft.elements, "inputs": inputs}
    scene = ImportedScene(prepare(ReadScene(draft.source, full.tree(), Usage())), draft, engine)
    muscles, random = draft.elements.get("muscles", {}), np.random.default_rng(2)
    pairs: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in names}
    for number in range(STATES):
        q, v = _near(scene, number, random)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(scene.equations(q, v)[0]), np.finfo(float).tiny))
        still = {name: 0.0 * value for name, value in v.items()}
        for rates, is_still in ((still, True), (v, False)):
            own = scene.element_forces(q, rates)
            chosen = [name for name in names if (name in muscles) == is_still]
            for name, force in scene.element_forces_of_engine(q, rates, chosen).items():
                parts = [values for word, values in own.items() if name == _element(word, names)]
                if parts:
                    pairs[name].append((scale * sum(parts), scale * force))
    return {name: _difference(found) for name, found in pairs.items()}


def _near(scene: ImportedScene, number: int, random: np.random.Generator) -> tuple[Values, Values]:
    """Return the initial pose, or one near it, and random velocities."""
    moved, start = scene.motion(2, random), scene.start()
    if number:
        for joint in scene.joints:
            if len(start[joint.name]) == 1:
                start[joint.name] = start[joint.name] + NEAR * (moved.q[joint.name] if scene.moves(joint) else 0.0)
    return start, moved.v


def _element(word: str, names: Iterable[str]) -> str:
    """Return the element of the file to which one of the scene belongs: the longest name with which its own begins."""
    return max((name for name in names if word == name or word.startswith(f"{name}_")), key=len, default="")


def _difference(pairs: list[tuple[Floats, Floats]]) -> float:
    found = [np.abs(own - other).max(initial=0.0) for own, other in pairs if np.isfinite(other).all()]
    size = max((np.abs(other).max(initial=0.0) for _, other in pairs if np.isfinite(other).all()), default=0.0)
    return float(max(found) / (size if size > ROUND_OFF else 1.0)) if found else float("nan")
