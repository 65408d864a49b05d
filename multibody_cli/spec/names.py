"""Names of the elements of a scene."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

NAME = r"^[^\W\d][\w-]*$"
"""Pattern of names, which are used as paths in the result file and as arguments of the command line."""

Name = Annotated[str, StringConstraints(pattern=NAME, max_length=100)]
