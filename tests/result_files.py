"""Result files with every kind of dataset, which no method has computed, and small changes of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from fakes import ANGLE, LENGTH, names_of, record, samples_of

from multibody_cli.immutable import replace
from multibody_cli.model import Account, ConstraintEntry
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.series import series_of
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 25)
DONE = Outcome("complete", "", 24)

SAME = {"hinge": ("turn",), "ball": ("rotation",) * 3, "bolt": ("turn", "itself")}
_PLAIN = names_of(
    joints=(("hinge", (ANGLE,)), ("ball", (ANGLE,) * 3), ("weld", ()), ("bolt", (ANGLE, LENGTH))),
    bodies=("arm", "hand", "blob"),
    accounts=(Account("work", "joints/hinge/force"), Account("dissipation", "joints/hinge/damping")),
)
EVERYTHING = replace(
    _PLAIN,
    joints=tuple(replace(joint, same=SAME.get(joint.name, ())) for joint in _PLAIN.joints),
    constraint_entries=(
        ConstraintEntry("joints", "hinge", slice(0, 2)),
        ConstraintEntry("couplings", "belt", slice(2, 3)),
        ConstraintEntry("constraints", "wheel", slice(3, 5)),
    ),
    affine=("blob",),
)
"""Names of a model that has something of everything."""

DATASETS = [series.path for series in series_of(EVERYTHING)]


def write_run(path: Path, time: Sequence[float] = TIME, names: Any = EVERYTHING, seed: int = 0, **changes: Any) -> Path:
    """Write a run whose numbers at an instant depend on its time alone."""
    outcome = changes.pop("outcome", DONE)
    channels = changes.pop("channels", None)
    ticks = np.round(np.asarray(time) * 1e6).astype(int)
    rows = [samples_of(names, [0.0], seed=int(seed + tick)) for tick in ticks]
    empty = samples_of(names, [])
    columns = [np.concatenate([part, *parts]) for part, *parts in zip(empty, *rows, strict=True)]
    samples = type(empty)(*columns)._replace(time=np.asarray(time, float))
    record(Hdf5Sink(path, channels, force=True), names, samples, outcome, **changes)
    return path


def changed(source: Path, target: Path, change: Callable[[h5py.File], None]) -> Path:
    """Copy a file and change the copy."""
    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        change(file)
    return target


def shifted(source: Path, target: Path, dataset: str, index: tuple[int, ...], by: float) -> Path:
    """Copy a file and add something to one number of the copy."""

    def change(file: h5py.File) -> None:
        file[dataset][index] = file[dataset][index] + by

    return changed(source, target, change)


def with_contacts(source: Path, target: Path, contacts: Sequence[Sequence[dict[str, Any]]]) -> Path:
    """Copy a file and give each of its instants contacts: mappings of `CONTACT`."""
    flat = [contact for some in contacts for contact in some]

    def change(file: h5py.File) -> None:
        group = file.create_group("contacts")
        group["offset"] = np.cumsum([0, *map(len, contacts)])
        for name, (usual, role) in CONTACT.items():
            values = np.array([contact.get(name, usual) for contact in flat], np.asarray(usual).dtype)
            group[name] = values.reshape(len(flat), *np.shape(usual))
            group[name].attrs.update({"units": "1", "role": role, "rtol": 1e-6, "atol": 1e-9})

    assert len(contacts) == len(read_trajectory(source).time)
    return changed(source, target, change)


CONTACT: dict[str, tuple[Any, str]] = {
    "body_a": (0, "contact mode"),
    "body_b": (-1, "contact mode"),
    "point": ((0.0, 0.0, 0.0), "coordinate"),
    "normal": ((0.0, 0.0, 1.0), "coordinate"),
    "normal_impulse": (1.0, "reaction"),
    "tangential_impulse": ((0.0, 0.0, 0.0), "reaction"),
    "mode": (1, "contact mode"),
}
"""Datasets of contacts: the default content and the role of each."""
