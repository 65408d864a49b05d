"""Reading of files into trees with line and column numbers."""

from __future__ import annotations

from pathlib import Path

from multibody_cli.document.formats import read_text
from multibody_cli.errors import unreadable
from multibody_cli.foreign import is_foreign, read_model, warnings_of
from multibody_cli.foreign.geometry import refuse_mesh
from multibody_cli.foreign.options import Options
from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import Mark, Node, Problems, refusal

ENCODING = "utf-8-sig"
"""Encoding of the files of a scene: UTF-8, with or without a mark of byte order."""


def read_document(
    path: Path, shown: str, problems: Problems, usage: Usage, text: str | None = None, is_alone: bool = True
) -> Node:
    """Read a file.

    Parameters
    ----------
    path
        The file.
    shown
        Its name in messages.
    problems
        Collects problems that do not stop the parser, such as duplicate keys.
    usage
        Counts the bytes of all files of the scene, and their values.
    text
        The content, if it is not read from the file, as that of the scene in a result file.
    is_alone
        Whether no other file includes it.

    Raises
    ------
    SceneError
        The file cannot be read, exceeds a limit, or is not of its format.
    """
    if is_foreign(shown):
        draft = read_model(Path(shown), Options(), problems, usage, None if text is None else text.encode())
        problems.warnings += warnings_of(draft, is_alone)
        return draft.tree()
    refuse_mesh(Path(shown))
    try:
        content = read_bytes(path, usage).decode(ENCODING) if text is None else _counted_text(text, usage)
    except LimitError as error:
        raise refusal(Mark(shown), str(error)) from None
    except UnicodeDecodeError as error:
        raise refusal(Mark(shown), f"the file is not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        raise refusal(Mark(shown), unreadable(error)) from None
    root = read_text(content, shown, problems)
    try:
        usage.add("values", root.size)
    except LimitError as error:
        raise refusal(root.mark, str(error)) from None
    return root


def _counted_text(text: str, usage: Usage) -> str:
    usage.add("bytes", len(text.encode()))
    return text


def read_bytes(path: Path, usage: Usage) -> bytes:
    """Read a file, and count its bytes; a `LimitError` refuses a file that is too large or has no end."""
    with path.open("rb") as file:
        content = file.read(usage.left("bytes") + 1)
    usage.add("bytes", len(content))
    return content
