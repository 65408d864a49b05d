"""Fixed joint: no relative motion; the empty sequence of parts."""

from __future__ import annotations

from typing import Literal

from multibody_cli.joints.contract import JointKind, Part, Start
from multibody_cli.joints.spec import JointSpec


class FixedSpec(JointSpec):
    """No degrees of freedom."""

    type: Literal["fixed"]


def parts(spec: FixedSpec) -> list[Part]:
    """Return no parts."""
    return []


def start(spec: FixedSpec) -> Start:
    """Return an empty state: there are no coordinates."""
    return Start((), (), ())


KIND = JointKind("fixed", FixedSpec, parts, start)
