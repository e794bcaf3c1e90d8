import random
from typing import get_args

import pytest
from msgspec.structs import replace

from hub.house.policies import (
    Policy,
    PolicyName,
    make_policy,
    play_greedily,
    play_randomly,
    play_tie_aware,
)
from hub.rules.match import table_state
from tests.hub.house.tables import Casino, table
from tests.rules.matches import play

NOBODY = (0, 0, 0, 0)


@pytest.mark.parametrize("name", get_args(PolicyName))
def test_every_policy_places_what_was_rolled(name: PolicyName) -> None:
    policy = make_policy(name, random.Random(1))
    for match in play().states[:-1]:
        assert policy(table_state(match, [True] * 4)) in match.roll


# ---- Random --------------------------------------------------------------------------------------


def test_randomly_every_face_comes_up() -> None:
    chance = random.Random(1)
    rolled = table([1, 1, 1, 1, 4, 6], {})
    assert {play_randomly(rolled, chance) for _ in range(100)} == {1, 4, 6}


def test_randomly_the_same_chance_leads_to_the_same_faces() -> None:
    rolled = table([1, 2, 3, 4, 5, 6], {})
    first, second = random.Random(1), random.Random(1)
    for _ in range(10):
        assert play_randomly(rolled, first) == play_randomly(rolled, second)


# ---- Greedy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roll", "casinos", "face"),
    [
        pytest.param([1, 2], {1: ((50,), NOBODY), 2: ((90,), NOBODY)}, 2, id="the bigger note"),
        pytest.param(
            [1, 2], {1: ((50,), NOBODY), 2: ((90,), (0, 1, 0, 0))}, 1, id="no tie as things stand"
        ),
        pytest.param([1, 1, 2], {1: ((50,), NOBODY), 2: ((50,), NOBODY)}, 2, id="with fewest dice"),
        pytest.param(
            [1, 2],
            {1: ((50,), (1, 0, 0, 0)), 2: ((40,), NOBODY)},
            2,
            id="what it does not have yet",
        ),
    ],
)
def test_greedily(roll: list[int], casinos: dict[int, Casino], face: int) -> None:
    assert play_greedily(table(roll, casinos)) == face


# ---- Tie-aware -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roll", "casinos", "face"),
    [
        pytest.param(
            [1, 2], {1: ((90,), (0, 1, 0, 0)), 2: ((50,), NOBODY)}, 2, id="a tie to avoid"
        ),
        pytest.param(
            [1, 2],
            {1: ((90,), (0, 1, 0, 0)), 2: ((20,), NOBODY)},
            1,
            id="a cancelling move to take",
        ),
        pytest.param(
            [1, 2],
            {1: ((90,), (0, 3, 3, 0)), 2: ((50,), NOBODY)},
            1,
            id="one die where others cancel each other",
        ),
        pytest.param(
            [1, 2],
            {1: ((90,), (1, 1, 0, 0)), 2: ((50,), NOBODY)},
            1,
            id="a tie of its own to break",
        ),
        pytest.param(
            [1, 1, 1, 2],
            {1: ((50,), NOBODY), 2: ((90,), NOBODY)},
            2,
            id="a note worth more than a bigger count",
        ),
        pytest.param(
            [1, 1, 2, 2],
            {1: ((80, 70), (0, 4, 0, 0)), 2: ((40,), NOBODY)},
            1,
            id="a second note worth more than a first",
        ),
        pytest.param([1, 1, 2], {1: ((50,), NOBODY), 2: ((50,), NOBODY)}, 2, id="with fewest dice"),
    ],
)
def test_with_all_other_dice_placed(roll: list[int], casinos: dict[int, Casino], face: int) -> None:
    assert play_tie_aware(table(roll, casinos)) == face


@pytest.mark.parametrize(
    ("out", "face"),
    [
        pytest.param((0, 0, 0), 1, id="one die holds the big note if nobody can come"),
        pytest.param((8, 8, 8), 2, id="three dice for a smaller note if everybody can"),
    ],
)
def test_dice_to_come_are_reckoned_with(out: tuple[int, int, int], face: int) -> None:
    casinos: dict[int, Casino] = {1: ((90,), NOBODY), 2: ((60,), (1, 0, 0, 0))}
    assert play_tie_aware(table([1, 2, 2, 2], casinos, out)) == face


@pytest.mark.parametrize("policy", [play_greedily, play_tie_aware])
def test_nobody_places_when_it_is_nobodys_turn(policy: Policy) -> None:
    idle = replace(table([1, 2], {}), current_seat=None)
    with pytest.raises(ValueError, match="it is nobody's turn"):
        policy(idle)
