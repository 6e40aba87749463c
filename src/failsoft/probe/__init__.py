"""Rates how a server fails: faulty calls made from its schemas, and a scripted reader that obeys its answers."""
