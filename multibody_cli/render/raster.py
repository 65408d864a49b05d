"""Software rasterizer: nearest triangle of each sample, and its shade with a sun, its shadow, a sky and outlines.

No graphics library is used, so that pictures need neither a display nor a driver, and have the same bytes on every
run.

A sample lies in a triangle if its barycentric coordinates b_i in the picture are not negative.  Positions and normals
at a sample are weighted by b_i w_i, where w_i is the inverse depth of corner i (perspective-correct interpolation); w
itself is linear in the picture.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import kernel

LIT, SKY, GROUND_LIGHT, EDGE = 0.70, 0.50, 0.30, 0.30
"""Radiance of a white surface by the sun and by the sky from above and from below, and of an outline, relative."""


@kernel
def find_nearest(corners, nearness, owner):
    """Write the nearest triangle of each sample.

    `corners` (n, 3, 3) are x and y in samples, and a nearness that is linear in the picture; `nearness` and `owner`
    (rows, columns) receive that of the nearest triangle and its number, and must be -inf and -1 before.
    """
    rows, columns = nearness.shape
    for k in range(len(corners)):
        ax, ay, bx, by, cx, cy = (
            corners[k, 0, 0],
            corners[k, 0, 1],
            corners[k, 1, 0],
            corners[k, 1, 1],
            corners[k, 2, 0],
            corners[k, 2, 1],
        )
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not abs(area) > 1e-12:
            continue
        first_row, last_row = max(math.ceil(min(ay, by, cy)), 0), min(math.floor(max(ay, by, cy)), rows - 1)
        first, last = max(math.ceil(min(ax, bx, cx)), 0), min(math.floor(max(ax, bx, cx)), columns - 1)
        for y in range(first_row, last_row + 1):
            for x in range(first, last + 1):
                u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area
                v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area
                w = 1.0 - u - v
                if u >= 0.0 and v >= 0.0 and w >= 0.0:
                    near = u * corners[k, 0, 2] + v * corners[k, 1, 2] + w * corners[k, 2, 2]
                    if near > nearness[y, x]:
                        nearness[y, x] = near
                        owner[y, x] = k


@kernel
def shade(corners, points, normals, colors, objects, owner, lights, shadow, image):
    """Write the mean linear color of the samples of each pixel into `image` (rows, columns, 3), over a background.

    Parameters
    ----------
    corners, owner
        As in `find_nearest`.
    points, normals
        (n, 3, 3) corners in the world, m, and their normals.
    colors, objects
        (n, 3) linear colors, and (n,) numbers of the objects of the triangles, between which outlines are drawn.
    lights
        (7, 3): the direction to the sun, the direction up, the place of the camera, and four rows that map a place to
        x, y and nearness in the shadow map: three of a matrix, and an offset.
    shadow
        Nearness of the surfaces that the sun sees.
    image
        Linear colors of the background before, of the picture after; each pixel has the same number of samples.
    """
    height, width, _ = image.shape
    samples = owner.shape[0] // height
    for row in range(height):
        for column in range(width):
            r, g, b, lit, shaded = 0.0, 0.0, 0.0, 0.0, -1
            for y in range(row * samples, (row + 1) * samples):
                for x in range(column * samples, (column + 1) * samples):
                    k = owner[y, x]
                    if k < 0:
                        r, g, b = r + image[row, column, 0], g + image[row, column, 1], b + image[row, column, 2]
                        continue
                    if k != shaded:  # once for each triangle in a pixel
                        shaded, lit = k, brightness(corners, points, normals, k, x, y, lights, shadow)
                    light = EDGE * lit if is_edge(objects, owner, k, x, y) else lit
                    r, g, b = r + light * colors[k, 0], g + light * colors[k, 1], b + light * colors[k, 2]
            many = samples * samples
            image[row, column, 0], image[row, column, 1], image[row, column, 2] = r / many, g / many, b / many


@kernel
def brightness(corners, points, normals, k, x, y, lights, shadow) -> float:
    """Return the radiance of a white surface at a sample of triangle k."""
    ax, ay, bx, by = corners[k, 0, 0], corners[k, 0, 1], corners[k, 1, 0], corners[k, 1, 1]
    cx, cy = corners[k, 2, 0], corners[k, 2, 1]
    u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) * corners[k, 0, 2]
    v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) * corners[k, 1, 2]
    w = ((ax - x) * (by - y) - (ay - y) * (bx - x)) * corners[k, 2, 2]
    total = u + v + w
    u, v, w = u / total, v / total, w / total
    px = u * points[k, 0, 0] + v * points[k, 1, 0] + w * points[k, 2, 0]
    py = u * points[k, 0, 1] + v * points[k, 1, 1] + w * points[k, 2, 1]
    pz = u * points[k, 0, 2] + v * points[k, 1, 2] + w * points[k, 2, 2]
    nx = u * normals[k, 0, 0] + v * normals[k, 1, 0] + w * normals[k, 2, 0]
    ny = u * normals[k, 0, 1] + v * normals[k, 1, 1] + w * normals[k, 2, 1]
    nz = u * normals[k, 0, 2] + v * normals[k, 1, 2] + w * normals[k, 2, 2]
    size = max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-12)
    if nx * (lights[2, 0] - px) + ny * (lights[2, 1] - py) + nz * (lights[2, 2] - pz) < 0.0:
        size = -size  # the side that faces the camera
    nx, ny, nz = nx / size, ny / size, nz / size
    upward = 0.5 + 0.5 * (nx * lights[1, 0] + ny * lights[1, 1] + nz * lights[1, 2])
    light = GROUND_LIGHT + (SKY - GROUND_LIGHT) * upward
    toward = nx * lights[0, 0] + ny * lights[0, 1] + nz * lights[0, 2]
    if toward > 0.0:
        light += LIT * toward * unshadowed(px, py, pz, nx, ny, nz, toward, lights, shadow)
    return light


@kernel
def unshadowed(px, py, pz, nx, ny, nz, toward, lights, shadow) -> float:
    """Return the part of a small neighborhood that the sun reaches, from 0 to 1."""
    # a step along the normal of some samples of the shadow map keeps a surface from shading itself
    scale = lights[3, 0] ** 2 + lights[3, 1] ** 2 + lights[3, 2] ** 2
    lift = (1.5 + 3.0 * math.sqrt(max(0.0, 1.0 - toward * toward))) / math.sqrt(scale)
    px, py, pz = px + lift * nx, py + lift * ny, pz + lift * nz
    x = lights[3, 0] * px + lights[3, 1] * py + lights[3, 2] * pz + lights[6, 0]
    y = lights[4, 0] * px + lights[4, 1] * py + lights[4, 2] * pz + lights[6, 1]
    near = lights[5, 0] * px + lights[5, 1] * py + lights[5, 2] * pz + lights[6, 2]
    rows, columns = shadow.shape
    reached, column, row = 0.0, math.floor(x + 0.5), math.floor(y + 0.5)
    for i in range(row - 1, row + 2):
        for j in range(column - 1, column + 2):
            if i < 0 or j < 0 or i >= rows or j >= columns or shadow[i, j] <= near:
                reached += 1.0
    return reached / 9.0


@kernel
def is_edge(objects, owner, k, x, y) -> bool:
    """Whether a neighbor of a sample belongs to another object."""
    rows, columns = owner.shape
    for i in range(max(y - 1, 0), min(y + 2, rows)):
        for j in range(max(x - 1, 0), min(x + 2, columns)):
            other = owner[i, j]
            if other != k and other >= 0 and objects[other] != objects[k]:
                return True
    return False
