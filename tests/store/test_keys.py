import re
from collections import Counter

import pytest

from hub.store.keys import Keys

KEYS = Keys("vegas:", slots=16)


def tag(key: str) -> str:
    """Find what Redis Cluster hashes of a key."""
    found = re.search(r"\{(.+?)\}", key)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("match_id", ["a", "m17", "f00dfeedf00dfeed"])
def test_everything_of_a_table_is_in_one_cluster_slot(match_id: str) -> None:
    slot = KEYS.slot(match_id)
    table = [KEYS.match(match_id), KEYS.log(match_id), KEYS.feed(match_id)]
    shared = [KEYS.due(slot), KEYS.pulse(slot), KEYS.outbox(slot), KEYS.matches_of(slot)]
    for_commits = KEYS.of_commit(match_id)
    assert {tag(key) for key in (*table, *shared, *for_commits)} == {f"t{slot:02}"}


def test_everything_of_the_lobby_is_in_one_cluster_slot() -> None:
    keys = {name: key for name, key in vars(KEYS).items() if isinstance(key, str)}
    named = [key for name, key in keys.items() if name != "prefix"]
    assert {tag(key) for key in [*named, KEYS.presence("ana")]} == {"lobby"}


def test_no_two_names_are_the_same() -> None:
    names = [key for key in vars(KEYS).values() if isinstance(key, str)]
    names += [KEYS.match("a"), KEYS.log("a"), KEYS.feed("a"), KEYS.probe("a"), KEYS.presence("a")]
    names += [KEYS.due(0), KEYS.pulse(0), KEYS.outbox(0)]
    assert Counter(names).most_common(1)[0][1] == 1


def test_a_match_is_in_the_same_slot_in_every_run() -> None:
    assert [KEYS.slot(match_id) for match_id in ("a", "b", "m17")] == [3, 9, 12]


def test_matches_are_spread_over_all_slots() -> None:
    assert {KEYS.slot(f"m{number}") for number in range(200)} == set(range(16))
