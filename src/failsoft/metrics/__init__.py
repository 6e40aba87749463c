"""Prometheus metrics: definitions, recorder, exposition, and the boards of a server's processes."""

from failsoft.metrics.exposition import render, scrape
from failsoft.metrics.recorder import PrometheusRecorder

__all__ = ["PrometheusRecorder", "render", "scrape"]
