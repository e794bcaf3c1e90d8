"""Hold what a load is made of: how many clients, how they behave, where and for how long."""

import msgspec


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """A load, or one process's part of it. Never show it whole: it holds the secret."""

    urls: tuple[str, ...]
    """The hubs, like ws://host:port; clients are spread over them."""

    bots: int
    """Agents that play free matches, one after the other."""

    spectators: int
    """Sockets that watch matches under way."""

    ramp_s: float
    """Over how many seconds the clients come; latencies count from then on."""

    duration_s: float
    """How long the load lasts after that."""

    think_s: float
    """The mean time of a bot's thinking; each thought takes half to one and a half of it."""

    slow_share: float
    """The part of the spectators that read too slowly."""

    reconnect_share: float
    """The part of the clients that lose their connection again and again, and resume."""

    run_id: str
    """What this run's agents are named after, so that two runs are never the same agents."""

    has_bots: bool = True
    """Whether the whole load has bots; without any, spectators watch whatever there is."""

    first_bot: int = 0
    """The number of the first bot of this part."""

    secret: bytes = b""
    """What the bots' tokens are signed with."""

    def split(self, parts: int) -> "list[Load]":
        """Share the clients out evenly."""
        bots, spectators = _shares(self.bots, parts), _shares(self.spectators, parts)
        return [
            msgspec.structs.replace(
                self,
                bots=bots[at],
                spectators=spectators[at],
                has_bots=self.bots > 0,
                first_bot=sum(bots[:at]),
            )
            for at in range(parts)
        ]


def _shares(whole: int, parts: int) -> list[int]:
    return [whole * (at + 1) // parts - whole * at // parts for at in range(parts)]
