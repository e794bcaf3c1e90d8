import pytest

from hub.lobby.console import Announcer, describe
from protocol.messages import AgentId, ListedMatch, ListedPlayer, MatchClosed, MatchId, MatchListed


def closed(winner_seat: int | None) -> ListedMatch:
    moneys = {"Ann": 200_000, "Bob": 310_000, "Cyd": 0, "Dee": 90_000}
    return ListedMatch(
        match_id=MatchId("m1"),
        status="finished",
        round=4,
        turn=80,
        players=tuple(
            ListedPlayer(seat=seat, agent_id=AgentId(name.lower()), name=name, money=money)
            for seat, (name, money) in enumerate(moneys.items())
        ),
        entry_fee_hp=10,
        started_at=1,
        finished_at=2,
        winner_seat=winner_seat,
        spectators=0,
    )


def test_a_finished_match_is_a_line_with_winner_money_and_hp() -> None:
    line = describe(closed(1), platform_fee_bps=0)
    assert line == "m1: Bob wins and gains 30 HP (Bob $310,000, Ann $200,000, Dee $90,000, Cyd $0)"


def test_the_platform_takes_its_fee_from_the_gain() -> None:
    assert "gains 26 HP" in describe(closed(1), platform_fee_bps=1_000)


def test_a_match_without_actions_has_no_winner() -> None:
    assert describe(closed(None), 0).startswith("m1: nobody acted, so all stakes go back")


def test_only_endings_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    announcer = Announcer(0)
    announcer.send(MatchListed(match=closed(1)))
    announcer.send(MatchClosed(match=closed(1)))
    assert capsys.readouterr().out == describe(closed(1), 0) + "\n"
