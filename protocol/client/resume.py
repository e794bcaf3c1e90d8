"""Tell news from repeats in the stream of a match's events, and where to resume.

No sockets: one place in one match's log, moved on by what is read.
"""

from urllib.parse import urlencode

from protocol.messages import MatchFinished, Presence, Snapshot

from .table import TableMessage


class Gap(Exception):
    """Events are missing between the cursor and the one that was read."""


class Cursor:
    """Where a stream stands: after event `seq` of a match; None before anything is known."""

    def __init__(self, match_id: str | None = None, seq: int | None = None) -> None:
        self.match_id = match_id
        self.seq = seq
        self.finished = False

    @property
    def query(self) -> str:
        """Render what resumes here as a URL's query; empty to start anew (PROTOCOL.md, Transport).

        A match that has finished is not resumed: what may follow is another match.
        """
        if self.seq is None or self.finished:
            return ""
        return "?" + urlencode({"after": self.seq, "match_id": self.match_id})

    def accept(self, message: TableMessage) -> bool:
        """Tell whether a message is news, and move on if it is. Raises Gap."""
        match message:
            case Snapshot():
                self._move(message.match_id, message.seq, message.state.status == "finished")
                return True
            case Presence():
                return message.match_id == self.match_id and bool(self.seq)
            case _:
                return self.step(message.match_id, message.seq, isinstance(message, MatchFinished))

    def step(self, match_id: str, seq: int, finished: bool = False) -> bool:
        """Tell whether event `seq` is the next one, and move on if it is. Raises Gap.

        Of another match, the next one is its first.
        """
        if match_id != self.match_id or self.seq is None:
            self._move(match_id, 0, False)
        seen = self.seq or 0
        if seq > seen + 1:
            raise Gap(f"event {seq} of match {match_id} after event {seen}")
        if seq <= seen:
            return False
        self._move(match_id, seq, finished)
        return True

    def forget(self) -> None:
        """Start anew: the match is unknown."""
        self.match_id = self.seq = None

    def _move(self, match_id: str, seq: int, finished: bool) -> None:
        self.match_id = match_id
        self.seq = seq
        self.finished = finished
