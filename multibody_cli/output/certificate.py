"""Certificate of a run: error bars of its channels and a verdict, in the group `certificate` of the result file.

The dataset of the error bars of `joints/hinge/q` is `certificate/joints/hinge/q`, with the same shape.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from multibody_cli.immutable import Immutable
from multibody_cli.output.bodies import find_body_channel
from multibody_cli.output.channel import Array
from multibody_cli.output.file_replacement import replacement

GROUP = "certificate"
ATTRIBUTES = {"status": str, "verdict": str, "digits": int, "until": float, "methods": tuple, "settings": tuple}
"""Attributes of the group, fields of a certificate; tuples of texts are JSON lists."""


class ErrorBar(Immutable):
    """Error bars of one channel.

    Parameters
    ----------
    values
        (T, ...) error bars, in the units of the channel; infinite where nothing is known.
    units
        Units of the channel.
    order
        Observed order: exponent of the step, or of the tolerance; NaN if the differences are round-off.
    digits
        Number of significant digits, relative to the largest absolute value of the channel.
    """

    values: Array
    units: str
    order: float
    digits: int


class Certificate(Immutable):
    """Certificate of a run.

    Parameters
    ----------
    status
        `certified`, `chaotic`, `methods disagree` or `not converged`.
    verdict
        The verdict as a sentence.
    digits
        Number of significant digits that all judged channels have up to `until`.
    until
        Time up to which the run is certified, s.
    methods
        The methods whose runs were compared.
    settings
        Step or tolerance of each level, from coarse to fine, as in the scene.
    bars
        Error bars by the path of the channel.
    """

    status: str
    verdict: str
    digits: int
    until: float
    methods: tuple[str, ...]
    settings: tuple[str, ...]
    bars: Mapping[str, ErrorBar]

    def bar(self, path: str, bodies: Sequence[str]) -> Array | None:
        """Return the error bars of a channel, (T, ...), or None; the arrays of all bodies include each body."""
        if path in self.bars:
            return self.bars[path].values
        found = find_body_channel(path, bodies)
        if found is None or len(found[0].paths) > 1 or found[0].paths[0] not in self.bars:
            return None
        values: Array = self.bars[found[0].paths[0]].values[:, found[1]]
        return values

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the group in the result file."""
        values = {name: getattr(self, name) for name in ATTRIBUTES}
        return {name: json.dumps(value) if isinstance(value, tuple) else value for name, value in values.items()}


def add_certificate(path: Path, certificate: Certificate) -> None:
    """Add a certificate to a result file; the file is replaced by a complete copy.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    import h5py

    with replacement(path) as new:
        shutil.copyfile(path, new)
        with h5py.File(new, "r+") as file:
            group = file.create_group(GROUP, track_order=False)
            group.attrs.update(certificate.attributes())
            for name, bar in sorted(certificate.bars.items()):  # as a reader lists them
                dataset = group.create_dataset(name, data=bar.values, track_times=False)
                dataset.attrs.update(units=bar.units, order=bar.order, digits=bar.digits)
