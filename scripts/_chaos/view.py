"""Check what the client library makes of it all: each reader's events, over all its sockets."""

from protocol.client.table import WatchMessage
from protocol.messages import Crowd, MatchFinished, Presence, Snapshot

from .troubles import Troubles


class View:
    """One reader's way through its matches, in which no event may be missing or come again."""

    def __init__(self, who: str, troubles: Troubles) -> None:
        self.who = who
        self.finished: set[str] = set()
        self._troubles = troubles
        self._positions: dict[str, int] = {}

    def start(self, match_id: str, after: int | None) -> None:
        """Begin a match after one of its events."""
        self._positions[match_id] = after or 0

    def check_finished(self, match_id: str) -> None:
        """Report a match whose end should have been seen by now, and was not."""
        if match_id not in self.finished:
            self._report("end not seen", match_id, self.position(match_id))

    def check_all_finished(self) -> None:
        """Report each match whose end should have been seen by now, and was not."""
        for match_id in self._positions:
            self.check_finished(match_id)

    def position(self, match_id: str) -> int:
        """Tell which event of a match came last."""
        return self._positions.get(match_id, 0)

    def see(self, message: WatchMessage) -> None:
        """Check a message."""
        match message:
            case Presence() | Crowd():
                return
            case Snapshot():
                if message.seq < self.position(message.match_id):
                    self._report("snapshot from before", message.match_id, message.seq)
                if message.state.status == "finished":
                    self.finished.add(message.match_id)
            case _:
                self._check(message.match_id, message.seq)
                if isinstance(message, MatchFinished):
                    self.finished.add(message.match_id)
        self._positions[message.match_id] = message.seq

    def _check(self, match_id: str, seq: int) -> None:
        before = self.position(match_id)
        if seq != before + 1:
            what = "gap" if seq > before else "duplicate"
            self._report(what, match_id, seq, f"from the client library, after {before}")

    def _report(self, what: str, match_id: str, seq: int, detail: str = "") -> None:
        self._troubles.report(what, self.who, match_id=match_id, seq=seq, detail=detail)
