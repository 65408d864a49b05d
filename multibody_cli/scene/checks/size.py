"""Check of the number of elements."""

from __future__ import annotations

from multibody_cli.limits import LimitError, require_within
from multibody_cli.scene.checks.draft import Draft


def check_size(draft: Draft) -> None:
    """Check the number of bodies and joints against its limit."""
    try:
        require_within("elements", len(draft.scene.bodies) + len(draft.scene.joints))
    except LimitError as error:
        draft.report(("strands" if draft.scene.strands else "bodies",), str(error))
        draft.problems.raise_any()
