"""xacro: URDF with macros, which the package xacrodoc expands.

Marks are lines of the expanded text, which `mbsim import` names as such.
"""

from __future__ import annotations

from pathlib import Path

from multibody_cli.errors import Refused
from multibody_cli.foreign import urdf
from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.markup import Element, parse
from multibody_cli.foreign.reading import Reading
from multibody_cli.nodes import refusal


def read(root: Element, reading: Reading) -> Draft:
    """Expand the macros, and read the robot."""
    try:
        from xacrodoc import XacroDoc, packages
    except ImportError:
        message = "a file with macros requires the package xacrodoc: pip install 'multibody-cli[import]'"
        raise Refused(message) from None
    packages.reset()
    packages.update_package_cache({name: Path(folder) for name, folder in reading.options.packages.items()})
    arguments = dict(reading.options.arguments)
    try:
        document = XacroDoc.from_file(reading.path, subargs=arguments, resolve_packages=False)
        text: str = document.dom.toprettyxml(indent="  ")
    except Exception as error:  # macros fail in many ways
        reason = " ".join(str(error).split()) or type(error).__name__
        raise refusal(root.mark, f"the macros cannot be expanded: {reason}") from None
    expanded = parse(text.encode(), f"{reading.path} (expanded)", reading.usage).root
    reading.ledger.replace_source(root, expanded)
    draft = urdf.read(expanded, reading)
    draft.expanded = text
    return draft


FORMAT = Format("xacro", ("robot",), read)
