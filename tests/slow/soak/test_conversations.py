"""Ten thousand generated conversations of calls that ask a person."""

from __future__ import annotations

import pytest

from tests.framework.asking.test_conversations import check_conversations

EACH = 1_000


@pytest.mark.parametrize("first", range(0, 10 * EACH, EACH))
def test_no_effect_without_consent_in_ten_thousand_conversations(first: int) -> None:
    check_conversations(first, EACH)
