"""Write down whatever must not be."""

import msgspec

from .plan import now_ms


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must not be; `line` is the number of the socket it was seen on."""

    what: str
    at: int
    who: str
    match_id: str = ""
    seq: int = 0
    line: int | None = None
    detail: str = ""


class Troubles:
    """What was found so far."""

    def __init__(self) -> None:
        self.found: list[Trouble] = []

    def report(
        self,
        what: str,
        who: str,
        *,
        match_id: str | None = None,
        seq: int | None = None,
        line: int | None = None,
        detail: str = "",
    ) -> None:
        """Write one more down."""
        self.found.append(
            Trouble(
                what=what,
                at=now_ms(),
                who=who,
                match_id=match_id or "",
                seq=seq or 0,
                line=line,
                detail=detail,
            )
        )
