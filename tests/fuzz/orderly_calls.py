"""Calls of the command line in this process, with the properties of every outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from multibody_cli.cli.app import main

RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that control a terminal."""

SMALL = "bytes=1e6,values=1e5,characters=1e5,elements=60,curve_points=20,steps=400,instants=400,contacts=300,result=1e7"
"""Limits under which every scene takes less than a second or so."""


def require_orderly(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Call `mbsim`, require an exit code with a message and no traceback, and return the exit code."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(words)
    written = capsys.readouterr()
    code, text = int(end.value.code or 0), written.out + written.err
    assert code in (0, 1, 2)
    assert "Traceback" not in text
    assert "internal error" not in text, text
    assert "out of memory" not in text
    assert not RAW.search(text)
    assert code == 0 or text
    return code
