"""Policies of recovery while a simulated service is slow, noisy or down."""
