"""How long a service asks to wait, in all the dialects, and HTTP statuses."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given, strategies as st

from tests.doors import STATUSES, from_status, parse_wait, reset_wait, retry_after
from tests.each import each

NOW = 1_800_000_000.0


@each(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        (7, 7.0),
        ("-5", 0.0),
        ("1800000030", 30.0),
        ("1800000030000", 30.0),
        ("1799999000", 0.0),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("Friday, 15-Jan-27 08:00:30 GMT", 30.0),
        ("Fri Jan 15 08:00:30 2027", 30.0),
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("1h2m3s", 3723.0),
        ("250ms", 0.25),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Thu, 99 Foo 2026", None),
        ("1" * 100, None),
        (None, None),
        (b"5", None),
        (["5"], None),
    ],
)
def test_a_wait_is_read_in_every_form(value, seconds):
    assert parse_wait(value, now=NOW) == seconds


def test_a_date_without_a_zone_is_in_gmt_wherever_the_client_is(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        assert parse_wait("Fri Jan 15 08:00:30 2027", now=NOW) == 30.0
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("ahead_s", [-3_600, 0, 3_600])
@pytest.mark.parametrize("name", ["Retry-After", "X-RateLimit-Reset"])
def test_a_point_in_time_is_one_of_the_clock_of_the_service(name, ahead_s):
    theirs = NOW + ahead_s
    value = format_datetime(datetime.fromtimestamp(theirs + 10, UTC), usegmt=True)
    headers = {"Date": format_datetime(datetime.fromtimestamp(theirs, UTC), usegmt=True)}
    for point in (value, str(theirs + 10)):
        read = retry_after if name == "Retry-After" else reset_wait
        assert read({**headers, name: point}) == 10.0


def test_a_service_whose_date_cannot_be_read_counts_by_our_clock():
    assert retry_after({"Retry-After": str(NOW + 10), "Date": "noon"}, now=NOW) == 10.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"RETRY-AFTER": "7"}, 7.0),
        ({b"retry-after": b"7"}, 7.0),
        ({"retry-after": 7}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"x-ratelimit-reset": "7"}, None),
        ({}, None),
        (None, None),
        ("retry-after: 7", None),
    ],
)
def test_the_header_is_found_in_any_case_and_type(headers, seconds):
    assert retry_after(headers, now=NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"RateLimit-Reset": "7"}, 7.0),
        ({"x-ratelimit-reset-after": "0.5"}, 0.5),
        ({"x-ratelimit-reset": "1800000030"}, 30.0),
        ({"x-rate-limit-reset": "1800000030"}, 30.0),
        ({}, None),
    ],
)
def test_the_end_of_a_limit_is_a_wait(headers, seconds):
    assert reset_wait(headers, now=NOW) == seconds


@given(st.text() | st.floats() | st.integers() | st.none())
def test_any_value_gives_a_finite_wait_or_none(value):
    wait = parse_wait(value, now=NOW)
    assert wait is None or (math.isfinite(wait) and wait >= 0)


@each(
    ("status", "category"),
    [
        (400, "invalid_argument"),
        (401, "unauthenticated"),
        (402, "quota_exhausted"),
        (403, "permission_denied"),
        (404, "not_found"),
        (405, "unsupported"),
        (408, "timeout"),
        (409, "conflict"),
        (410, "not_found"),
        (412, "precondition_failed"),
        (413, "invalid_argument"),
        (418, "invalid_argument"),
        (422, "invalid_argument"),
        (429, "rate_limited"),
        (500, "upstream_error"),
        (501, "unsupported"),
        (502, "upstream_error"),
        (503, "unavailable"),
        (504, "timeout"),
        (599, "upstream_error"),
        (302, "upstream_error"),
        (200, "upstream_error"),
        (0, "upstream_error"),
        (None, "upstream_error"),
        ("404", "upstream_error"),
    ],
)
def test_a_status_has_its_category(status, category):
    assert from_status(status).category == category


def test_a_refusal_that_is_a_rate_limit_in_truth():
    used_up = from_status(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "5"})
    assert (used_up.code, used_up.retry_after_seconds) == ("RATE_LIMITED", 5.0)
    assert from_status(403, {"Retry-After": "60"}).code == "RATE_LIMITED"
    assert from_status(403, {"X-RateLimit-Remaining": "10", "X-RateLimit-Reset": "5"}).code == "PERMISSION_DENIED"


def test_a_limit_that_is_not_reached_asks_for_no_wait():
    assert from_status(500, {"X-RateLimit-Reset": "3600"}).retry_after_seconds is None


def test_every_listed_status_is_an_error():
    assert all(400 <= status < 600 for status in STATUSES)
