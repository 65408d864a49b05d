"""Constraints, limits and contacts as edges of a pass over trees with joint friction (`tree_friction`).

An *edge* acts on one body, between two bodies, or on one coordinate.  Its law states that the impulse x is the
projection P(x - u / w), with the velocity u of its rows after the step and a scale w (`friction.natural_map`).  With
the derivative D of P and the compliance eps, a step of Newton's method has

    x = a - Z u,   Z = K D / w,   a = x0 + K (P - x0) + Z u0,   K = (1 - D + eps D)^-1,

from the last x0 and u0.  With u = r + J dV, the edge adds J^T Z J to the inertia of its body and J^T (a - Z r) to the
impulses on it; that on a coordinate is an armature.  Edges between two bodies close a loop (`open_loops`): with the
wrench W of all of them on the first body, about its origin, and the motion E of this body relative to the other,

    C E + W = c,   C = sum J^T Z J,   c = sum J^T (a - Z r).

An edge whose wrenches are not action and reaction, as a gap is between its points, closes a loop of its own, with
Z J dV + x = a - Z r.  All edges are then part of the same pass as the joints, in O(n).

At the solution u of a contact that sticks is 0: u = eps w (x0 - x).  `edge_compliance` chooses eps.

The resistance of a contact to rolling (`resistance`) is an edge with the law of Coulomb and the load of another edge.
Its first row is the normal of the contact without an impulse.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.contact_solver.edge_compliance import REPEATED
from multibody_cli.contact_solver.friction.dense import clipped
from multibody_cli.contact_solver.friction.natural_map import LEAST_SIZE
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.laws.projection import project_by_law
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers, Records
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import no_force, outer, power
from multibody_cli.tree.articulated_body import load_motion_change

LEAST_RESPONSE = 1e-6
"""Least response of an edge, relative to that of its body alone, that scales the compliance."""

EDGE = np.dtype(
    [
        ("row", "i8"),  # first row of the step
        ("rows", "i8"),
        ("law", "i8"),
        ("body", "i8"),  # the first body of its pair; 0 for an edge at a coordinate
        ("coordinate", "i8"),  # -1 for an edge at bodies
        ("pair", "i8"),  # of the bodies that it connects, -1 for an edge to the ground or at a coordinate
        ("load", "i8"),  # edge whose first impulse is the load: itself, or that of the contact of a resistance
        ("mu", "f8"),
        ("w", "f8"),  # response if the body were free, which decides about states
        ("share", "f8"),  # response in the mechanism relative to w, which scales the compliance
    ]
)

PENALTY = np.dtype([("J", "f8", 9), ("H", "f8", 9), ("K", "f8", 9), ("M", "f8", 9), ("t", "f8", 3), ("f", "f8", 3)])
"""J^T Z J and J^T (a - Z r) of all edges at a body."""


class Edges(NamedTuple):
    """Work arrays of up to e edges on n bodies with m coordinates, and between p pairs of them."""

    rows: Records  # of the step
    terms: Records
    number: Annotated[Integers, 1]  # of edges
    compliance: Annotated[Floats, 1]  # of the next step
    last: Annotated[Floats, 1]  # residual of the last step
    least: Annotated[Floats, 1]  # least residual
    stalled: Annotated[Integers, 1]  # number of steps without a smaller one
    shifts: Annotated[Integers, 1]  # number of steps with less compliance
    jams: Annotated[Integers, 1]  # whether a contact stops without a collision (`edge_impacts.find_jams`)
    motion: Annotated[Floats, 1]  # speed of the bodies without impulses, in the norm of kinetic energy
    edges: Annotated[Records, "e", EDGE]
    x: Annotated[Floats, "e", PER_CONTACT]  # impulses
    u: Annotated[Floats, "e", PER_CONTACT]  # velocities after the step
    r: Annotated[Floats, "e", PER_CONTACT]  # velocities without impulses
    a: Annotated[Floats, "e", PER_CONTACT]
    given: Annotated[Floats, "e", PER_CONTACT]  # impulses beside those of the law (`edge_impacts`); 0 for most
    Z: Annotated[Floats, "e", PER_CONTACT, PER_CONTACT]
    projection: Annotated[Floats, "e", PER_CONTACT]  # P
    D: Annotated[Floats, "e", PER_CONTACT, PER_CONTACT]
    K: Annotated[Floats, PER_CONTACT, PER_CONTACT]
    response: Annotated[Floats, PER_CONTACT, PER_CONTACT]  # of a contact to its unit impulses
    of_body: Annotated[Records, "n", PENALTY]
    pair_count: Annotated[Integers, 1]  # number of pairs of bodies that edges connect
    pairs: Annotated[Integers, "p", 2]
    edge_of_pair: Annotated[Integers, "p"]  # the only edge of a pair that is one of its own, else -1
    pair_penalty: Annotated[Floats, "p", 6, 6]  # C
    pair_impulse: Annotated[Floats, "p", 6]  # c
    armature: Annotated[Floats, "m"]  # armature of a coordinate with Z of its edges
    impulse: Annotated[Floats, "m"]  # a - Z r of its edges
    y: Annotated[Floats, PER_CONTACT]  # x - u / w of one edge
    on_coordinate: Annotated[Floats, "m"]  # impulses of the edges at a coordinate


@formula
def term_of(edges, row):
    """Return the first term of a row."""
    return edges.terms[edges.rows[row].first_term]


# --- laws -------------------------------------------------------------------------------------------------------------
@kernel
def project_edge(edges, e):
    """Compute P(x - u / w) of an edge and its derivative, with x beside the given projection."""
    edge, P, D = edges.edges[e], edges.projection[e], edges.D[e]
    for i in range(PER_CONTACT):
        for j in range(PER_CONTACT):
            D[i, j] = 0.0
        P[i] = 0.0
        edges.y[i] = edges.x[e, i] - edges.given[e, i] - edges.u[e, i] / edge.w
    scale = load_scale(edges, edge)
    edges.y[0] = scale * (edges.x[edge.load, 0] - edges.given[edge.load, 0]) - edges.u[e, 0] / edge.w
    project_by_law(edge.law, edge.mu / scale, 0, edges.y, P, D)
    if edge.load != e:
        P[0] = 0.0


@formula
def load_scale(edges, edge):
    """Return the factor from the impulse of the edge that loads an edge to its load, in the scale of its rows."""
    return edges.edges[edge.load].w / edge.w


@kernel
def linearize_edge(edges, e, eps):
    """Compute Z and a of an edge."""
    edge, D, K, Z = edges.edges[e], edges.D[e], edges.K, edges.Z[e]
    x, u, P = edges.x[e], edges.u[e], edges.projection[e]
    for i in range(PER_CONTACT):
        for j in range(PER_CONTACT):
            K[i, j] = (1.0 if i == j else 0.0) - (1.0 - eps) * D[i, j]
    invert(K)
    given = edges.given[e]
    first = edges.projection[edge.load, 0] - (edges.x[edge.load, 0] - edges.given[edge.load, 0])
    first *= load_scale(edges, edge)
    for i in range(PER_CONTACT):
        edges.a[e, i] = x[i]
        for j in range(PER_CONTACT):
            Z[i, j] = (K[i, 0] * D[0, j] + K[i, 1] * D[1, j] + K[i, 2] * D[2, j]) / edge.w
            edges.a[e, i] += K[i, j] * (first if j == 0 else P[j] - (x[j] - given[j])) + Z[i, j] * u[j]
    if edge.load != e:
        edges.a[e, 0] = Z[0, 0] = Z[0, 1] = Z[0, 2] = 0.0


@kernel
def invert(K):
    """Invert a matrix (3, 3) in place."""
    a, b, c = K[0, 0], K[0, 1], K[0, 2]
    d, e, f = K[1, 0], K[1, 1], K[1, 2]
    g, h, i = K[2, 0], K[2, 1], K[2, 2]
    over = 1.0 / (a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g))
    K[0, 0], K[0, 1], K[0, 2] = over * (e * i - f * h), over * (c * h - b * i), over * (b * f - c * e)
    K[1, 0], K[1, 1], K[1, 2] = over * (f * g - d * i), over * (a * i - c * g), over * (c * d - a * f)
    K[2, 0], K[2, 1], K[2, 2] = over * (d * h - e * g), over * (b * g - a * h), over * (a * e - b * d)


# --- a pass -----------------------------------------------------------------------------------------------------------
@kernel
def linearize_edges(edges, armature):
    """Replace all edges by inertias and impulses on their bodies and coordinates, for a step from the last x and u."""
    clear_edges(edges, armature)
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        project_edge(edges, e)
        linearize_edge(edges, e, edges.compliance[0] * edge.share)
        if edge.coordinate >= 0:
            c = term_of(edges, edge.row).coefficient
            edges.armature[edge.coordinate] += c * edges.Z[e, 0, 0] * c
            edges.impulse[edge.coordinate] += c * (edges.a[e, 0] - edges.Z[e, 0, 0] * edges.r[e, 0])
        else:
            add_penalty(edges, e)


@kernel
def apply_unit_impulse(edges, e, i, armature):
    """Replace all edges by a unit impulse of row i of one contact."""
    clear_edges(edges, armature)
    edge, W = edges.edges[e], wrench_of_edge(edges, e, i)
    if edge.pair < 0:
        store_force(edges.of_body[edge.body], W)
    elif edges.edge_of_pair[edge.pair] == e:
        edges.pair_impulse[edge.pair, i] = 1.0
    else:
        add_to_vector(edges.pair_impulse[edge.pair], 1.0, W)


@kernel
def clear_edges(edges, armature):
    """Replace all edges by the armatures (m,) of the coordinates alone."""
    for j in range(len(edges.armature)):
        edges.armature[j], edges.impulse[j], edges.on_coordinate[j] = armature[j], 0.0, 0.0
    for i in range(len(edges.of_body) if edges.number[0] > 0 else 0):
        record = edges.of_body[i]
        for k in range(9):
            record.J[k] = record.H[k] = record.K[k] = record.M[k] = 0.0
        store_force(record, no_force())
    for p in range(edges.pair_count[0]):
        for i in range(6):
            edges.pair_impulse[p, i] = 0.0
            for k in range(6):
                edges.pair_penalty[p, i, k] = 0.0


@formula
def wrench_of_edge(edges, e, i):
    """Return the wrench of a unit impulse of row i of an edge on its body: a row of J."""
    term = edges.terms[edges.rows[edges.edges[e].row + i].first_term]
    if edges.edges[e].pair >= 0 and term.body != edges.edges[e].body:
        term = edges.terms[edges.rows[edges.edges[e].row + i].first_term + 1]
    return load_force(term)


@kernel
def add_penalty(edges, e):
    """Add J^T Z J and J^T (a - Z r) of an edge to those of its body, or of its pair of bodies."""
    edge, Z, a, r = edges.edges[e], edges.Z[e], edges.a[e], edges.r[e]
    for i in range(edge.rows):
        W, by, x = wrench_of_edge(edges, e, i), no_force(), a[i]
        for j in range(edge.rows):
            by = by + Z[i, j] * wrench_of_edge(edges, e, j)
            x -= Z[i, j] * r[j]
        if edge.pair >= 0 and edges.edge_of_pair[edge.pair] == e:
            edges.pair_impulse[edge.pair, i] = x
            for j in range(edge.rows):
                edges.pair_penalty[edge.pair, i, j] = Z[i, j]
        elif edge.pair >= 0:
            C, c = edges.pair_penalty[edge.pair], edges.pair_impulse[edge.pair]
            add_to_vector(C[0], W.t.x, by)
            add_to_vector(C[1], W.t.y, by)
            add_to_vector(C[2], W.t.z, by)
            add_to_vector(C[3], W.f.x, by)
            add_to_vector(C[4], W.f.y, by)
            add_to_vector(C[5], W.f.z, by)
            add_to_vector(c, x, W)
        else:
            record = edges.of_body[edge.body]
            store(record.J, load(record.J) + outer(W.t, by.t))
            store(record.H, load(record.H) + outer(W.t, by.f))
            store(record.K, load(record.K) + outer(W.f, by.t))
            store(record.M, load(record.M) + outer(W.f, by.f))
            store_force(record, load_force(record) + x * W)


@formula
def add_to_vector(vector, factor, W):
    """Add a multiple of a Force to a vector (6,)."""
    vector[0] += factor * W.t.x
    vector[1] += factor * W.t.y
    vector[2] += factor * W.t.z
    vector[3] += factor * W.f.x
    vector[4] += factor * W.f.y
    vector[5] += factor * W.f.z


@kernel
def add_change_of_row(velocity, edges, edge, i, bodies, change) -> float:
    """Return the velocity of row i of an edge after a pass, from that before."""
    row = edges.rows[edge.row + i]
    for k in range(row.first_term, row.last_term):
        if edge.coordinate >= 0:
            velocity += edges.terms[k].coefficient * change[edge.coordinate]
        else:
            velocity += power(load_motion_change(bodies[edges.terms[k].body]), load_force(edges.terms[k]))
    return velocity


@kernel
def read_edges(edges, bodies, change):
    """Compute velocities and impulses of all edges after a pass, from the changes of the bodies and of the rates."""
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        for i in range(edge.rows):
            edges.u[e, i] = add_change_of_row(edges.r[e, i], edges, edge, i, bodies, change)
        for i in range(edge.rows):
            edges.x[e, i] = edges.a[e, i]
            for j in range(edge.rows):
                edges.x[e, i] -= edges.Z[e, i, j] * edges.u[e, j]
        if edge.coordinate >= 0:
            edges.on_coordinate[edge.coordinate] += term_of(edges, edge.row).coefficient * edges.x[e, 0]


@kernel
def apply_edge_impulses(edges, wrenches):
    """Add the impulses of the edges at bodies to the wrenches on these."""
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        if edge.coordinate < 0:
            for i in range(edge.rows):
                row = edges.rows[edge.row + i]
                for k in range(row.first_term, row.last_term):
                    record = wrenches[edges.terms[k].body]
                    store_force(record, load_force(record) + edges.x[e, i] * load_force(edges.terms[k]))


@kernel
def edge_residual(edges, worst, size) -> float:
    """Return the largest |x - P(x - u / w)| sqrt(w) relative to the size of the problem; infinity for no number.

    `worst` and `size` are those of other rows.
    """
    size, total = max(size, LEAST_SIZE * edges.motion[0]), 0.0
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        unit = math.sqrt(edge.w)
        project_edge(edges, e)
        for i in range(edge.rows):
            size = max(size, abs(edges.r[e, i]) / unit, abs(edges.x[e, i]) * unit)
            worst = max(worst, abs(edges.x[e, i] - edges.given[e, i] - edges.projection[e, i]) * unit)
            total += 0.0 * edges.x[e, i]
    if total != 0.0:
        return math.inf
    return worst / size if size > 0.0 else worst


@kernel
def rescale_edges(edges):
    """Scale the compliance of an edge by the response that the last pass had along its impulses."""
    for e in range(edges.number[0]):
        edge, work, square = edges.edges[e], 0.0, 0.0
        for i in range(edge.rows):
            work += edges.x[e, i] * (edges.u[e, i] - edges.r[e, i])
            square += edges.x[e, i] * edges.x[e, i]
        if work > LEAST_RESPONSE * edge.w * square:
            edge.share = min(work / (edge.w * square), 1.0)


@kernel
def store_edges(edges, x) -> bool:
    """Store the impulses of all edges in x (m,), exactly admissible; return whether they repeat those that x had."""
    change = size = 0.0
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        unit = math.sqrt(edge.w)
        project_edge(edges, e)
        for i in range(edge.rows):
            k, impulse = edge.row + i, edges.given[e, i] + edges.projection[e, i]
            change, size = max(change, abs(impulse - x[k]) * unit), max(size, abs(impulse) * unit)
            x[k] = impulse
        if edges.given[e, 0] > 0.0:
            k = edge.row
            x[k + 1], x[k + 2] = clipped(x[k + 1], x[k + 2], edge.mu * x[k])
    return change < REPEATED * size
