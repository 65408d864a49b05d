"""What a block of output instants needs to know of those before it.

Three things that a user reads depend on the past: the residual of the energy ledger is counted from the first
instant, of the two quaternions of a rotation the one nearer to the instant before is written, so that the sign never
jumps, and contacts are counted through the whole run.  A `History` lives as long as a run and turns each block of
samples into a `Block`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers, Names
    from multibody_cli.samples import Samples


class Contacts(NamedTuple):
    """The N contacts of K output instants, one after the other.

    Parameters
    ----------
    end
        (K,) how many contacts the run had up to and with each instant.
    instant
        (N,) which instant of the run each contact belongs to.
    bodies, point, normal, gap, impulse, mode
        (N, ...) as in `Samples`.
    """

    end: Integers
    instant: Integers
    bodies: Integers
    point: Floats
    normal: Floats
    gap: Floats
    impulse: Floats
    mode: Integers


class Block(NamedTuple):
    """K output instants, ready to be written.

    Parameters
    ----------
    samples
        The samples, cut to the K rows that are filled.
    quaternion
        (K, B, 4) orientation of each body, (w, x, y, z), continuous in time.
    total
        (K,) kinetic, potential and elastic energy together, J.
    ledger_residual
        (K,) what the energy balance misses: total - first total - work + dissipation, J.
    contacts
        The contacts of all K instants.
    """

    samples: Samples
    quaternion: Floats
    total: Floats
    ledger_residual: Floats
    contacts: Contacts


class History:
    """The past of one run.

    Parameters
    ----------
    names
        The names of the model that runs; its accounts say which energies enter and which leave.
    """

    def __init__(self, names: Names) -> None:
        self._signs = np.array([-1.0 if account.kind == "work" else 1.0 for account in names.accounts])
        self._first_balance: float | None = None
        self._last_quaternion: Floats | None = None
        self._instants = 0
        self._contacts = 0

    def block(self, samples: Samples, count: int) -> Block:
        """Complete the first `count` rows of `samples` by what depends on the rows before them."""
        filled = samples._replace(**{name: column[:count] for name, column in samples._asdict().items()})
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges may end beyond all numbers
            total = filled.kinetic + filled.potential + filled.elastic
            balance = total + filled.accounts @ self._signs
        if self._first_balance is None and count:
            self._first_balance = float(balance[0])
        residual = balance - (self._first_balance or 0.0)
        return Block(filled, self._unwind(filled.quaternion), total, residual, self._line_up(filled))

    def _line_up(self, samples: Samples) -> Contacts:
        """Put the contacts of all instants in a row, and number them on from the block before."""
        counts = samples.contact_count
        end = self._contacts + np.cumsum(counts)
        instant = np.repeat(np.arange(self._instants, self._instants + len(counts)), counts)
        self._instants += len(counts)
        self._contacts += int(counts.sum())
        filled = np.arange(samples.contact_gap.shape[1]) < counts[:, None]
        return Contacts(
            end,
            instant,
            bodies=samples.contact_bodies[filled],
            point=samples.contact_point[filled],
            normal=samples.contact_normal[filled],
            gap=samples.contact_gap[filled],
            impulse=samples.contact_impulse[filled],
            mode=samples.contact_mode[filled],
        )

    def _unwind(self, quaternion: Floats) -> Floats:
        """Choose signs such that neighbors in time have a dot product that is not negative; first w >= 0."""
        if not quaternion.size:
            return quaternion
        if self._last_quaternion is None:
            self._last_quaternion = _with_positive_lead(quaternion[0])
        agreement = np.empty(quaternion.shape[:2])
        np.einsum("bi,bi->b", self._last_quaternion, quaternion[0], out=agreement[0])
        np.einsum("kbi,kbi->kb", quaternion[:-1], quaternion[1:], out=agreement[1:])
        signs = np.cumprod(np.where(agreement < 0.0, -1.0, 1.0), axis=0)
        continuous = quaternion if np.all(signs > 0.0) else signs[:, :, None] * quaternion
        self._last_quaternion = continuous[-1].copy()
        return continuous


def _with_positive_lead(quaternion: Floats) -> Floats:
    """Give each of (B, 4) quaternions the sign that makes its first number other than zero positive."""
    lead = np.argmax(quaternion != 0.0, axis=1)
    signs = np.where(np.take_along_axis(quaternion, lead[:, None], axis=1) < 0.0, -1.0, 1.0)
    positive: Floats = signs * quaternion
    return positive
