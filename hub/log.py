"""Set up logs: structlog for the hub's own, and the libraries' warnings in the same shape."""

import logging
import sys
from typing import Any, Literal

import structlog
from structlog.typing import FilteringBoundLogger, Processor
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

LogFormat = Literal["auto", "console", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

# What a client alone can bring about, and websockets reports as if the hub had failed.
CLIENTS_FAULTS = (ConnectionClosed, InvalidHandshake, InvalidMessage, ConnectionError, EOFError)


def get_logger(**bound: Any) -> FilteringBoundLogger:
    """Get a logger with some values bound to all of its events."""
    logger: FilteringBoundLogger = structlog.get_logger(**bound)
    return logger


def configure(format: LogFormat = "auto", level: LogLevel = "info") -> None:
    """Send logs to stderr, times in UTC: for people, or one JSON object a line.

    `auto` is for people if stderr is a terminal. Libraries are heard from `warning` up.
    """
    if format == "auto":
        format = "console" if sys.stderr.isatty() else "json"
    shared = _shared_processors()
    ending = _ending(format)
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    _configure_libraries(shared, ending)


def is_clients_fault(record: logging.LogRecord) -> bool:
    """Tell a bad client or a lost connection from an error of the hub's."""
    error = record.exc_info[1] if record.exc_info else None
    return isinstance(error, CLIENTS_FAULTS)


def _configure_libraries(shared: list[Processor], ending: list[Processor]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending],
        )
    )
    handler.addFilter(lambda record: not is_clients_fault(record))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _ending(format: Literal["console", "json"]) -> list[Processor]:
    if format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # Not rich's tracebacks: they show local variables, among them secrets.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
