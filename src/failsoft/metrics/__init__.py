"""Prometheus metrics: definitions, recorder, exposition."""

from failsoft.metrics.exposition import forget_worker, render, scrape
from failsoft.metrics.recorder import PrometheusRecorder

__all__ = ["PrometheusRecorder", "forget_worker", "render", "scrape"]
