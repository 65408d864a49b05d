"""Runs made of arrays, to be drawn."""

from __future__ import annotations

import numpy as np

from multibody_cli.output.trajectory import ChannelRecord, Trajectory

XYZ = ("x", "y", "z")
ATTRIBUTES = {"name": "swing", "method": "aba", "integrator": "rk4", "step": 1e-3, "status": "complete"}


def record(path, values, units="1", labels=(), rtol=1e-6):
    return ChannelRecord(path, np.asarray(values), labels, units, "", "", rtol, 1e-9)


class NotedRun(Trajectory, eq=False):
    """A run with a list of the channels that were read."""

    read: list


def run_of(*records, time, bodies=("arm", "hand"), source="run.h5", **attributes):
    """A run that notes in `read` which rows of which channel were read."""
    stored = {one.path: one for one in (record("time", time, "s"), *records)}
    read = []

    def load(path, rows):
        one = stored[path]
        read.append((path, rows))
        return ChannelRecord(path, one.values[rows], one.labels, one.units, "", "", one.rtol, one.atol)

    com = np.zeros((len(bodies), 3))
    return NotedRun(source, ATTRIBUTES | attributes, "", bodies, com, tuple(stored), load, read=read)


def energies(time, **accounts):
    """The energies of a swing without loss, and accounts of work or dissipation by their paths."""
    kinetic = np.sin(time) ** 2
    values = {
        "energy/dissipation/joints/hinge/damping": np.zeros_like(time),
        "energy/elastic": 0 * time,
        "energy/kinetic": kinetic,
        "energy/potential": 1 - kinetic,
        "energy/total": np.ones_like(time),
        **accounts,
    }
    residual = record("energy/ledger_residual", 1e-12 * time, "J", rtol=0.0)
    return [*(record(path, one, "J") for path, one in values.items()), residual]


def positions(time, bodies=("arm", "hand")):
    values = np.stack([np.stack([k + time, 10 * k - time, 0 * time], axis=1) for k in range(len(bodies))], axis=1)
    return record("bodies/position", values, "m", (tuple(bodies), XYZ))


def forces(time, joint="hinge"):
    labels = ("mx", "my", "mz", "fx", "fy", "fz")
    return record(f"joints/{joint}/force", np.outer(time, np.arange(6.0)), "N m, N m, N m, N, N, N", (labels,))
