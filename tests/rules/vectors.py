"""The cases of tests/vectors: numbers that an implementation of RULES.md must reproduce."""

import json
from pathlib import Path
from typing import Any

import pytest

_FOLDER = Path(__file__).parent.parent / "vectors"


def each_case(name: str) -> pytest.MarkDecorator:
    """Run a test once for each case of a file; it gets `given` and `expected`."""
    cases = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return pytest.mark.parametrize(
        ("given", "expected"), [(case["in"], _tuples(case["out"])) for case in cases]
    )


def _tuples(value: Any) -> Any:
    """Turn lists into tuples, as the rules return them."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value
