"""Scripted agents that follow what failures say."""
