"""A scene as a functional mock-up unit: FMI 3.0 for co-simulation, packed by PythonFMU3.

The unit has the scene with all values resolved, and a Python module that steps it by `multibody_cli.api.cosimulation`.
It therefore runs where this package is installed.  Its inputs are those of the scene, and its outputs scalars of
channels, whose names have dots as in expressions.

Source: Modelica Association, Functional Mock-up Interface Specification, version 3.0 (2022).
"""

from __future__ import annotations

import json
import keyword
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.output.file_replacement import replacement
from multibody_cli.output.selection import select
from multibody_cli.studies.expect import blank_trajectory
from multibody_cli.studies.simulation import PreparedSimulation

DEFAULT = ("joints/*/q", "joints/*/v", "bodies/*/position")
"""Channels that are outputs by default, as far as a scene has them."""

OPTIONS = {"needsExecutionTool": "true", "canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
"""Attributes of the unit."""

SCRIPT = '''\
"""A scene of mbsim for co-simulation, as `mbsim export --to fmu` wrote it."""

from multibody_cli.api.cosimulation import SceneSlave
from pythonfmu3 import Fmi3Slave


class {name}(SceneSlave, Fmi3Slave):
    pass
'''


def require_packer() -> None:
    """Check that units can be packed.

    Raises
    ------
    ArgumentError
        PythonFMU3 is not installed.
    """
    try:
        import pythonfmu3  # noqa: F401
    except ImportError:
        raise ArgumentError("--to fmu needs PythonFMU3: pip install 'multibody-cli[fmi]'") from None


def write_fmu(simulation: PreparedSimulation, channels: Sequence[str], path: Path) -> list[str]:
    """Write a scene as a unit, and return the names of its outputs.

    Parameters
    ----------
    simulation
        The scene.
    channels
        The outputs, as `mbsim plot` names them; by default those of `DEFAULT` that the scene has.
    path
        The file.

    Raises
    ------
    ResultError
        The scene has no such channel.
    OutputError
        The file cannot be written.
    """
    from pythonfmu3 import FmuBuilder

    outputs = [*_outputs(simulation, channels)]
    settings, name = simulation.scene.simulation, identifier_of(simulation.scene.name)
    content = {
        "description": simulation.scene.description or simulation.scene.name,
        "step": settings.step,
        "duration": settings.duration,
        "outputs": outputs,
    }
    with tempfile.TemporaryDirectory(prefix="mbsim-") as folder:
        script, parts = Path(folder) / f"{name}.py", Path(folder) / "parts"
        parts.mkdir()
        script.write_text(SCRIPT.format(name=name))
        (parts / "scene.yaml").write_text(simulation.header().scene_yaml)
        (parts / "interface.json").write_text(json.dumps(content, indent=1))
        built = FmuBuilder.build_FMU(script, folder, [*parts.iterdir()], **OPTIONS)
        with replacement(path) as new:
            shutil.copyfile(built, new)
    return [str(one["name"]) for one in outputs]


def identifier_of(name: str) -> str:
    """Return the name of a scene as an identifier of Python and C."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"scene_{found}" if not found.isidentifier() or keyword.iskeyword(found) else found


def _outputs(simulation: PreparedSimulation, channels: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield name, path, unit and description of each scalar."""
    names = simulation.compiled.model.names
    trajectory = blank_trajectory(names, None, np.zeros(2))
    known = [word for word in DEFAULT if word.startswith("bodies") or names.joints]
    for scalar in select(trajectory, channels or known):
        record = trajectory.channel(scalar.channel)
        yield {
            "name": _dotted(str(scalar)),
            "path": str(scalar),
            "unit": scalar.units,
            "description": record.description,
        }


def _dotted(path: str) -> str:
    """Return the path of a scalar as a structured name of FMI, `bodies.rod.position.z`."""
    channel, _, component = path.removesuffix("]").partition("[")
    parts = [_component_of(part) for part in (*channel.split("/"), *([component] if component else []))]
    return ".".join(parts).replace(".[", "[")


def _component_of(part: str) -> str:
    """Return a part of a name: an index in brackets, an identifier, or a text in quotes."""
    if part.isdecimal():
        return f"[{part}]"
    if re.fullmatch(r"[A-Za-z_]\w*", part, re.ASCII):
        return part
    text = part.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
