"""Constraints for the dense oracle: their rows from jets of points and directions, and random ones that hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from loop_oracle import Loops, hat, transposed

PAIRWISE = ("distance", "point_on_plane", "velocity", "expression")
"""Constraints between two bodies, of which one may be the world."""

ON_ONE_BODY = ("knife_edge", "rolling")


@dataclass
class Rows:
    """Extra rows for the oracle: a Jacobian (rows, size) and a bias, from jets of points and directions."""

    kind: str
    fields: dict

    def __call__(self, loops: Loops, v):
        along = np.vstack([np.eye(loops.size), v])
        f = self.fields

        def point(body, p):
            R, x = loops.frame(body, along)
            return x + R.times(np.array(p)[:, None])

        match self.kind:
            case "distance":
                (a, p), (b, s) = ((end["body"], end["point"]) for end in f["between"])
                d = point(b, s) + point(a, p).times(-np.eye(1))
                square = transposed(d) @ d
                length = math.sqrt(square.value[0, 0])
                J = square.first[:-1, 0, 0] / (2 * length)
                rate = square.first[-1, 0, 0] / (2 * length)
                return J[None], np.array([square.second[-1, 0, 0] / (2 * length) - rate**2 / length])
            case "point_on_plane":
                R, _ = loops.frame(f["plane"]["body"], along)
                n = R.times(np.array(f["plane"]["normal"])[:, None])
                d = point(f["point"]["body"], f["point"]["point"])
                d = d + point(f["plane"]["body"], f["plane"]["position"]).times(-np.eye(1))
                e = transposed(n) @ d
                return e.first[:-1, 0, 0][None], e.second[-1, 0]
            case "expression":
                one = f["inputs"]["x"]
                (a, p), (b, s) = ((one[end]["body"], one[end]["point"]) for end in ("position", "relative_to"))
                n = loops.frame(one["along"]["body"], along)[0].times(np.array(one["along"]["axis"])[:, None])
                e = transposed(n) @ (point(a, p) + point(b, s).times(-np.eye(1)))
                return e.first[:-1, 0, 0][None], e.second[-1, 0]
            case "knife_edge":
                R, _ = loops.frame(f["body"], along)
                p, c = point(f["body"], f["point"]), np.cross(f["normal"], f["edge"])
                c = R.times((c / np.linalg.norm(c))[:, None])
                J = p.first[:-1, :, 0] @ c.value
                bias = c.first[-1, :, 0] @ p.first[-1, :, 0] + c.value[:, 0] @ p.second[-1, :, 0]
                return J.T, np.array([bias])
            case "velocity":
                J, bias = np.zeros(loops.size), 0.0
                for term in f["terms"]:
                    p = point(term["body"], term["point"])
                    J += p.first[:-1, :, 0] @ term["linear"]
                    J[loops.body_columns(term["body"])][3:] += term["angular"]
                    bias += p.second[-1, :, 0] @ term["linear"]
                return J[None], np.array([bias])
            case "rolling":
                p, n = point(f["body"], f["point"]), np.array(f["plane"]["normal"])
                J = p.first[:-1, :, 0].T.copy()
                J[:, loops.body_columns(f["body"])][:, 3:] += hat(f["radius"] * n)  # w x (-r n) = r [n] w
                return J, p.second[-1, :, 0]
            case "linear":
                J = np.zeros(loops.size)
                for word, c in f["terms"].items():
                    joint, _, k = word.partition("/")
                    J[loops.index(joint, int(k or 0))] += c
                return J[None], np.zeros(1)
        raise NotImplementedError(self.kind)


def rows_between(rng, kind: str, body: str, other: str, poses) -> dict[str, Any]:
    """Fields of a constraint between two bodies, or one and the world, that holds at the poses of the body frames."""
    p, s, e, n = rng.normal(size=(4, 3)).tolist()
    n = (np.array(n) / np.linalg.norm(n)).tolist()
    frames = {"world": (np.zeros(3), np.eye(3)), **poses}
    (x, R), (y, P) = frames[body], frames[other]
    at, at_other = x + R @ p, y + P @ s
    ends = {"body": body, "point": p}
    match kind:
        case "distance":
            between = [ends, {"body": other, "point": s}]
            return {"between": between, "length": float(np.linalg.norm(at - at_other))}
        case "point_on_plane":
            position = (P.T @ (at - y)).tolist()
            return {"point": ends, "plane": {"body": other, "normal": n, "position": position}}
        case "expression":
            relative = {"relative_to": {"body": other, "point": s}, "along": {"body": body, "axis": n}}
            height = float((R @ n) @ (at - at_other))
            return {"inputs": {"x": {"position": ends, **relative}}, "parameters": {"h": height}, "value": "x - h"}
        case "knife_edge":
            return {"body": body, "point": p, "edge": e, "normal": n}
        case "velocity":
            terms = [{"body": body, "linear": e, "angular": s, "point": p}]
            terms += [{"body": other, "linear": n, "angular": e, "point": s}] if other != "world" else []
            return {"terms": terms}
        case "rolling":
            plane = {"normal": n, "position": (at - 0.4 * np.array(n)).tolist()}
            return {"body": body, "point": p, "radius": 0.4, "plane": plane}
    raise NotImplementedError(kind)
