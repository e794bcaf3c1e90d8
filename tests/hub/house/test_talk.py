import random

import msgspec
import pytest

from hub.house.talk import LEADING, TIED, TRAILING, remark
from protocol.messages import Talk
from tests.hub.house.tables import table

ROLLED = table(
    [1, 2, 2, 3],
    {1: ((90,), (0, 1, 0, 0)), 2: ((90,), (0, 1, 0, 0)), 3: ((90,), (0, 2, 0, 0))},
)


@pytest.mark.parametrize(("face", "lines"), [(1, TIED), (2, LEADING), (3, TRAILING)])
def test_lines_say_how_the_casino_stands(face: int, lines: tuple[str, ...]) -> None:
    chance = random.Random(1)
    assert {remark(ROLLED, face, chance) for _ in range(1000)} == {"", *lines}


def test_most_placements_go_without_a_line() -> None:
    chance = random.Random(1)
    said = [remark(ROLLED, 1, chance) for _ in range(1000)]
    assert said.count("") > 500


@pytest.mark.parametrize("line", [*TIED, *LEADING, *TRAILING])
def test_a_line_is_one_that_hubs_take(line: str) -> None:
    assert msgspec.convert(line, Talk) == line
