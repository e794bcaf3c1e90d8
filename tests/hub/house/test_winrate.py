from click.testing import CliRunner

from hub.house.policies import play_greedily, play_tie_aware
from scripts._winrate import main, play

SEED = bytes(32)


def test_the_same_seed_plays_the_same_matches() -> None:
    arguments = ["--matches", "2", "--seed", "7"]
    first, second = (CliRunner().invoke(main, arguments) for _ in range(2))
    assert first.output == second.output
    assert "tie-aware, seed 7" in first.output


def test_the_winner_has_the_most_money() -> None:
    policies = [play_tie_aware, play_greedily, play_greedily, play_greedily]
    for number in range(5):
        winner, money = play(f"m{number}", policies, SEED)
        assert money[winner] == max(money)
