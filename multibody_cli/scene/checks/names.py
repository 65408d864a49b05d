"""Names: no body is called `world`, and forces push bodies that exist."""

from __future__ import annotations

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.checks.draft import Draft


def check_names(draft: Draft) -> None:
    """Check the names of bodies and those that forces use."""
    if WORLD in draft.names("bodies"):
        draft.tell(("bodies", WORLD), f"`{WORLD}` is the name of what does not move: use another one")
    for name, force in draft.scene.forces.items():
        path = ("forces", name, "body")
        body = str(getattr(force, "body", ""))
        if draft.require_body(body, path) and body == WORLD:
            draft.tell(path, "a force on the world has no effect")
