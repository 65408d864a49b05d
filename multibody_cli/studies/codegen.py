"""The generated code of method `symbolic` for a scene, as a self-contained Python module."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np

from multibody_cli.codegen.equations import GROUND, write_gravity_only
from multibody_cli.document.source import SceneSource
from multibody_cli.equations.chain import counts_of
from multibody_cli.errors import Refused
from multibody_cli.studies.equations import joint_forces_of, omitted_effects, prepare_in_joints
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.version import __version__

_WIDTH = 100
"""Characters in a line of numbers."""

_MODULE = '''"""dv/dt of the scene {name}: forward dynamics of its tree of joints, by mbsim {version}.

Method I of Si and Guenter, "Linear-time dynamics for multibody systems with general joint models" (2011); numbers in
brackets are those of its equations.  All quantities of a link are in the axes of the frame M of its joint, about its
origin.  {links}
{coordinates}

{tau}{omitted}Run as it is, or compile `generated` with numba.
"""

from math import acos, asin, atan, atan2, cos, cosh, exp, floor, log, pow, sin, sinh, sqrt, tan, tanh
{imports}

def accelerations(q, v, tau):
    """Return dv/dt ({n},) at positions q ({nq},) and velocities v ({n},), for forces tau ({n},) on coordinates."""
    a, memory = [0.0] * {n}, [0.0] * {memory_size}
    memory[{ground}:{above}] = {gravity}  # upward acceleration of the ground
    generated(q, v, tau, [0.0] * {n}, a, [], TABLE, memory, RUNS)
    return a


def sine_and_cosine(angle):
    """Return sine and cosine."""
    return sin(angle), cos(angle)


{function}

# constants that differ from link to link, and the table of runs
{tables}
'''

_EXPONENTIAL = """
from multibody_cli.kernel import in_python
from multibody_cli.spatial import rotations

exponential_coefficients = in_python(rotations.exponential_coefficients)
"""


def code_of(source: SceneSource, overrides: Sequence[str]) -> str:
    """Return the module for a scene.

    Parameters
    ----------
    source, overrides
        The scene file, and values to replace.

    Raises
    ------
    SceneError, Refused
        As in `studies.equations.prepare_in_joints`.
    """
    simulation = prepare_in_joints(source, overrides)
    model = simulation.compiled.model
    tree = model.system.tree
    if tree.armature.any():
        raise Refused("generated modules have no armature: leave `armature` and `rotor_inertia` out")
    (nq, n), links = counts_of(tree), len(tree.links) - 1
    written = write_gravity_only(tree, model.joint_maps, np.zeros(model.nv, np.bool_))
    text, layout = written.sources[0].text, written.layout
    return _MODULE.format(
        name=simulation.scene.name,
        version=__version__,
        links=f"{links} link{'s' * (links != 1)}.",
        coordinates="\n".join(f"v[{k}]: {name}" for k, name in enumerate(model.names.coordinates[:n])),
        tau=_tau(simulation, n),
        omitted=_omitted(simulation),
        imports=_EXPONENTIAL if "exponential_coefficients" in text else "",
        n=n,
        nq=nq,
        function=text.rstrip("\n"),
        tables=f"{_assigned('TABLE', layout.table.tolist())}\n{_assigned('RUNS', layout.runs.ravel().tolist())}",
        memory_size=layout.memory,
        ground=GROUND,
        above=GROUND + 3,
        gravity=", ".join(repr(0.0 - float(g)) for g in tree.gravity),
    )


def _tau(simulation: PreparedSimulation, n: int) -> str:
    """Forces of springs, dampers and actuators of joints, which the user passes as tau."""
    from multibody_cli.equations.simplified import sum_of, text_of

    efforts = enumerate(joint_forces_of(simulation, n, lambda word, number: f"{word}[{number}]"))
    lines = [f"    tau[{k}] = {sum_of([text_of(one) for one in summands])}\n" for k, summands in efforts if summands]
    if not lines:
        return ""
    return "Joint forces are not included; pass them as tau:\n\n" + "".join(lines) + "\n"


def _omitted(simulation: PreparedSimulation) -> str:
    words, model = omitted_effects(simulation), simulation.compiled.model
    driven = [name for name, moved in zip(model.names.coordinates, model.system.tree.driven, strict=True) if moved]
    if driven:
        words = [*words, f"prescribed motions, whose dv/dt is set to 0: {'; '.join(driven)}"]
    return f"Omitted: {'; '.join(words)}.\n" if words else ""


def _assigned(word: str, numbers: Sequence[float]) -> str:
    """Return the assignment of a list of numbers, in lines of limited length."""
    if len(numbers) > 1 and len(set(numbers)) == 1:
        return f"{word} = [{numbers[0]!r}] * {len(numbers)}"
    words = " ".join(f"{number!r}," for number in numbers)
    lines = fill(words, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return f"{word} = [\n{lines}\n]" if numbers else f"{word} = []"
