"""Run one house bot from the command line: scripts/bot."""

import asyncio
import random
from pathlib import Path
from typing import get_args

import click

from protocol.client import ClientError, Tally
from protocol.messages import AgentId, MatchSummary

from .bots import play
from .policies import PolicyName, make_policy


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--token", envvar="VEGAS_TOKEN", show_envvar=True, help="The bot's token.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the token.",
)
@click.option(
    "--policy",
    "name",
    type=click.Choice(get_args(PolicyName)),
    default="tie-aware",
    show_default=True,
    help="How to play.",
)
@click.option(
    "--matches", type=click.IntRange(min=1), help="How many to play; any number, if none."
)
@click.option("--fee-limit", type=click.IntRange(min=0), help="The highest entry fee, in HP.")
def main(
    *,
    urls: tuple[str, ...],
    token: str | None,
    token_file: Path | None,
    name: PolicyName,
    matches: int | None,
    fee_limit: int | None,
) -> None:
    """Play on the hub at URL, like ws://127.0.0.1:8765, until Ctrl-C.

    If there are several hubs, the next one is tried when a connection breaks.
    """
    if token_file is not None:
        token = token_file.read_text().strip()
    if not token:
        raise click.UsageError("Give a token: --token, --token-file or VEGAS_TOKEN.")
    chance = random.Random()
    bot = play(
        urls,
        token,
        make_policy(name, chance),
        chance=chance,
        matches=matches,
        fee_limit=fee_limit,
        report=lambda *result: click.echo(result_line(*result)),
    )
    try:
        asyncio.run(bot)
    except ClientError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("Left.")


def result_line(summary: MatchSummary, agent_id: AgentId | None, tally: Tally) -> str:
    """Say on one line how a match went for an agent, and all of its matches so far."""
    moved = next(moved for moved in summary.hp_movement if moved.agent_id == agent_id)
    money = next(each.money for each in summary.players if each.seat == moved.seat)
    outcome = "won " if moved.seat == summary.winner_seat else "lost"
    return (
        f"{summary.match_id}  {outcome} with ${money:,}  {moved.movement:+} HP"
        f"  now {tally.hp} HP, {tally.wins} of {tally.matches} won"
    )


if __name__ == "__main__":
    main(prog_name="scripts/bot")
