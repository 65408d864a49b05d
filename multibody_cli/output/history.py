"""Quantities of a block of output instants that depend on earlier instants.

They are the residual of the energy ledger, relative to the first instant; the sign of quaternions, which is chosen
continuous in time; and the running count of contacts.  A `History` exists once for each run and converts each block of
samples to a `SampleBlock`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from multibody_cli.model import Floats, Integers, SceneNames
    from multibody_cli.output.samples import Samples


class ContactRows(NamedTuple):
    """The N contacts of K output instants, concatenated.

    Parameters
    ----------
    end
        (K,) number of contacts of the run up to and including each instant.
    instant
        (N,) index of the output instant of each contact.
    filled
        (K, C) which entries of the samples are contacts, N in all.
    """

    end: Integers
    instant: Integers
    filled: NDArray[np.bool_]


class SampleBlock(NamedTuple):
    """K output instants, ready to be written.

    Parameters
    ----------
    samples
        The samples, K rows.
    quaternion
        (K, B + P, 4) orientation of each body, then of each named point, (w, x, y, z), continuous in time.
    total
        (K,) sum of kinetic, potential and elastic energy, J.
    ledger_residual
        (K,) residual of the energy balance: total - first total - work + dissipation, J.
    contacts
        The contacts of all K instants.
    """

    samples: Samples
    quaternion: Floats
    total: Floats
    ledger_residual: Floats
    contacts: ContactRows


class History:
    """State that is carried from block to block of one run.

    Parameters
    ----------
    names
        Names of the model; the kind of each ledger account determines its sign in the energy balance.
    """

    def __init__(self, names: SceneNames) -> None:
        self._signs = _signs_of(names)
        self._first_balance: float | None = None
        self._last_balance = 0.0
        self._last_quaternion: Floats | None = None
        self.instants = 0
        self._contacts = 0

    def block(self, samples: Samples, count: int) -> SampleBlock:
        """Add the quantities that depend on earlier rows to the first `count` rows of `samples`."""
        filled = samples._replace(**{name: column[:count] for name, column in samples._asdict().items()})
        total, balance = _energies(filled, self._signs)
        if self._first_balance is None and count:
            self._first_balance = float(balance[0])
        if count:
            self._last_balance = float(balance[-1])
        residual = balance - (self._first_balance or 0.0)
        return SampleBlock(
            filled, self._make_continuous(_rotations(filled)), total, residual, self._concatenate_contacts(filled)
        )

    def beside(self, samples: Samples) -> SampleBlock:
        """Return one row, whose numbers may be dual, as a block beside the last instant; contacts are left out."""
        total, balance = _energies(samples, self._signs)
        quaternion = _rotations(samples)
        if self._last_quaternion is not None:
            turned = ((quaternion * self._last_quaternion).sum(axis=-1) < 0.0).astype(np.bool_)
            quaternion = np.where(turned, -1.0, 1.0)[..., None] * quaternion
        return SampleBlock(samples, quaternion, total, balance - (self._first_balance or 0.0), _no_contacts(1))

    def change_scene(self, samples: Samples) -> float:
        """Exempt a change of the scene from the residual of the energy balance.

        Parameters
        ----------
        samples
            The last instant as one row, with the changed scene.

        Returns
        -------
        float
            The energy that the change adds, J.
        """
        added = float(_energies(samples, self._signs)[1][0]) - self._last_balance
        self._first_balance = (self._first_balance or 0.0) + added
        return added

    def kept(self) -> dict[str, Any]:
        """Return all that later blocks depend on; `return_to` goes back to it."""
        return dict(vars(self))

    def return_to(self, kept: Mapping[str, Any]) -> None:
        """Return to the instant of `kept`."""
        vars(self).update(kept)

    def _concatenate_contacts(self, samples: Samples) -> ContactRows:
        """Concatenate the contacts of all instants; instants and offsets continue from the previous block."""
        counts = samples.contact_count
        end = self._contacts + np.cumsum(counts)
        instant = np.repeat(np.arange(self.instants, self.instants + len(counts)), counts)
        self.instants += len(counts)
        self._contacts += int(counts.sum())
        return ContactRows(end, instant, np.arange(samples.contact_gap.shape[1]) < counts[:, None])

    def _make_continuous(self, quaternion: Floats) -> Floats:
        """Choose signs such that consecutive quaternions have a non-negative dot product; the first has w >= 0."""
        if not quaternion.size:
            return quaternion
        if self._last_quaternion is None:
            self._last_quaternion = _with_positive_first_component(quaternion[0])
        continuous = continued(quaternion, self._last_quaternion)
        self._last_quaternion = continuous[-1].copy()
        return continuous


def _signs_of(names: SceneNames) -> Floats:
    """Return the sign of each account (na,) in the energy balance."""
    return np.array([-1.0 if account.kind == "work" else 1.0 for account in names.accounts])


def _energies(samples: Samples, signs: Floats) -> tuple[Floats, Floats]:
    """Return the energy and the energy balance, (K,), J."""
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges may overflow
        total = samples.kinetic + samples.potential + samples.elastic
        # row by row: a product of matrices rounds a row by its place in the block
        return total, total + (samples.accounts * signs).sum(axis=1)


def block_of_runs(names: SceneNames, samples: Samples, runs: int) -> SampleBlock:
    """Return complete runs without contacts, one after the other, as one block with the same bits as their own blocks.

    Parameters
    ----------
    names
        Names of the model.
    samples
        The samples of the runs, R K rows.
    runs
        Their number R.
    """
    total, balance = _energies(samples, _signs_of(names))
    residual = balance.reshape(runs, -1) - (balance.reshape(runs, -1)[:, :1] + 0.0)
    written = _rotations(samples)
    rotations = written.reshape(runs, len(total) // runs, *written.shape[1:])
    continuous = rotations
    if rotations.size:
        continuous = continued(rotations, _with_positive_first_component(rotations[:, 0]))
    return SampleBlock(samples, continuous.reshape(written.shape), total, residual.ravel(), _no_contacts(len(total)))


def _no_contacts(count: int) -> ContactRows:
    """Return the contacts of a number of instants without any."""
    return ContactRows(np.zeros(count, np.int64), np.zeros(0, np.int64), np.zeros((count, 0), np.bool_))


def _rotations(samples: Samples) -> Floats:
    """Return the orientation of each body, then of each named point, (K, B + P, 4)."""
    bodies, points = samples.quaternion, samples.point_quaternion
    joined: Floats = np.concatenate((bodies, points), axis=1) if points.size else bodies
    return joined


def continued(quaternion: Floats, before: Floats) -> Floats:
    """Choose the signs of quaternions (..., K, B, 4) continuous in time, after those before (..., B, 4)."""
    agreement = np.empty(quaternion.shape[:-1])
    np.einsum("...bi,...bi->...b", before, quaternion[..., 0, :, :], out=agreement[..., 0, :])
    np.einsum("...i,...i->...", quaternion[..., :-1, :, :], quaternion[..., 1:, :, :], out=agreement[..., 1:, :])
    turned = agreement < 0.0
    if not turned.any():
        return quaternion
    continuous: Floats = np.cumprod(np.where(turned, -1.0, 1.0), axis=-2)[..., None] * quaternion
    return continuous


def _with_positive_first_component(quaternion: Floats) -> Floats:
    """Choose the sign of each of (..., B, 4) quaternions such that its first nonzero component is positive."""
    lead = np.argmax(quaternion != 0.0, axis=-1)
    signs = np.where(np.take_along_axis(quaternion, lead[..., None], axis=-1) < 0.0, -1.0, 1.0)
    positive: Floats = signs * quaternion
    return positive
