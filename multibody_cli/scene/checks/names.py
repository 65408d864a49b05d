"""Names: no body is called `world`, and what acts on bodies acts on some that exist."""

from __future__ import annotations

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.checks.draft import Draft, written
from multibody_cli.scene.schema import between_bodies
from multibody_cli.scene.strands import taken_names


def check_names(draft: Draft) -> None:
    """Check the names of bodies and those that forces, springs and muscles use."""
    if WORLD in draft.names("bodies"):
        draft.tell(("bodies", WORLD), f"`{WORLD}` is the name of what does not move: use another one")
    for name, force in draft.scene.forces.items():
        path = ("forces", name, "body")
        body = str(getattr(force, "body", ""))
        if draft.require_body(body, path) and body == WORLD:
            draft.tell(path, "a force on the world has no effect")
    for strand, spec in draft.scene.strands.items():
        for section, names in taken_names(strand, spec):
            for name in sorted(names & draft.names(section)):
                draft.tell((section, name), f"is the name of a part of strand `{strand}`: use another one")
    for section, entries in between_bodies(draft.scene):
        for name, entry in written(draft, section, entries):
            known = [draft.require_body(body, (section, name, *place)) for place, body in entry.bodies]
            if section != "strands" and all(known) and len({body for _, body in entry.bodies}) == 1:
                draft.tell((section, name), "has no effect: all of it is fixed in one body")
