"""Play matches straight on the rules, and count how often one policy beats three of another."""

import random
from collections.abc import Sequence
from math import sqrt
from typing import get_args

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hub.house.policies import Policy, PolicyName, make_policy
from hub.rules.constants import SEATS, SEED_BYTES
from hub.rules.match import Contender, Moment, place, standard_config, start, table_state
from protocol.messages import AgentId, MatchId

POLICIES = get_args(PolicyName)
NOW = Moment(0)  # no clock runs here


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("policy", type=click.Choice(POLICIES), default="tie-aware")
@click.option(
    "--against",
    type=click.Choice(POLICIES),
    multiple=True,
    default=("random", "greedy"),
    show_default=True,
    help="Whom it plays, three at a time; can be given several times.",
)
@click.option("--matches", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", type=int, help="Play the same matches again.")
def main(
    *, policy: PolicyName, against: tuple[PolicyName, ...], matches: int, seed: int | None
) -> None:
    """Show how often POLICY (tie-aware by default) wins; by chance it would be one in four."""
    if seed is None:
        seed = random.SystemRandom().randrange(2**32)
    console = Console()
    table = Table(
        "against", "won", "win rate", "its money", "theirs", title=f"{policy}, seed {seed}"
    )
    for other in against:
        table.add_row(f"3 x {other}", *_compete(policy, other, matches, seed, console))
    console.print(table)


def _compete(
    policy: PolicyName, other: PolicyName, matches: int, seed: int, console: Console
) -> tuple[str, ...]:
    chance = random.Random(f"{seed} {policy} {other}")
    policies = [make_policy(name, chance) for name in (policy, *[other] * (SEATS - 1))]
    wins, own_money, all_money = 0, 0, 0
    for number in track(range(matches), f"3 x {other}", console=console, transient=True):
        winner, money = play(f"{seed}-{number}", policies, chance.randbytes(SEED_BYTES))
        wins += winner == 0
        own_money += money[0]
        all_money += sum(money)
    rate = wins / matches
    error = sqrt(rate * (1 - rate) / matches)
    return (
        f"{wins} of {matches}",
        f"{rate:.1%} ± {error:.1%}",
        f"${own_money / matches:,.0f}",
        f"${(all_money - own_money) / (SEATS - 1) / matches:,.0f}",
    )


def play(match_id: str, policies: Sequence[Policy], server_seed: bytes) -> tuple[int, list[int]]:
    """Play a match; the index of the policy that won, and each one's money in dollars."""
    contenders = [Contender(AgentId(str(each)), "", "", 0) for each in range(len(policies))]
    match, _ = start(
        MatchId(match_id),
        contenders,
        standard_config(),
        entry_fee_hp=0,
        platform_fee_bps=0,
        server_seed=server_seed,
        moment=NOW,
    )
    seats = [int(player.agent_id) for player in match.players]
    connected = [True] * len(seats)
    while (seat := match.current_seat) is not None:
        match, _ = place(
            match,
            server_seed,
            seat=seat,
            turn=match.turn,
            face=policies[seats[seat]](table_state(match, connected)),
            nonce="",
            message="",
            moment=NOW,
        )
    assert match.winner_seat is not None
    money = [match.players[seats.index(each)].money for each in range(len(seats))]
    return seats[match.winner_seat], money


if __name__ == "__main__":
    main(prog_name="scripts/winrate")
