"""What the doctor says of a recovery configuration."""

from __future__ import annotations

from tests.doors import ExitCode

GOOD = "tools.docs.operations.search_documents.circuit_breaker = {min_calls = 3}"
BAD = "[tools.docs.operations]\nsearch_document.retry = true"


def test_the_way_of_a_call_is_the_configured_one(inside):
    ran = inside("doctor", "--json", env={"FAILSOFT_RECOVERY": GOOD})
    assert (ran.code, ran.json["remarks"]) == (ExitCode.OK, [])
    (docs,) = [row for row in ran.json["toolsets"] if row["name"] == "docs"]
    assert "circuit_breaker" in docs["operations"]["search_documents"]
    assert "circuit_breaker" not in docs["operations"]["list_documents"]


def test_a_configuration_that_cannot_be_used_is_broken_with_its_place_and_reason(inside):
    ran = inside("doctor", "--json", env={"FAILSOFT_RECOVERY": BAD})
    assert ran.code == ExitCode.FAILED
    reported = [remark["message"] for remark in ran.json["remarks"] if "docs" in remark["about"]]
    assert len(reported) == 1
    assert "tools.docs.operations.search_document:" in reported[0]
    assert "'search_documents'" in reported[0]


def test_a_file_that_is_not_there_is_broken(inside, tmp_path):
    ran = inside("doctor", "--json", env={"FAILSOFT_RECOVERY_FILE": str(tmp_path / "none.toml")})
    assert ran.code == ExitCode.FAILED
    assert any("FAILSOFT_RECOVERY_FILE" in remark["message"] for remark in ran.json["remarks"])
