import hmac
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import given as for_all
from hypothesis import strategies as st

from hub.rules import fairness
from hub.rules.constants import BANKNOTES
from protocol.messages import AgentId, MatchId
from tests.rules.matches import seed_of, thorough
from tests.rules.vectors import each_case

entropies = st.binary(min_size=32, max_size=32)


def stream(seed: bytes, entropy: bytes, label: str, blocks: int = 8) -> bytes:
    """The byte stream of a label, written down from RULES.md a second time."""
    return b"".join(
        hmac.new(seed, entropy + f"{label}:{i}".encode(), "sha256").digest() for i in range(blocks)
    )


def entropy_after(given: dict[str, Any], placements: int) -> bytes:
    entropy = fairness.opening_entropy(given["match_id"], given["client_seeds"])
    for done in given["placements"][:placements]:
        entropy = fairness.next_entropy(
            entropy, done["turn"], done["seat"], done["face"], done["nonce"]
        )
    return entropy


@each_case("randomness")
def test_commitment_is_that_of_the_vectors(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fairness.commitment(bytes.fromhex(given["server_seed"])) == expected["commitment"]


@each_case("randomness")
def test_seats_are_those_of_the_vectors(given: dict[str, Any], expected: dict[str, Any]) -> None:
    seed = bytes.fromhex(given["server_seed"])
    assert fairness.seating(seed, given["match_id"], given["agents"]) == expected["seats"]


@each_case("randomness")
def test_entropy_is_that_of_the_vectors(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = tuple(entropy_after(given, placements).hex() for placements in range(3))
    assert found == expected["entropy"]


@each_case("randomness")
def test_rolls_are_those_of_the_vectors(given: dict[str, Any], expected: dict[str, Any]) -> None:
    seed = bytes.fromhex(given["server_seed"])
    found = {
        f"roll_turn_{turn}_of_{dice}": fairness.roll(
            seed, entropy_after(given, turn - 1), turn, dice
        )
        for turn, dice in [(1, 8), (2, 8), (3, 5)]
    }
    assert found == {name: expected[name] for name in found}


@each_case("randomness")
def test_notes_are_those_of_the_vectors(given: dict[str, Any], expected: dict[str, Any]) -> None:
    seed = bytes.fromhex(given["server_seed"])
    first = fairness.deal(seed, entropy_after(given, 0), 1, 6, 50_000)
    second = fairness.deal(seed, entropy_after(given, 2), 2, 6, 50_000)
    assert first == expected["casinos_round_1"]
    assert second == expected["casinos_round_2_after_placements"]


def test_deck_is_the_board_game_s() -> None:
    counts = {note: BANKNOTES.count(note) for note in sorted(set(BANKNOTES))}
    assert list(counts) == [10_000 * tens for tens in range(1, 10)]
    assert list(counts.values()) == [6, 8, 8, 6, 6, 5, 5, 5, 5]
    assert list(BANKNOTES) == sorted(BANKNOTES)


@thorough
@for_all(seed=entropies, entropy=entropies, turn=st.integers(1, 99), count=st.integers(1, 64))
def test_roll_skips_bytes_that_would_favour_low_faces(
    seed: bytes, entropy: bytes, turn: int, count: int
) -> None:
    fair = [byte for byte in stream(seed, entropy, f"roll:{turn}") if byte < 252]
    expected = tuple(sorted(byte % 6 + 1 for byte in fair[:count]))
    assert fairness.roll(seed, entropy, turn, count) == expected


def written_down_shuffle(
    items: Sequence[int], numbers: Iterable[int]
) -> tuple[list[int], set[int]]:
    """Fisher-Yates as RULES.md has it; also by how much each number thrown away was too high."""
    shuffled, source, thrown_away = list(items), iter(numbers), set()
    for i in range(len(shuffled) - 1, 0, -1):
        number, fair = next(source), 65536 - 65536 % (i + 1)
        while number >= fair:
            thrown_away.add(number - fair)
            number = next(source)
        j = number % (i + 1)
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    return shuffled, thrown_away


def deck_of(seed: bytes, entropy: bytes, round: int) -> list[int]:
    """Deal the whole deck: casinos that one note fills show it from its end."""
    return [note for notes in fairness.deal(seed, entropy, round, 54, 1) for note in notes][::-1]


def test_shuffle_skips_numbers_that_would_favour_some_notes() -> None:
    """Round 566 happens to draw the very first number that is to be thrown away."""
    seed, entropy, seen = seed_of(0), bytes(32), set()
    for round in (*range(1, 200), 566):
        source = stream(seed, entropy, f"bills:{round}")
        pairs = [source[i] << 8 | source[i + 1] for i in range(0, len(source), 2)]
        deck, thrown_away = written_down_shuffle(BANKNOTES, pairs)
        assert deck_of(seed, entropy, round) == deck
        seen |= thrown_away
    assert len(seen) > 1
    assert 0 in seen


@thorough
@for_all(seed=entropies, entropy=entropies, round=st.integers(1, 9))
def test_each_casino_holds_the_minimum_and_needed_its_last_note(
    seed: bytes, entropy: bytes, round: int
) -> None:
    casinos = fairness.deal(seed, entropy, round, 6, 50_000)
    singles = deck_of(seed, entropy, round)[::-1]
    drawn = 0
    for bills in casinos:
        as_drawn = singles[drawn : drawn + len(bills)]
        assert list(bills) == sorted(as_drawn, reverse=True)
        assert sum(as_drawn) >= 50_000 > sum(as_drawn[:-1])
        drawn += len(bills)


@thorough
@for_all(data=st.data())
def test_seats_do_not_depend_on_the_order_of_the_agents(data: st.DataObject) -> None:
    agents = [AgentId(f"a{number}") for number in range(data.draw(st.integers(3, 5)))]
    match_id = MatchId(data.draw(st.text()))
    mixed = data.draw(st.permutations(agents))
    drawn = fairness.seating(seed_of(1), match_id, mixed)
    assert drawn == fairness.seating(seed_of(1), match_id, agents)
    assert sorted(drawn) == agents


@thorough
@for_all(entropy=entropies, turn=st.integers(1, 200), seat=st.integers(0, 4), nonce=st.text())
def test_entropy_depends_on_all_of_a_placement(
    entropy: bytes, turn: int, seat: int, nonce: str
) -> None:
    after = {
        fairness.next_entropy(entropy, turn, seat, 3, nonce),
        fairness.next_entropy(entropy, turn + 1, seat, 3, nonce),
        fairness.next_entropy(entropy, turn, seat + 1, 3, nonce),
        fairness.next_entropy(entropy, turn, seat, 4, nonce),
        fairness.next_entropy(entropy, turn, seat, 3, nonce + "x"),
        fairness.next_entropy(bytes(32) if any(entropy) else b"\1" * 32, turn, seat, 3, nonce),
    }
    assert len(after) == 6
