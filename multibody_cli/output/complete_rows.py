"""Number of rows of each dataset of a result file that belong to complete output instants.

The datasets of a killed run may have different lengths, and the offsets of contacts may not match the contacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.output.channel import BOUND, CONTACT, INSTANT
from multibody_cli.output.contact_channels import OFFSET

if TYPE_CHECKING:
    from multibody_cli.model import Integers


def complete_rows(kinds: Mapping[str, str], lengths: Mapping[str, int], offset: Integers | None) -> dict[str, int]:
    """Return the number of complete rows of each channel, by its path.

    Parameters
    ----------
    kinds
        Meaning of a row of each channel, a key of `output.channel.ROWS`.
    lengths
        Number of rows of each channel in the file.
    offset
        First row of the contacts of each instant, and their number at the end; None if the file has no contacts.

    The order of the channels is that in which the run created them, where the file keeps it: that of the scene.

    Raises
    ------
    KeyError
        There are contacts, but no offsets.
    """
    shortest = {per: min(lengths[name] for name in kinds if kinds[name] == per) for per in set(kinds.values())}
    instants, contacts, bounds = shortest[INSTANT], 0, 0
    if offset is None and CONTACT in shortest:
        raise KeyError(f"there is no `{OFFSET}`")
    if offset is not None:
        bounds = len(offset)
        instants = max(0, min(instants, bounds - 1))
        if CONTACT in shortest and bounds:
            # instants with a known end and with all their contacts
            instants = max(0, int(np.searchsorted(offset[: instants + 1], shortest[CONTACT], "right")) - 1)
            contacts = int(offset[instants])
    rows = {INSTANT: instants, CONTACT: contacts, BOUND: min(instants + 1, bounds)}
    return {name: rows[per] for name, per in kinds.items()}
