"""Dice, notes and seats from a secret seed and public entropy, for anyone to check.

Chance is an argument: the same seed, entropy and label always give the same result.
Source: RULES.md, Randomness.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from protocol.messages import AgentId, MatchId

from .constants import BANKNOTES, CASINOS

_T = TypeVar("_T")

_FAIR_BYTES = 256 - 256 % CASINOS  # bytes from here up would favour the low faces
_TWO_BYTES = 2**16


def commitment(server_seed: bytes) -> str:
    """Commit to a secret seed: lowercase hex of its SHA-256."""
    return hashlib.sha256(server_seed).hexdigest()


def opening_entropy(match_id: MatchId, client_seeds: Iterable[str]) -> bytes:
    """Mix the match's id with the agents' seeds, in seat order: the entropy of turn 1, 32 bytes."""
    return hashlib.sha256("|".join((match_id, *client_seeds)).encode()).digest()


def next_entropy(entropy: bytes, turn: int, seat: int, face: int, nonce: str) -> bytes:
    """Mix a placement, automatic or not, into the entropy: 32 bytes."""
    return hashlib.sha256(entropy + f"{turn}|{seat}|{face}|{nonce}".encode()).digest()


def roll(server_seed: bytes, entropy: bytes, turn: int, dice: int) -> tuple[int, ...]:
    """Roll `dice` dice for a turn, ascending; `entropy` is that before the turn's placement."""
    faces: list[int] = []
    number = 0
    while len(faces) < dice:
        block = _block(server_seed, entropy, f"roll:{turn}:{number}")
        faces += [byte % CASINOS + 1 for byte in block if byte < _FAIR_BYTES]
        number += 1
    return tuple(sorted(faces[:dice]))


def deal(
    server_seed: bytes, entropy: bytes, round: int, casinos: int, fill_min: int
) -> tuple[tuple[int, ...], ...]:
    """Shuffle the whole deck and fill a round's casinos, each one's notes descending.

    A casino draws one note at a time until it holds `fill_min` dollars or more.
    Raises IndexError if the deck runs out, which no `fill_min` that a match starts with lets it.
    """
    deck = list(BANKNOTES)
    _shuffle(deck, _stream(server_seed, entropy, f"bills:{round}"))
    return tuple(_fill(deck, fill_min) for _ in range(casinos))


def seating(
    server_seed: bytes, match_id: MatchId, agent_ids: Iterable[AgentId]
) -> tuple[AgentId, ...]:
    """Draw the seats: element k of the agents' ids has seat k, whatever order they came in."""
    seats = sorted(agent_ids)
    entropy = hashlib.sha256(match_id.encode()).digest()
    _shuffle(seats, _stream(server_seed, entropy, "seats"))
    return tuple(seats)


def _fill(deck: list[int], fill_min: int) -> tuple[int, ...]:
    notes: list[int] = []
    held = 0
    while held < fill_min:
        notes.append(deck.pop())
        held += notes[-1]
    return tuple(sorted(notes, reverse=True))


def _shuffle(items: list[_T], stream: Iterator[int]) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = _below(last + 1, stream)
        items[last], items[other] = items[other], items[last]


def _below(limit: int, stream: Iterator[int]) -> int:
    fair = _TWO_BYTES - _TWO_BYTES % limit
    while True:
        value = next(stream) << 8 | next(stream)
        if value < fair:
            return value % limit


def _stream(server_seed: bytes, entropy: bytes, label: str) -> Iterator[int]:
    number = 0
    while True:
        yield from _block(server_seed, entropy, f"{label}:{number}")
        number += 1


def _block(server_seed: bytes, entropy: bytes, label: str) -> bytes:
    mac = _keyed(server_seed).copy()
    mac.update(entropy + label.encode())
    return mac.digest()


@lru_cache(maxsize=4096)  # a table's every roll has the same key
def _keyed(server_seed: bytes) -> hmac.HMAC:
    return hmac.new(server_seed, digestmod="sha256")
