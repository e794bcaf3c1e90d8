"""Count values in buckets whose width grows with the value, so that any percentile is near exact.

As in an HDR histogram, each power of two is split into the same number of buckets: a value is
known to within 1 part in 128, from 1 up to any size, and histograms add up.
"""

import msgspec

FINE_BITS = 7  # each power of two has 2**7 buckets: an error of less than 0.8 %


class Histogram(msgspec.Struct):
    """Counts of non-negative whole numbers, by bucket; `least` and `most` are exact."""

    counts: dict[int, int] = {}
    total: int = 0
    least: int = 0
    most: int = 0

    def record(self, value: int, times: int = 1) -> None:
        """Count a value; a negative one as 0."""
        value = max(value, 0)
        bucket = _bucket(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + times
        self.least = min(self.least, value) if self.total else value
        self.most = max(self.most, value)
        self.total += times

    def record_corrected(self, value: int, interval: int) -> None:
        """Count a value, and what would have been measured meanwhile (coordinated omission).

        Who waits for a slow answer asks nothing while waiting. Had it gone on asking once an
        `interval`, it would have seen value - interval, value - 2 * interval, and so on.
        """
        self.record(value)
        if interval > 0:
            for missed in range(value - interval, interval - 1, -interval):
                self.record(missed)

    def add(self, other: "Histogram") -> None:
        """Count all that another one has counted."""
        if not other.total:
            return
        for bucket, times in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + times
        self.least = min(self.least, other.least) if self.total else other.least
        self.most = max(self.most, other.most)
        self.total += other.total

    def percentile(self, percent: float) -> int:
        """Find the value that so many per cent of the values do not exceed; 0 of nothing."""
        wanted = self.total * percent / 100
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return min(max(_highest(bucket), self.least), self.most)
        return self.most


def _bucket(value: int) -> int:
    """Number the bucket of a value: exact below 2**FINE_BITS, then by its leading bits."""
    shift = max(value.bit_length() - FINE_BITS - 1, 0)
    return (shift << FINE_BITS) + (value >> shift)


def _highest(bucket: int) -> int:
    """Return the greatest value of a bucket."""
    shift = max((bucket >> FINE_BITS) - 1, 0)
    return (((bucket - (shift << FINE_BITS)) + 1) << shift) - 1
