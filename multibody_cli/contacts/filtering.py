"""Filtering of pairs of geoms by body, group and exclusion."""

from __future__ import annotations

from multibody_cli.kernel import kernel

EVERY_GROUP = 2**62 - 1
"""Mask of a geom that collides with all groups."""

_ROWS = 2**31


def key_of(body_a: int, body_b: int) -> int:
    """Encode a pair of body rows, the lower one first, as one number."""
    return body_a * _ROWS + body_b


def pair_of(key: int) -> tuple[int, int]:
    """Decode a pair of body rows."""
    return divmod(key, _ROWS)


@kernel
def may_touch(a, b, excluded):
    """Return whether two geoms form a pair: different, not both static bodies, matching groups, not excluded."""
    if a.body == b.body or (a.static != 0 and b.static != 0):
        return False
    if (a.group & b.mask) == 0 or (b.group & a.mask) == 0:
        return False
    return not _holds(excluded, min(a.body, b.body) * _ROWS + max(a.body, b.body))


@kernel
def _holds(ascending, key):
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(ascending) and ascending[low] == key
