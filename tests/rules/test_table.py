import msgspec
from hypothesis import given as for_all

from hub.rules.match import legal_actions, seat_of, table_state
from hub.rules.table import Match
from protocol.client.table import apply
from protocol.messages import (
    AgentId,
    CasinoState,
    LegalAction,
    LegalParams,
    MatchFinished,
    PlayerState,
    Roll,
    RoundSettled,
    RoundStarted,
    TableState,
    TableTalk,
    TalkLine,
)
from tests.rules.matches import (
    FEE_HP,
    SHORT,
    Played,
    any_match,
    miss,
    opened,
    place_first,
    play,
    thorough,
)


@thorough
@for_all(any_match)
def test_match_survives_packing(played: Played) -> None:
    packed = [msgspec.msgpack.encode(match) for match in played.states]
    assert tuple(msgspec.msgpack.decode(data, type=Match) for data in packed) == played.states


def test_secret_seed_is_not_in_a_match() -> None:
    played = play()
    packed = b"".join(msgspec.msgpack.encode(match) for match in played.states)
    assert played.seed not in packed
    assert played.seed.hex().encode() not in packed


@thorough
@for_all(any_match)
def test_state_is_what_a_client_makes_of_the_events(played: Played) -> None:
    """But for `connected`, which is in no event."""
    states = {match.seq: match for match in played.states}
    state, differing = None, []
    for event in played.log:
        state = apply(state, event)
        connected = [player.connected for player in state.players]
        if event.seq in states and state != table_state(states[event.seq], connected):
            differing.append(event.seq)
    assert differing == []


def test_state_shows_a_table_in_mid_round() -> None:
    match, _ = opened(1, seats=3)
    match, events = place_first(match, 1, message="hello")
    roll = events[-1]
    assert isinstance(roll, Roll)
    placed = tuple(
        CasinoState(number=number, bills=casino.bills, dice=casino.dice)
        for number, casino in enumerate(match.casinos, 1)
    )
    assert table_state(match, [True, False, True]) == TableState(
        round=1,
        rounds=4,
        turn=2,
        turn_order=(0, 1, 2),
        current_seat=1,
        roll=roll.dice,
        deadline=roll.deadline,
        casinos=placed,
        players=tuple(
            PlayerState(
                seat=seat,
                agent_id=match.players[seat].agent_id,
                name=match.players[seat].name,
                dice_remaining=dice_remaining,
                money=0,
                bills_won=0,
                away=False,
                connected=connected,
            )
            for seat, dice_remaining, connected in [
                (0, match.players[0].dice_remaining, True),
                (1, 8, False),
                (2, 8, True),
            ]
        ),
        legal_actions=roll.legal_actions,
        entry_fee_hp=FEE_HP,
        pot_hp=3 * FEE_HP,
        commitment=match.commitment,
        entropy=match.entropy.hex(),
        recent_talk=(TalkLine(round=1, turn=1, seat=0, message="hello"),),
        status="playing",
        winner_seat=None,
    )


def test_state_of_a_finished_match_has_nothing_left_to_do() -> None:
    played = play(2, config=SHORT)
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    state = table_state(played.end, [True] * 4)
    assert (state.status, state.winner_seat) == ("finished", finished.winner_seat)
    assert (state.current_seat, state.deadline, state.roll) == (None, None, ())
    assert state.legal_actions == ()


def test_state_says_who_is_away() -> None:
    match, _ = opened(seats=3)
    for _ in range(4):
        match, _ = miss(match)
    assert [player.away for player in table_state(match, [True] * 3).players] == [
        True,
        False,
        False,
    ]


def test_state_keeps_the_last_twenty_lines_of_talk() -> None:
    match, _ = opened()
    said: list[TalkLine] = []
    while len(said) < 25:
        match, events = place_first(match, message=f"line {len(said)}")
        talk = events[0]
        assert isinstance(talk, TableTalk)
        said.append(
            TalkLine(round=talk.round, turn=talk.turn, seat=talk.seat, message=talk.message)
        )
    assert table_state(match, [True] * 4).recent_talk == tuple(said[5:])


def test_state_keeps_money_over_rounds_and_takes_dice_back() -> None:
    match, _ = opened()
    while match.round == 1:
        match, events = place_first(match)
    settled, started = events[1:3]
    assert isinstance(settled, RoundSettled)
    assert isinstance(started, RoundStarted)
    state = table_state(match, [True] * 4)
    assert tuple(player.money for player in state.players) == settled.money
    assert tuple(player.bills_won for player in state.players) == settled.bills_won
    assert [player.dice_remaining for player in state.players] == [8] * 4
    assert {casino.dice for casino in state.casinos} == {(0, 0, 0, 0)}
    assert state.turn_order == started.turn_order == (1, 2, 3, 0)


def test_legal_actions_are_one_for_each_face_ascending() -> None:
    assert legal_actions((2, 5, 5, 6, 6, 6)) == tuple(
        LegalAction(action="place", params=LegalParams(face=face), casino=face, dice=dice)
        for face, dice in [(2, 1), (5, 2), (6, 3)]
    )


def test_agent_is_found_by_its_id() -> None:
    match, _ = opened()
    found = [seat_of(match, player.agent_id) for player in match.players]
    assert found == [0, 1, 2, 3]
    assert seat_of(match, AgentId("nobody")) is None
