"""Motion of the named points of bodies: position, orientation, velocity and acceleration."""

from __future__ import annotations

from multibody_cli.joints.parts.crossing import point_acceleration
from multibody_cli.kernel import lazy_kernel
from multibody_cli.observation.bodies import store_quaternion
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross
from multibody_cli.tree.articulated_body import load_motion_change


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the motion of each named point, in world axes; accelerations of bodies are those relative to free fall."""
    gravity = -load(work.bodies[0].a)
    for i in range(len(rows.points)):
        point = rows.points[i]
        body = work.bodies[point.row]
        R, w, change = load(body.R), load(body.w), load_motion_change(body)
        r = R @ load(point.origin)
        store(samples.point_position[k, i], load(body.x) + r)
        store_quaternion(samples.point_quaternion[k, i], R @ load(point.frame))
        store(samples.point_linear_velocity[k, i], load(body.v) + cross(w, r))
        store(samples.point_angular_velocity[k, i], w)
        a = point_acceleration(load(body.a) + change.v, load(body.alpha) + change.w, w, r)
        store(samples.point_acceleration[k, i], gravity + a)
