"""Say something now and then: the table talk of the house's bots."""

import random

from protocol.messages import TableState

SPEAKS = 0.15  # how often a placement comes with a line: a remark or two a round

TIED = (
    "If I can't have it, you can't either.",
    "Nothing personal. Well, a little.",
    "Now we both go home with nothing. Cosy.",
    "A tie suits you.",
)
LEADING = (
    "I could get used to this place.",
    "Reserved. Do read the sign.",
    "Somebody come and stop me.",
    "This one has my name on it, in pencil.",
)
TRAILING = (
    "Only looking around.",
    "Don't mind me.",
    "Second prize is still a prize.",
    "I have a plan. Part of a plan.",
)


def remark(table: TableState, face: int, chance: random.Random) -> str:
    """Return a line for placing a face, or mostly none (""): it says how the casino then stands."""
    if table.current_seat is None or chance.random() >= SPEAKS:
        return ""
    casino = next(each for each in table.casinos if each.number == face)
    others = list(casino.dice)
    mine = others.pop(table.current_seat) + table.roll.count(face)
    if mine in others:
        return chance.choice(TIED)
    return chance.choice(LEADING if mine > max(others) else TRAILING)
