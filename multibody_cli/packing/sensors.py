"""Sensors of a scene as frames of the rows of their bodies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multibody_cli.kernel import records
from multibody_cli.model import Records
from multibody_cli.observation.sensors import SENSOR
from multibody_cli.packing.context import Context
from multibody_cli.scene.links import Placement
from multibody_cli.scene.sensors import SensorSpec
from multibody_cli.spec.rotations import rotation_matrix


def pack_sensors(sensors: Mapping[str, SensorSpec], context: Context) -> Records:
    """Return the table of all sensors, in scene order."""
    packed = np.zeros(len(sensors), SENSOR)
    for entry, spec in zip(packed, sensors.values(), strict=True):
        row = context.row(spec.body)
        frame = context.frames[row] @ Placement(np.array(spec.position), rotation_matrix(spec.rotation))
        entry["row"], entry["origin"], entry["frame"] = row, frame.position, frame.rotation.T.ravel()
    return records(packed)
