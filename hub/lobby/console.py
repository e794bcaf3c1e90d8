"""Tell the person at the terminal how each match ends."""

from hub.rules.summary import platform_fee
from protocol.messages import ListedMatch, MatchClosed, Message


class Announcer:
    """Watches the lobby and prints a line for each finished match."""

    def __init__(self, platform_fee_bps: int) -> None:
        self._platform_fee_bps = platform_fee_bps

    def send(self, message: Message) -> None:
        """Hear what the lobby says."""
        if isinstance(message, MatchClosed):
            print(describe(message.match, self._platform_fee_bps), flush=True)


def describe(match: ListedMatch, platform_fee_bps: int) -> str:
    """Sum up a finished match in a line: who won, everyone's money, the HP that moved."""
    money = ", ".join(
        f"{player.name} ${player.money:,}"
        for player in sorted(match.players, key=lambda player: -player.money)
    )
    if match.winner_seat is None:
        return f"{match.match_id}: nobody acted, so all stakes go back ({money})"
    winner = match.players[match.winner_seat].name
    pot_hp = match.entry_fee_hp * len(match.players)
    gain_hp = pot_hp - platform_fee(pot_hp, platform_fee_bps) - match.entry_fee_hp
    return f"{match.match_id}: {winner} wins and gains {gain_hp} HP ({money})"
