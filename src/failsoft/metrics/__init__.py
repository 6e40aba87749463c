"""Metrics: what is counted as data, the recorder, and the exposition."""

from failsoft.metrics.exposition import forget_worker, render, scrape
from failsoft.metrics.recorder import PrometheusRecorder

__all__ = ["PrometheusRecorder", "forget_worker", "render", "scrape"]
