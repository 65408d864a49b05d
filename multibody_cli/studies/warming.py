"""Compilation of the kernels of scenes before they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from multibody_cli.document.source import SceneSource
from multibody_cli.errors import Refused
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import workers
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.studies.simulation import prepare

_BODY = "mass: 1, inertia: {principal: [1, 1, 1]}"
_HINGE = "type: revolute, axis: [0, 1, 0]"
EXAMPLES = {
    "tree": f"bodies: {{a: {{{_BODY}, com: [0, 0, -1]}}}}\njoints: {{h: {{{_HINGE}, child: a}}}}\n",
    "loop": (
        f"bodies: {{a: {{{_BODY}, com: [0, 0, -1]}}}}\n"
        f"joints: {{h: {{{_HINGE}, child: a}}, again: {{{_HINGE}, child: a}}}}\n"
    ),
    "contacts": (
        f"world: {{shapes: [{{type: plane}}]}}\ncontacts: {{friction: 0.5}}\nbodies: {{a: {{{_BODY},\n"
        "  shapes: [{type: box, size: [1, 1, 1]}], position: [0, 0, 0.6]}}\n"
    ),
}
"""Small scenes of each structure, whose kernels serve all scenes with the same features."""

_END = "simulation: {duration: 2 ms, step: 1 ms}\noutput: {every: 1 ms}\n"


class Warmed(Immutable):
    """A scene with a method and an integrator: number of kernels compiled, or the reason for its refusal."""

    scene: Path
    combination: str
    kernels: int
    refusal: str = ""


def write_examples(folder: Path) -> list[Path]:
    """Write the example scenes into a folder; return their paths."""
    paths = []
    for name, text in EXAMPLES.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(f"mbsim: 1\n{text}{_END}", encoding="utf-8")
    return paths


def combinations(methods: Sequence[str], every_integrator: bool) -> list[tuple[str, str]]:
    """Return the pairs of method and integrator to compile; an empty string stands for that of the scene.

    Parameters
    ----------
    methods
        Names of methods; none for that of the scene.
    every_integrator
        Whether to combine each method with every integrator that it accepts.
    """
    found = []
    for method in methods or ("",):
        takes_any = every_integrator and method and METHODS[method].own_integrator is None
        found += [(method, integrator) for integrator in (INTEGRATORS if takes_any else ("",))]
    return found


def warm(
    scenes: Sequence[Path], pairs: Sequence[tuple[str, str]], scene_of: Callable[[Path], SceneSource]
) -> Iterator[Warmed]:
    """Compile scenes with pairs of method and integrator, one after the other, and yield the results.

    Each scene is started, stepped and observed, so that its kernels are called; inside of `complete`, the lazy kernels
    that these may call are compiled with them.

    Parameters
    ----------
    scenes, pairs
        Scenes and combinations; see `combinations`.
    scene_of
        Function from a scene or a result file to its scene.
    """
    for scene in scenes:
        for method, integrator in pairs:
            words = {"method": method, "integrator": integrator}
            overrides = [f"simulation.{key}={word}" for key, word in words.items() if word]
            combination, refusal = " ".join(overrides), ""
            before = workers.compiled()
            try:
                combination = _exercise(scene_of(scene), overrides)
            except Refused as error:
                refusal = str(error)
            yield Warmed(scene, combination, workers.compiled() - before, refusal)


def _exercise(scene: SceneSource, overrides: Sequence[str]) -> str:
    """Start a scene, record its start, and take the first steps; return its method and integrator."""
    simulation = prepare(scene, overrides)
    simulation.load_kernels()
    return ", ".join(word for word in (simulation.scene.simulation.method, simulation.integrator.name) if word)
