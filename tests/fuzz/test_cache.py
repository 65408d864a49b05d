"""Any content of a file of compiled code is the code that was kept, or counts as missing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_cli.kernel.store import Code, as_bytes, from_bytes

CODE = Code("k0", bytes(range(256)) * 4, ("k1",), ("recipe",), ("k1",), ("f1",), ("sin",), "result", "title")
WHOLE = as_bytes(CODE)

quick = settings(max_examples=500, deadline=None)


def require_same_or_missing(data: bytes) -> None:
    assert from_bytes("k0", data) in ((CODE, None) if data == WHOLE else (None,))


@quick
@given(place=st.integers(0, len(WHOLE) - 1), new=st.binary(min_size=1, max_size=40))
def test_replaced_bytes(place: int, new: bytes) -> None:
    require_same_or_missing(WHOLE[:place] + new + WHOLE[place + len(new) :])


@quick
@given(first=st.integers(0, len(WHOLE)), last=st.integers(0, len(WHOLE)))
def test_removed_and_repeated_bytes(first: int, last: int) -> None:
    require_same_or_missing(WHOLE[:first] + WHOLE[last:])


@quick
@given(data=st.binary())
def test_any_bytes(data: bytes) -> None:
    require_same_or_missing(data)
    body = data + b"\n"
    from hashlib import sha256

    from multibody_cli.kernel.store import MAGIC

    assert from_bytes("k0", MAGIC + sha256(body).hexdigest().encode() + b"\n" + body) is None


@quick
@given(
    words=st.dictionaries(
        st.sampled_from(["symbol", "calls", "recipes", "lazy", "inlines", "externals", "result", "title", "other"]),
        st.none() | st.integers() | st.text(max_size=3) | st.lists(st.text(max_size=2), max_size=2),
    )
)
def test_any_header_with_a_digest(words: dict[str, object]) -> None:
    import json
    from hashlib import sha256

    from multibody_cli.kernel.store import MAGIC

    body = json.dumps(words).encode() + b"\ncode"
    found = from_bytes("k0", MAGIC + sha256(body).hexdigest().encode() + b"\n" + body)
    assert found is None or found.symbol == "k0"
