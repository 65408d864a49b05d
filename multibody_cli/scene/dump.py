"""A resolved scene as text: one line an entry, loadable again, the same text for the same scene."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from multibody_cli.scene.scalars import scalar

_PLAIN = re.compile(r"[A-Za-z_][\w./+*-]*( [\w./+*-]+)*", re.ASCII)
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def dump_resolved(data: Mapping[str, Any]) -> str:
    """Write a scene as YAML."""
    lines = []
    for section, content in data.items():
        if isinstance(content, dict) and content:
            lines.append(f"{_word(section)}:")
            lines += [f"  {_word(name)}: {_flow(entry)}" for name, entry in content.items()]
        elif isinstance(content, list) and content and isinstance(content[0], dict):
            lines.append(f"{_word(section)}:")
            lines += [f"  - {_flow(entry)}" for entry in content]
        else:
            lines.append(f"{_word(section)}: {_flow(content)}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(key)}: {_flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        return _word(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return repr(value).replace("inf", ".inf").replace("nan", ".nan")


_WORDS = {None: "null", True: "true", False: "false"}


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and isinstance(scalar(text), str):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\U{ord(match[0]):08x}", quoted)
