"""Number of rows of each dataset of a result file that belong to complete output instants.

The datasets of a killed run may have different lengths, and the offsets of contacts may not match the contacts.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from multibody_cli.output.channel import BOUND, CONTACT, INSTANT
from multibody_cli.output.contact_channels import GROUP, OFFSET

if TYPE_CHECKING:
    import h5py


def row_kind(file: h5py.File, path: str) -> str:
    """Return the meaning of a row of a channel of an open result file, a key of `output.channel.ROWS`.

    Without the attribute `per`, a dataset of `contacts` whose first axis is not time is flat.
    """
    dataset = file[path]
    if "per" in dataset.attrs:
        return str(dataset.attrs["per"])
    if path == OFFSET:
        return BOUND
    scales = dataset.dims[0]
    is_flat = path.startswith(f"{GROUP}/") and not (len(scales) and scales[0] == file["time"])
    return CONTACT if is_flat else INSTANT


def complete_rows(file: h5py.File) -> dict[str, int]:
    """Return the number of complete rows of each channel of an open result file, by its path.

    The order of the channels is that in which the run created them, where the file keeps it: that of the scene.

    Raises
    ------
    KeyError
        `time` is missing, or the offsets of contacts are.
    """
    import h5py

    lengths: dict[str, int] = {}
    kinds: dict[str, str] = {}

    def note(link: bytes) -> None:
        name = link.decode()
        node = file[name]
        if isinstance(node, h5py.Dataset) and "rtol" in node.attrs:
            lengths[name] = node.shape[0]
            kinds[name] = row_kind(file, name)

    h5py.h5o.visit(file.id, note, idx_type=h5py.h5.INDEX_CRT_ORDER, order=h5py.h5.ITER_INC)
    if "time" not in lengths:
        raise KeyError("there is no `time`")
    shortest = {per: min(lengths[name] for name in kinds if kinds[name] == per) for per in set(kinds.values())}
    instants, contacts, bounds = shortest[INSTANT], 0, 0
    if CONTACT in shortest and OFFSET not in file:
        raise KeyError(f"there is no `{OFFSET}`")
    if OFFSET in file:
        offset = file[OFFSET]
        bounds = offset.shape[0]
        instants = max(0, min(instants, bounds - 1))
        if CONTACT in shortest and bounds:
            # instants with a known end and with all their contacts
            instants = max(0, bisect_right(offset, shortest[CONTACT], 0, instants + 1) - 1)
            contacts = int(offset[instants])
    rows = {INSTANT: instants, CONTACT: contacts, BOUND: min(instants + 1, bounds)}
    return {name: rows[per] for name, per in kinds.items()}
