"""The formats of other programs, and how to add one.

A model of another program becomes a scene in these steps::

    file ──markup.parse──▶ Element ──Format.read──▶ Draft ──foreign.complete───▶ Draft ──Draft.tree──▶ Node ──▶ Scene
                              │                       ▲                                └─writing.text─▶ YAML
                              └───────▶ Ledger ◀──────┘

1. `markup.parse` reads XML to `Element`s with file, line and column.
2. `Format.read(root, reading)` turns them into a `Draft`: bodies, joints, shapes and points with their poses, and
   everything else in the words and the plain data of the scene format.  It reads values with the functions of
   `Reading` (`text`, `number`, `numbers`, `child`, `children`), which report malformed ones and claim the items in the
   ledger as kept.  Elements that a scene cannot have are `reading.ledger.approximate(element, how, effect)` or
   `reading.ledger.drop(element, why, effect)`.  Items that no reader claims are reported as not known.
3. `foreign.complete` is common to all formats: it merges links that are fixed to each other, computes inertias from
   a density, repairs them, and fixes or frees the bases.
4. `Draft.tree` returns nodes with the marks of the source, so that errors of the scene name `robot.urdf:123`;
   `writing.text` returns the same scene as YAML for a person.

A format is one file `foreign/<name>.py` with its `FORMAT`, and one line of `SUFFIXES` in `foreign/__init__.py`.

Rules for `read`:

- A name is the source's.  `Draft.add_body` and its like report a second one.
- Numbers are as the file writes them; a rotation in Euler angles keeps them (`Pose.of_euler`).
- Frames: the pose of a joint is that of its frame in the parent, `child_pose` that of the same frame in the child at
  zero coordinates.  Inertias are about the center of mass, in the axes of the body.
- It imports heavy packages in its functions, and an absent one is a `Refused` with the command that installs it.
"""

from __future__ import annotations

from collections.abc import Callable

from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.immutable import Immutable


class Format(Immutable):
    """A format of models of another program.

    Parameters
    ----------
    title
        Its name in messages.
    roots
        Tags of the root elements of its files.
    read
        `read(root, reading)` returns the model as a draft.
    """

    title: str
    roots: tuple[str, ...]
    read: Callable[[Element, Reading], Draft]
