"""Specific force and angular velocity of sensors: the signals of an accelerometer and a gyroscope in one frame.

Gravity is an acceleration -g of the ground (`tree.kinematics`), so that the accelerations of bodies are those relative
to free fall: the specific force of a point is its acceleration less the gravitational acceleration.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.joints.parts.crossing import point_acceleration
from multibody_cli.kernel import lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import transposed_times
from multibody_cli.tree.articulated_body import load_motion_change

FIXED_FRAME = np.dtype([("row", "i8"), ("origin", "f8", 3), ("frame", "f8", 9)])
"""A frame that is fixed in a body: the row of the body, and the frame relative to its joint frame."""


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the specific force and the angular velocity of each sensor, in the axes of the sensor."""
    for i in range(len(rows.sensors)):
        sensor = rows.sensors[i]
        body = work.bodies[sensor.row]
        R, w, change = load(body.R), load(body.w), load_motion_change(body)
        axes, r = R @ load(sensor.frame), R @ load(sensor.origin)
        f = point_acceleration(load(body.a) + change.v, load(body.alpha) + change.w, w, r)
        store(samples.specific_force[k, i], transposed_times(axes, f))
        store(samples.sensor_angular_velocity[k, i], transposed_times(axes, w))
