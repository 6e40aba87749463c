"""Universes of reactions, and drafts made of them."""
