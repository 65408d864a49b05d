"""Files of an equilibrium: the scene that starts there, and a result file with this instant."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from multibody_cli.document.source import SceneText
from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import initial_samples, placed
from multibody_cli.initial.proposed_start import written_start
from multibody_cli.model import Model, State
from multibody_cli.observation.element_rows import element_rows
from multibody_cli.output.file_replacement import replacement
from multibody_cli.output.observers import observe
from multibody_cli.output.recorder import Recorder
from multibody_cli.output.sink import Outcome, Sink, block_rows
from multibody_cli.scene.dump import dump_resolved
from multibody_cli.scene.load import LoadedScene, load_scene
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.statics.study import StaticProblem, Statics

METHOD = "equilibrium"
"""The method in the attributes of the result file: no method of a run, so that it is not repeated as one."""

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
    record_states(prepared, problem.model, [found.found.state], METHOD, sink)


def record_states(prepared: PreparedSimulation, model: Model, states: Sequence[State], word: str, sink: Sink) -> None:
    """Write states to a sink, each as it is; `word` stands in place of the method of a run."""
    simulation = prepared.with_compiled(model=model, alarms=(), notes=())
    state, outcome, last = states[0].copy(), None, float(states[-1].time[0])
    method, rows = simulation.method_for(state), element_rows(model)
    header = replace(
        simulation.header(),
        method=word,
        integrator="",
        options={},
        duration=last,
        step=last / max(1, len(states) - 1) or simulation.scene.simulation.step,
        block_rows=block_rows(len(states), model.names),
    )
    recorder = Recorder(model, simulation.run_settings(), header.block_rows, sink)
    with np.errstate(over="ignore", invalid="ignore"):
        method.start(state)
        sink.open(header)
        try:
            for one in states:
                for own, given in zip(state, one, strict=True):
                    own[:] = given
                method.restart()
                report = method.advance(state, float(state.time[0]))
                observe(model.system, state, method.work, rows, recorder.samples, recorder.filled)
                recorder.add(report)
            recorder.flush()
            outcome = Outcome("complete", steps=len(states))
        finally:
            sink.close(outcome)


def require_scene_name(target: Path) -> None:
    """Refuse a name of a scene file that is no YAML."""
    if target.suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"--write {target}: expected a name that ends in .yaml")
