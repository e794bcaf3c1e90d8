"""Name every key and channel of the store, in one screen.

Everything of one table shares the hash tag of its slot, and everything of the lobby shares one
tag, so each script touches one Redis Cluster slot.

    {tNN}:match:ID     hash    seq, ts, deadline, public (packed Match), secret (server seed),
                               id:AGENT:ID (an action's record)
    {tNN}:log:ID       stream  entry SEQ-0, field e = the packed event as clients get it
    {tNN}:due          zset    match -> when a hub should look at its deadline (ms)
    {tNN}:pulse        string  when a hub last claimed deadlines (ms)
    {tNN}:outbox       set     finished matches whose result the lobby has yet to book
    {tNN}:crowd:ID     hash    hub -> "spectators until" (ms); total = what was last published
    {tNN}:feed:ID      channel one table: commits, presence, sizes of the crowd
    {lobby}:queue      zset    waiting agent -> ticket (ascending: who came first)
    {lobby}:requests   hash    waiting agent, or seated one that joins again -> packed JoinRequest
    {lobby}:rejoins    hash    agent that joins again after each match -> its lowest fee
    {lobby}:counters   hash    ticket and serial numbers, HP taken as platform fees
    {lobby}:seats      hash    agent -> match
    {lobby}:balances   zset    agent -> HP
    {lobby}:names      hash    agent -> name
    {lobby}:board      zset    agent that has played a ranked match -> HP
    {lobby}:matches    hash    agent -> ranked matches played; {lobby}:wins likewise
    {lobby}:presence:A zset    hub -> until when it vouches for agent A being connected (ms)
    {lobby}:forming    hash    match -> packed Formed, until the match exists
    {lobby}:stakes     hash    match -> HP staked, until its result is booked
    {lobby}:index      zset    match -> serial number (descending: newest first)
    {lobby}:agent:A    zset    match that agent A plays or played -> serial number
    {lobby}:live       set     matches under way
    {lobby}:finished   zset    finished match -> serial number
    {lobby}:rows       hash    match -> packed ListedMatch, as it was last written
    {lobby}:feed       channel seats taken, matches listed and closed
"""

import zlib
from functools import lru_cache


class Keys:
    """The names of everything the hub keeps under one prefix, with tables spread over slots."""

    def __init__(self, prefix: str, slots: int) -> None:
        self.prefix = prefix
        self.slots = slots
        lobby = f"{prefix}{{lobby}}:"
        self.queue = lobby + "queue"
        self.requests = lobby + "requests"
        self.rejoins = lobby + "rejoins"
        self.counters = lobby + "counters"
        self.seats = lobby + "seats"
        self.balances = lobby + "balances"
        self.names = lobby + "names"
        self.board = lobby + "board"
        self.matches = lobby + "matches"
        self.wins = lobby + "wins"
        self.forming = lobby + "forming"
        self.stakes = lobby + "stakes"
        self.index = lobby + "index"
        self.live = lobby + "live"
        self.finished = lobby + "finished"
        self.rows = lobby + "rows"
        self.lobby_feed = lobby + "feed"
        self._presence = lobby + "presence:"
        self._agent = lobby + "agent:"
        self.of_commit = lru_cache(maxsize=4096)(self._of_commit)

    def slot(self, match_id: str) -> int:
        """Find the slot of a match: the same on every hub and in every run."""
        return zlib.crc32(match_id.encode()) % self.slots

    def presence(self, agent_id: str) -> str:
        """Name an agent's leases."""
        return self._presence + agent_id

    def matches_of_agent(self, agent_id: str) -> str:
        """Name the list of an agent's matches."""
        return self._agent + agent_id

    def matches_of(self, slot: int) -> str:
        """Name what the records of a slot's matches start with."""
        return self._tag(slot) + "match:"

    def match(self, match_id: str) -> str:
        """Name a match's record."""
        return self.matches_of(self.slot(match_id)) + match_id

    def _of_commit(self, match_id: str) -> tuple[str, ...]:
        """Name all that a commit touches: see commit.lua."""
        slot = self.slot(match_id)
        return (
            *(self.match(match_id), self.log(match_id), self.due(slot), self.outbox(slot)),
            *(self.feed(match_id), self.pulse(slot)),
        )

    def log(self, match_id: str) -> str:
        """Name a match's event log."""
        return f"{self._tag(self.slot(match_id))}log:{match_id}"

    def feed(self, match_id: str) -> str:
        """Name a table's channel."""
        return f"{self._tag(self.slot(match_id))}feed:{match_id}"

    def crowd(self, match_id: str) -> str:
        """Name a table's spectators, by hub."""
        return f"{self._tag(self.slot(match_id))}crowd:{match_id}"

    def due(self, slot: int) -> str:
        """Name a slot's deadlines."""
        return self._tag(slot) + "due"

    def pulse(self, slot: int) -> str:
        """Name the time at which a slot's deadlines were last claimed."""
        return self._tag(slot) + "pulse"

    def outbox(self, slot: int) -> str:
        """Name a slot's unbooked results."""
        return self._tag(slot) + "outbox"

    def probe(self, hub_id: str) -> str:
        """Name the channel on which a hub checks that its own subscription is alive."""
        return f"{self.prefix}probe:{hub_id}"

    def _tag(self, slot: int) -> str:
        return f"{self.prefix}{{t{slot:02}}}:"
