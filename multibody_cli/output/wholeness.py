"""How many rows of each dataset of a result file belong to instants that are there as a whole.

A run that was killed may have got one dataset further than another, and the bounds of contacts further than the
contacts, or less far.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from multibody_cli.output.channel import BOUND, CONTACT, INSTANT
from multibody_cli.output.contact_channels import OFFSET

if TYPE_CHECKING:
    import h5py


def whole_rows(file: h5py.File) -> dict[str, int]:
    """Count the rows that can be read of each channel of an open result file, by its path.

    Raises
    ------
    KeyError
        The file lacks `time`, or holds contacts without their bounds.
    """
    import h5py

    lengths: dict[str, int] = {}
    kinds: dict[str, str] = {}

    def note(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and "rtol" in node.attrs:
            lengths[name] = node.shape[0]
            kinds[name] = node.attrs.get("per", INSTANT)

    file.visititems(note)
    if "time" not in lengths:
        raise KeyError("there is no `time`")
    shortest = {per: min(lengths[name] for name in kinds if kinds[name] == per) for per in set(kinds.values())}
    instants, contacts = shortest[INSTANT], 0
    if BOUND in shortest:
        instants = max(0, min(instants, shortest[BOUND] - 1))
    if CONTACT in shortest and BOUND not in shortest:
        raise KeyError(f"there is no `{OFFSET}`")
    if CONTACT in shortest and shortest[BOUND]:
        offset = file[OFFSET]
        # of the instants whose end is known, those whose contacts are there
        instants = bisect_right(offset, shortest[CONTACT], 0, instants + 1) - 1
        contacts = int(offset[instants])
    rows = {INSTANT: instants, CONTACT: contacts, BOUND: min(instants + 1, shortest.get(BOUND, 0))}
    return {name: rows[per] for name, per in kinds.items()}
