"""Where the case of a letter, or one separator, says another thing: units, formulas, codes, and lists of one."""

from __future__ import annotations

import pytest

from tests.doors import correction, how_far
from tests.framework.errors.test_how_far import Row, What, mistaken, never, pairs

NAMES: tuple[What, ...] = ("parameter", "enum")
OTHER_UNITS = pairs("""
    mW/MW Mb/MB kb/Kb mM/MM mS/ms nM/nm mHz/MHz mL/ML Mg/mg Gb/GB power_mW/power_MW limit_Mb/limit_MB
    limit_Mb/limitMB powerMW/power_mW dose_mM/dose_mm rate_mHz/rate_MHz power_MW/power_mw energy_mJ/energy_MJ
    power_Mw/power_mW
""")
OTHER_UNITS.remove(("kb", "Kb"))  # the lower one is a convention of names, tested below for values
SAME_UNITS = pairs("""
    size_mb/SIZE_MB size_mb/sizeMb sizeMb/sizeMB size_mb/size_MB gb/GB size_kB/size_kb size_kB/size_KB
    timeoutMs/timeout_ms Timeout-Ms/timeout_ms TIMEOUT_MS/timeoutMs POWER_MW/power_mw rate_MHz/rate_mhz
    rate_kHz/RATE_KHZ Kg/kg Km/km mL/ml pH/ph ID/id Id/ID Title/title PDF/pdf Pdf/PDF Mon/MON pm/PM Pm/pm No/no
    pressure_kPa/pressure_kpa
""")
OTHER_MEANINGS = pairs("""
    buyer_id/buyer_ip host_ip/host_id gain_db/gain_dbm time_pst/time_pdt time_est/time_edt pressure_pa/pressure_kpa
    pressure_bar/pressure_mbar server_ip/server_port
""")


def test_units_that_differ_in_case_are_never_swapped() -> None:
    wrong = mistaken(never(OTHER_UNITS, NAMES))
    assert wrong == []


def test_conventions_of_case_make_no_other_unit() -> None:
    wrong = mistaken(
        [Row(a, b, what, changes, "use") for a, b in SAME_UNITS for what in NAMES for changes in (False, True)]
    )
    assert wrong == []


def test_measures_that_look_alike_are_never_swapped() -> None:
    wrong = mistaken(never(OTHER_MEANINGS, NAMES))
    assert wrong == []


@pytest.mark.parametrize("changes", [False, True])
def test_a_formula_or_a_unit_is_not_corrected_to_another_option_in_case(changes: bool) -> None:
    for given, options in (
        ("mW", ["MW", "kW", "W"]), ("mw", ["MW", "kW", "W"]), ("m", ["M", "mM", "uM"]), ("Co", ["CO", "CO2"]),
        ("No", ["NO", "NO2"]), ("CO", ["Co", "Ni"]), ("mb", ["MB", "Mb"]),
    ):  # fmt: skip
        assert correction(given, options, what="enum", changes=changes) is None, given
    for given, options in (
        ("No", ["YES", "NO"]),
        ("NO", ["Yes", "No"]),
        ("kw", ["MW", "kW"]),
        ("mb", ["MB", "GB"]),
        ("pdf", ["PDF", "HTML"]),
    ):
        found = correction(given, options, what="enum", changes=changes)
        assert found is not None, given
        assert found.how_far == "use"


def test_a_single_letter_is_corrected_in_case_only_by_a_read() -> None:
    wrong = mistaken([Row("m", "M", "enum", True, "list"), Row("m", "M", "enum", False, "use")])
    assert wrong == []


def test_a_unit_in_another_case_is_not_stripped_where_it_means_another_one() -> None:
    other = [
        ("5 MW", "power_mw"), ("5 Ms", "timeout_ms"), ("5 Ms", "timeout in milliseconds"), ("5 Mb", "size_mb"),
        ("5 M", "depth_m"), ("5 mw", "power_MW"), ("5 mW", "power in MW"), ("5 Kb", "size in kb"),
        ("5 Ms", "timeoutMs"),
    ]  # fmt: skip
    same = [
        ("5 mW", "power_mW"), ("5 mw", "power_mw"), ("5 MW", "power in MW"), ("5 MB", "size_mb"), ("5 mb", "size_MB"),
        ("5 kB", "size_kb"), ("5 m", "depth_m"), ("5 MHz", "rate_mhz"), ("5 HZ", "rate in Hz"), ("5 ms", "timeoutMs"),
        ("5 Kg", "weight in kg"), ("5 MS", "timeout_ms"), ("5 Hours", "duration_hours"), ("5 C", "temp_c"),
        ("5 Mb", "limit_Mb"), ("5 ms", "TIMEOUT_MS"),
    ]  # fmt: skip
    rows = [Row(text, 5, "value", changes, "list", about=about) for text, about in other for changes in (False, True)]
    rows += [Row(text, 5, "value", False, "use", about=about) for text, about in same]
    wrong = mistaken(rows)
    assert wrong == []


def test_a_text_that_may_be_all_nothing_or_several_is_no_list_of_one_on_a_write() -> None:
    unclear = [
        "*",
        "all",
        "All",
        "none",
        "NULL",
        "a+b",
        "a + b",
        "a;b",
        "a、b",
        "a|b",
        "any",
        "user-*",
        "everything",
        "-",
    ]
    clear = ["alice", "hall-7", "nonesuch", "C++", "guide/intro.mdx"]
    rows = [Row(text, [text], "value", True, "list") for text in unclear]
    rows += [Row(text, [text], "value", changes, "use") for text in clear for changes in (False, True)]
    rows += [Row('["*"]', ["*"], "value", True, "use"), Row("all", ["all"], "value", False, "use")]
    wrong = mistaken(rows)
    assert wrong == []


def test_a_separator_between_a_letter_and_a_digit_is_part_of_a_code_that_is_written() -> None:
    found = pairs("C-1/C1 1A/1-A plan_2/plan2")
    rows = [Row(a, b, "enum", True, "list") for a, b in found] + [Row(a, b, "enum", False, "use") for a, b in found]
    rows += [Row("C-1", "c_1", "enum", True, "use"), Row("line-2", "line2", "parameter", True, "use")]
    wrong = mistaken(rows)
    assert wrong == []


@pytest.mark.parametrize(
    ("given", "options", "meant"),
    [
        ("infra/billing-apis", ["infra/billing-api", "web/storefront"], None),
        ("team/order", ["team/orders", "team/billing"], None),
        ("infra/biling-api", ["infra/billing-api", "web/storefront"], "infra/billing-api"),
        ("guide/intor.md", ["guide/intro.md", "guide/index.md"], "guide/intro.md"),
        ("Guide/Intro.md", ["guide/intro.md", "guide/outro.md"], "guide/intro.md"),
    ],
)
def test_a_name_is_no_misspelling_of_its_plural(given: str, options: list[str], meant: str | None) -> None:
    found = correction(given, options, what="reference", changes=False)
    assert (None if found is None else found.meant) == meant


@pytest.mark.parametrize("text", ["hail+storm", "hail,storm", "hail|storm"])
def test_a_text_that_joins_several_values_is_no_single_one(text: str) -> None:
    assert how_far(text, [text], what="value", changes=False) == "list"
    assert how_far("C++", ["C++"], what="value", changes=False) == "use"
