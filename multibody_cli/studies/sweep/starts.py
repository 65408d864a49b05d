"""Initial states of runs whose own values are coordinates and rates of joints at the start.

The scene of such a run is that of another run but for these numbers.  They are read by the fields of the joint, and its
function `start` computes the state from them, as for any scene; nothing else of the scene is evaluated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from multibody_cli.document.nodes import Path
from multibody_cli.document.overrides import path_of
from multibody_cli.document.scalars import scalar
from multibody_cli.errors import MbsimError
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part, PartCode, start_of_coordinates
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS
from multibody_cli.model import Floats, JointEntry
from multibody_cli.spec.quantities import read_quantity
from multibody_cli.spec.units import Kind, split_quantity
from multibody_cli.studies.simulation import Simulation

SECTION, WORDS = "joints", ("q", "v")
"""Section and fields of the values that may differ."""


@dataclass(frozen=True)
class _Number:
    """A coordinate or a rate that is given directly, as the number of a screw.

    Parameters
    ----------
    word, index
        Field, and place in q or v.
    kind
        Kind of the quantity.
    number
        Number of the value among those of a run.
    """

    word: str
    index: int
    kind: Kind
    number: int

    def write_start(self, values: Sequence[Any], q: Floats, v: Floats) -> bool:
        """Write the value of a run to q or v; it changes nothing else."""
        (q if self.word == "q" else v)[self.index] = read_quantity(values[self.number], self.kind)
        return True


@dataclass(frozen=True)
class _Joint:
    """A joint whose start follows from its fields by a formula.

    Parameters
    ----------
    entry, spec, parts
        The joint of the reference.
    fields
        Its fields as the scene gives them.
    places
        Path of each value within the fields, and its number among the values of a run.
    """

    entry: JointEntry
    spec: Any
    parts: tuple[Part, ...]
    fields: dict[str, Any]
    places: tuple[tuple[Path, int], ...]

    def write_start(self, values: Sequence[Any], q: Floats, v: Floats) -> bool:
        """Write the start with the values of a run to q and v; return whether they change nothing else.

        Raises
        ------
        ValueError
            A value is invalid.
        """
        fields = dict(self.fields)
        for path, number in self.places:
            if len(path) == 1:
                fields[str(path[0])] = values[number]
            else:
                word, index = str(path[0]), int(path[1])
                entries = list(fields[word])
                entries[index] = values[number]
                fields[word] = entries
        kind, joint = JOINTS[self.spec.type], type(self.spec).model_validate(fields)
        start = kind.start(joint)
        q[self.entry.positions], v[self.entry.columns] = start.q, start.v
        return tuple(kind.parts(joint)) == self.parts and start.rest == kind.start(self.spec).rest


_Varied = _Number | _Joint


class Starts:
    """Initial states of runs that have the keys of a reference.

    Parameters
    ----------
    reference
        A run without motions, loops, and constraints other than limits.
    overrides
        Its own values, each `KEY=VALUE`.
    """

    def __init__(self, reference: Simulation, overrides: Sequence[str]) -> None:
        self._state = reference.compiled.state
        self._keys = tuple(_key_of(text) for text in overrides)
        self._varied = tuple(_varied(reference, self._keys)) if _starts_as_written(reference) else ()

    def read(self, overrides: Sequence[str]) -> tuple[Floats, Floats] | None:
        """Return the initial q (nq,) and v (nv,) of a run; None if the whole scene must be evaluated."""
        if not self._varied or tuple(map(_key_of, overrides)) != self._keys:
            return None
        texts = [text.partition("=")[2].strip() for text in overrides]
        try:
            if any(split_quantity(text) is None for text in texts):
                return None
            values, q, v = [*map(scalar, texts)], self._state.q.copy(), self._state.v.copy()
            alone = all([one.write_start(values, q, v) for one in self._varied])
        except (ValueError, MbsimError, ArithmeticError, LookupError):
            return None  # the evaluation of the whole scene reports it
        return (q, v) if alone else None


def _key_of(override: str) -> str:
    return override.partition("=")[0]


def _starts_as_written(reference: Simulation) -> bool:
    """Whether the initial state consists of the starts of the joints alone, and nothing depends on it but motion."""
    scene, compiled = reference.scene, reference.compiled
    in_plane = any(body.kind == "planar" for body in scene.bodies.values())
    return not scene.strands and not in_plane and compiled.n_dofs == compiled.model.nv


def _varied(reference: Simulation, keys: Sequence[str]) -> Iterator[_Varied]:
    """Yield what the values of keys determine; nothing if a key is no initial coordinate or rate of a joint."""
    entries = {joint.name: joint for joint in reference.compiled.model.names.joints}
    paths = [path_of(key) or () for key in keys]
    if not all(_is_start(path, reference, entries) for path in paths):
        return
    for name in dict.fromkeys(str(path[1]) for path in paths):
        spec, entry = reference.scene.joints[name], entries[name]
        places = [(path[2:], number) for number, path in enumerate(paths) if path[1] == name]
        kind, parts = JOINTS[spec.type], tuple(JOINTS[spec.type].parts(spec))
        alone = all(len(path) == 2 or len(entry.coordinates) == 1 for path, _ in places)
        if alone and kind.start is start_of_coordinates and all(part.code is PartCode.SCREW for part in parts):
            for (word, *index), number in places:
                first = (entry.positions if word == "q" else entry.columns).start
                k = int(index[0]) if index else 0
                yield _Number(str(word), first + k, COORDINATE_KINDS[str(word)][entry.coordinates[k]], number)
        else:
            yield _Joint(entry, spec, parts, reference.loaded.data[SECTION][name], tuple(places))


def _is_start(path: Path, reference: Simulation, entries: dict[str, JointEntry]) -> bool:
    """Whether a path is that of an initial coordinate or rate, or of all those of a joint."""
    if len(path) not in (3, 4) or path[0] != SECTION or path[1] not in entries or path[2] not in WORDS:
        return False
    whole = reference.loaded.data[SECTION][path[1]].get(path[2])
    return len(path) == 3 or (isinstance(whole, list) and str(path[3]).isdecimal() and int(path[3]) < len(whole))
