"""What RULES.md fixes, in one leaf: numbers that the rules share."""

SEATS = 4  # seats in a live match
SEATS_MIN = 3  # the fewest and the most that the rules themselves accept
SEATS_MAX = 5
ROUNDS = 4  # rounds of a match
DICE = 8  # dice of one seat at the start of a round
CASINOS = 6  # casinos, and faces of a die: face N goes to casino N
FILL_MIN = 50_000  # dollars that a casino holds at least when a round starts
TURN_MS = 90_000  # length of a turn unless configured otherwise
AWAY_MS = 5_000  # length of an away seat's turn unless configured otherwise
AWAY_AFTER = 2  # automatic placements in a row that make a seat away (An absent agent)
RECENT_TALK = 20  # lines of table talk that a table's state keeps (PROTOCOL.md, state)
OUTAGE = "outage"  # the reason for which a deadline may be moved (PROTOCOL.md, deadline_moved)
SEED_BYTES = 32  # length of a match's secret seed (Randomness)
BPS = 10_000  # basis points in the whole

# The board game's 54 banknotes in dollars, ascending, as a shuffle starts from them.
BANKNOTES: tuple[int, ...] = (
    *(10_000,) * 6,
    *(20_000,) * 8,
    *(30_000,) * 8,
    *(40_000,) * 6,
    *(50_000,) * 6,
    *(60_000,) * 5,
    *(70_000,) * 5,
    *(80_000,) * 5,
    *(90_000,) * 5,
)
