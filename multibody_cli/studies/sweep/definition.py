"""Definition of a table of runs: the attributes and the digest by which a repeated command recognizes its table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multibody_cli.errors import ArgumentError
from multibody_cli.output.checkpoint import target
from multibody_cli.output.file_replacement import require_replaceable
from multibody_cli.output.sweep_table import FORMAT_VERSION, SweepTable, is_sweep_table
from multibody_cli.version import __version__, commit, full_version


def attributes_of(name: str, digest: str, runs: int, definition: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the attributes of every table of runs: name of the scene, digest, number of runs, and definition."""
    return {
        "mbsim_version": __version__,
        **({"mbsim_commit": commit()} if commit() else {}),
        "name": name,
        "runs": runs,
        "digest": digest,
        "lanes": 0,
        "definition": json.dumps(definition, ensure_ascii=False, default=str),
    }


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest of all that a table depends on."""
    whole = {"version": full_version(), "format": FORMAT_VERSION, "target": target(), **content}
    return hashlib.sha256(json.dumps(whole, default=str).encode()).hexdigest()


def require_own_table(table: Path, digest: str) -> dict[str, Any]:
    """Return the attributes of an existing table; refuse a file that is not the table of a digest."""
    recorded = SweepTable(table).attributes if table.is_file() and is_sweep_table(table) else {}
    if recorded.get("digest") != digest:
        if recorded:
            raise ArgumentError(
                f"{table} is the table of another sweep: use --force to replace it, or -o to choose another name"
            )
        require_replaceable(table, False)
    return dict(recorded)
