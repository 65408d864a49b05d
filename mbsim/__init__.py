"""The interface of `multibody_cli`, by the name of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multibody_cli import __all__ as __all__
from multibody_cli import __dir__ as __dir__
from multibody_cli import __getattr__ as __getattr__
from multibody_cli import __version__ as __version__

if TYPE_CHECKING:
    from multibody_cli import *  # noqa: F403
