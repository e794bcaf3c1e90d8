from urllib.request import urlopen

import pytest

from hub.metrics import Metrics, MetricsServer


def test_each_hub_counts_for_itself() -> None:
    one, other = Metrics(), Metrics()
    one.events += 3
    assert one.registry.get_sample_value("vegas_events_total") == 3
    assert other.registry.get_sample_value("vegas_events_total") == 0


def test_counts_are_served_until_closed() -> None:
    metrics = Metrics()
    metrics.moves["committed"] += 1
    server = MetricsServer(metrics, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.port}/metrics"
    with urlopen(url) as answer:
        assert 'vegas_moves_total{result="committed"} 1.0' in answer.read().decode().splitlines()
    server.close()
    with pytest.raises(OSError, match="refused"):
        urlopen(url)


def test_a_taken_port_is_an_error() -> None:
    server = MetricsServer(Metrics(), "127.0.0.1", 0)
    with pytest.raises(OSError, match="in use"):
        MetricsServer(Metrics(), "127.0.0.1", server.port)
    server.close()
