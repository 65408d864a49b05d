"""Files of an equilibrium: the scene that starts there, and a result file with this instant."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from multibody_cli.document.source import SceneText
from multibody_cli.errors import ArgumentError
from multibody_cli.initial.initial_state import initial_samples, placed
from multibody_cli.initial.proposed_start import written_start
from multibody_cli.model import Model
from multibody_cli.output.file_replacement import replacement
from multibody_cli.output.sink import Sink
from multibody_cli.scene.dump import dump_resolved
from multibody_cli.scene.load import LoadedScene, load_scene
from multibody_cli.statics.rest import values_of
from multibody_cli.studies.recording import recording
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.statics.study import StaticProblem, Statics

METHOD = "equilibrium"
"""The method in the attributes of the result file."""

DIGITS = 17


def scene_at(loaded: LoadedScene, model: Model, found: Statics, target: Path) -> str:
    """Return the resolved scene with the start of an equilibrium, as YAML.

    Parameters
    ----------
    loaded, model
        The scene, with the method that it keeps, and its model in joint coordinates.
    found
        The equilibrium; rates other than those of a steady motion are left out.
    target
        The file that it is written to.

    Raises
    ------
    SceneError
        It cannot be loaded, as where its path leads to no file.
    """
    state, tree = found.found.state.copy(), model.system.tree
    placed(model, state)  # writes the coordinates of joints that close loops
    data: dict[str, Any] = copy.deepcopy(loaded.data)
    joints, bodies, n = data.get("joints", {}), data.get("bodies", {}), int(tree.links["nv"].sum())
    changed = np.ones(model.nv, np.bool_)
    changed[tree.driven] = False
    changed[n:] = False
    for joint in model.names.joints:
        changed[joint.columns] |= "q" in joints[joint.name] and not tree.driven[joint.columns].any()
    for key, text in written_start(loaded.scene, model, state, initial_samples(model, state), changed, DIGITS):
        section, _, rest = key.partition(".")
        name, _, field = rest.rpartition(".")
        data[section][name][field] = yaml.safe_load(text)
    for joint in model.names.joints:
        joints[joint.name].pop("v", None)
        rates = state.v[joint.columns]
        if rates.any() and not tree.driven[joint.columns].any():
            joints[joint.name]["v"] = float(rates[0]) if len(rates) == 1 else rates.tolist()
    for actuator, value in zip(model.names.filtered, values_of(model, state, model.activations), strict=True):
        data["actuators"][actuator]["initial_activation"] = float(value)
    data["simulation"].pop("start", None)
    for body in bodies.values():
        body.pop("velocity", None)
    text = dump_resolved(data)
    load_scene(SceneText(text, target))
    return text


def write_scene(loaded: LoadedScene, model: Model, found: Statics, target: Path) -> None:
    """Write the scene of `scene_at` to a file."""
    text = scene_at(loaded, model, found, target)
    with replacement(target) as part:
        part.write_text(text, encoding="utf-8")


def record(prepared: PreparedSimulation, problem: StaticProblem, found: Statics, sink: Sink) -> None:
    """Write an equilibrium to a sink, as the one instant of a run.

    Raises
    ------
    OutputError
        The sink cannot write.
    """
    state = found.found.state
    with recording(prepared, problem.model, state, state.time, METHOD, sink) as add:
        add(state)


def require_scene_name(target: Path) -> None:
    """Refuse a name of a scene file that is no YAML."""
    if target.suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"--write {target}: expected a name that ends in .yaml")
