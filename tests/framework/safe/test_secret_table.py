"""Figures of redaction: secrets hidden, harmless strings left alone, contents untouched, CPU time per text."""

from __future__ import annotations

import time

import pytest

from tests.doors import redact_text
from tests.each import each
from tests.framework.safe.secret_table import FORMS, HARMLESS, SECRETS


def test_the_table_is_as_large_as_it_says() -> None:
    assert (len(FORMS), len(SECRETS), len(set(HARMLESS)) >= 200) == (60, 200, True)


def test_at_least_97_percent_of_the_secrets_are_hidden() -> None:
    shown = [text for text, secret in SECRETS if secret in redact_text(text)]
    assert len(shown) <= 0.03 * len(SECRETS), shown


def test_at_most_2_percent_of_the_harmless_strings_are_altered() -> None:
    altered = [(text, redact_text(text)) for text in HARMLESS if redact_text(text) != text]
    assert len(altered) <= 0.02 * len(HARMLESS), altered


@each("text", [text for text, _ in SECRETS] + HARMLESS)
def test_redacting_the_table_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


def test_a_text_with_words_that_look_like_secrets_costs_a_bounded_multiple_of_a_plain_one() -> None:
    plain = ("A document was not found: guide/intro.md; the closest one is guide/introduction.md. " * 3)[:200]
    busy = ("password=hunter2 token: abc X-Api-Key: k https://u:p@h/x?sig=1 " * 4)[:200]

    def cost(text: str) -> float:
        started = time.process_time()
        for _ in range(2_000):
            redact_text(text)
        return time.process_time() - started

    assert min(cost(busy) for _ in range(3)) < 40 * min(cost(plain) for _ in range(3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the password is hunter2x", "the password is <redacted>"),
        ("password is: Sommer2026!", "password is: <redacted>"),
        ("My API key is 9f8a7b6c5d4e.", "My API key is <redacted>"),
        ("token\tabc123def456\tada", "token\t<redacted>\tada"),
        ("the password is wrong", "the password is wrong"),
        ("the token is 30 characters long", "the token is 30 characters long"),
        ("token\tdescription", "token\tdescription"),
    ],
)
def test_a_value_in_prose_or_in_a_table_is_hidden_if_it_looks_like_a_secret(text: str, expected: str) -> None:
    assert redact_text(text) == expected
