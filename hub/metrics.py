"""Count what a hub does, and serve the counts to Prometheus.

A count is a plain number, or a dict of them by label value: adding to one is on the way of each
event, so it must cost next to nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class Metrics(Collector):
    """One hub's counts, in a registry of their own."""

    def __init__(self) -> None:
        self.sockets: Counter[str] = Counter()  # open ones, by role
        self.store_up = False
        self.moves: Counter[str] = Counter()  # by result
        self.errors: Counter[str] = Counter()  # by code
        self.matches_finished: Counter[str] = Counter()  # by reason
        self.auto_placements = 0
        self.events = 0
        self.deliveries = 0
        self.skipped = 0
        self.store_round_trips: Callable[[], int] = int  # asked when the counts are shown
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Show the counts as they are now; the texts are what Prometheus shows."""
        yield _gauge("sockets", "Open WebSockets", self.sockets, "role")
        yield _gauge("store_up", "Whether the shared store answers: 1 or 0", self.store_up)
        yield _counter("moves", "Agents' actions, by how they ended", self.moves, "result")
        yield _counter("errors", "Error replies to agents", self.errors, "code")
        yield _counter("matches_finished", "Matches finished", self.matches_finished, "reason")
        yield _counter("auto_placements", "Placements made at deadlines", self.auto_placements)
        yield _counter("events", "Match events heard from the store", self.events)
        yield _counter("deliveries", "Events written to sockets", self.deliveries)
        yield _counter("skipped", "Events that slow spectators were spared", self.skipped)
        trips = self.store_round_trips()
        yield _counter("store_round_trips", "Requests to the shared store", trips)


def _gauge(name: str, text: str, value: int | Counter[str], label: str = "") -> Metric:
    return _filled(GaugeMetricFamily(f"vegas_{name}", text, labels=[label] if label else []), value)


def _counter(name: str, text: str, value: int | Counter[str], label: str = "") -> Metric:
    """Make a counter; the client library adds _total to its name."""
    return _filled(
        CounterMetricFamily(f"vegas_{name}", text, labels=[label] if label else []), value
    )


def _filled(family: GaugeMetricFamily | CounterMetricFamily, value: int | Counter[str]) -> Metric:
    by_label = dict(value) if isinstance(value, Counter) else {"": value}
    for name, count in by_label.items():
        family.add_metric([name] if name else [], count)
    return family


class MetricsServer:
    """Serve metrics at http://HOST:PORT/metrics from a thread, until closed; port 0 takes any.

    Raises OSError if the port is taken.
    """

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        self._server, self._thread = start_http_server(port, host, metrics.registry)
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Stop serving, and wait until that is so."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
