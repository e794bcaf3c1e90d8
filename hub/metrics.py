"""Define what a hub counts, and serve it to Prometheus."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server


class Metrics:
    """One hub's counts, in a registry of their own; the texts are what Prometheus shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.sockets = self._gauge("sockets", "Open WebSockets", ["role"])
        self.store_up = self._gauge("store_up", "Whether the shared store answers: 1 or 0")
        self.moves = self._counter("moves", "Agents' actions, by how they ended", ["result"])
        self.auto_placements = self._counter("auto_placements", "Placements made at deadlines")
        self.events = self._counter("events", "Match events heard from the store")
        self.deliveries = self._counter("deliveries", "Events written to sockets")
        self.skipped = self._counter("skipped", "Events that slow spectators were spared")
        self.errors = self._counter("errors", "Error replies to agents", ["code"])
        self.matches_finished = self._counter("matches_finished", "Matches finished", ["reason"])
        self.store_round_trips = self._counter("store_round_trips", "Requests to the shared store")

    def _gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> Gauge:
        return Gauge(f"vegas_{name}", text, labels, registry=self.registry)

    def _counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        """Make a counter; the client library adds _total to its name."""
        return Counter(f"vegas_{name}", text, labels, registry=self.registry)


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
