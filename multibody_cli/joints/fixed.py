"""Fixed joint: the child moves with the parent; the empty run of parts."""

from __future__ import annotations

from typing import Literal

from multibody_cli.joints.contract import JointKind, Part, Start
from multibody_cli.joints.spec import JointSpec


class FixedSpec(JointSpec):
    """No freedom."""

    type: Literal["fixed"]


def parts(spec: FixedSpec) -> list[Part]:
    """Give the run of parts."""
    return []


def start(spec: FixedSpec) -> Start:
    """Give nothing: there are no coordinates."""
    return Start((), (), ())


KIND = JointKind("fixed", FixedSpec, parts, start)
