"""Keep the lists of matches, newest first, and let old ones go."""

from typing import Literal

import msgspec

from protocol.messages import ListedMatch, MatchId

from .keys import Keys
from .link import Link, Script

_FORGET = Script("forget")

FORGET_LIMIT = 50  # old matches looked at in one go

Status = Literal["playing", "finished"]

_row = msgspec.msgpack.Decoder(ListedMatch)


class Page(msgspec.Struct, frozen=True):
    """A part of a list; `next` is the `before` of the part that follows, if there may be one."""

    match_ids: tuple[MatchId, ...]
    next: int | None


class History:
    """The lists of one store's matches."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys

    async def page(
        self,
        *,
        status: Status | None = None,
        agent_id: str | None = None,
        before: int | None = None,
        limit: int,
    ) -> Page:
        """List matches, newest first, from before a serial number."""
        key = self._keys.index if agent_id is None else self._keys.matches_of_agent(agent_id)
        live = await self._live(key)
        if status == "playing":
            return _page([each for each in live if before is None or each[1] < before], limit)
        if status == "finished" and agent_id is None:
            key = self._keys.finished
        found = await self._stretch(key, before, limit + len(live) + 1)
        if status == "finished":
            found = [each for each in found if each not in live]
        return _page(found, limit)

    async def expired(self, oldest_ms: int, most: int) -> list[ListedMatch]:
        """List finished matches that ended before `oldest_ms` or are more than `most`."""
        found = await self._link.call("ZRANGE", self._keys.finished, 0, FORGET_LIMIT - 1)
        if not found:
            return []
        surplus = await self._link.call("ZCARD", self._keys.finished) - most
        packed = await self._link.call("HMGET", self._keys.rows, *found)
        rows = [_row.decode(each) for each in packed]
        return [
            row
            for place, row in enumerate(rows)
            if place < surplus or (row.finished_at is not None and row.finished_at < oldest_ms)
        ]

    async def forget(self, row: ListedMatch) -> None:
        """Take a finished match off every list."""
        keys = self._keys
        await self._link.run(
            _FORGET,
            [keys.finished, keys.index, keys.rows, keys.matches_of_agent("")],
            *(row.match_id, *(player.agent_id for player in row.players)),
        )

    async def _live(self, key: str) -> list[tuple[bytes, int]]:
        """List the matches under way that are in a list, newest first, with serial numbers."""
        live = await self._link.call("SMEMBERS", self._keys.live)
        if not live:
            return []
        serials = await self._link.call("ZMSCORE", key, *live)
        found = [
            (each, int(float(serial))) for each, serial in zip(live, serials, strict=True) if serial
        ]
        return sorted(found, key=lambda each: -each[1])

    async def _stretch(self, key: str, before: int | None, limit: int) -> list[tuple[bytes, int]]:
        newest = "+inf" if before is None else f"({before}"
        found = await self._link.call(
            *("ZREVRANGEBYSCORE", key, newest, "-inf", "WITHSCORES", "LIMIT", 0, limit)
        )
        return [
            (match_id, int(float(serial)))
            for match_id, serial in zip(found[::2], found[1::2], strict=True)
        ]


def _page(found: list[tuple[bytes, int]], limit: int) -> Page:
    shown = found[:limit]
    match_ids = tuple(MatchId(match_id.decode()) for match_id, _ in shown)
    return Page(match_ids, shown[-1][1] if len(found) > limit else None)
