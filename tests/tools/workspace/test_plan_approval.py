"""The person who uses the only client is asked whether a plan is approved; one client alone never approves its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.doors import Answer, AwaitingAnswer, Question
from tests.tools.workspace.site import Site

ROLES = "LEAD:read+plan+approve,REVIEW:read+approve,WINDSURF:read+write"
YES = Answer("accept", {"confirm": True})
PLAN = {"title": "Add `pages`", "files": ["docs/**", "a.md"], "body": "Write them.\nAll."}


class Person:
    """Gives one answer to every question, and keeps the questions."""

    def __init__(self, answer: Answer | None = YES) -> None:
        self.answer = answer
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if self.answer is None:
            raise AwaitingAnswer(question)
        return self.answer


def submitted(site: Site, tool: Workspace, role: str = "ANTIGRAVITY", **plan: Any) -> str:
    """Return the hash of a plan that the session begun last has submitted."""
    site.begin(tool, role)
    plan_hash: str = site.call(tool, "submit_plan", {**PLAN, **plan})["data"]["plan_hash"]
    return plan_hash


def approve(site: Site, tool: Workspace, plan_hash: str, person: Person | None, **scope: Any) -> dict[str, Any]:
    ask = None if person is None else person.ask
    return site.call(tool, "approve_plan", {"plan_hash": plan_hash}, ask=ask, **scope)


def test_the_person_behind_the_client_approves_what_it_has_submitted(site: Site, tool: Workspace) -> None:
    plan_hash, person = submitted(site, tool), Person()
    answer = approve(site, tool, plan_hash, person)
    assert answer["data"]["approved"]

    (question,) = person.questions
    assert question.about == "confirm"
    shown = question.message.splitlines()
    assert {'- "a.md"', '- "docs/**"', "Title: \"Add 'pages'\""} <= set(shown)
    assert sum(line.startswith('Text: "Write them.') for line in shown) == 1
    site.begin(tool)
    assert site.call(tool, "write_file", {"path": "docs/a.md", "content": "x"})["success"]
    entries = [json.loads(line) for line in (site.root / "audit-log.jsonl").read_text().splitlines()]
    asked = [one["facts"]["asked"] for one in entries if one["tool_name"] == "approve_plan"]
    assert [(one["action"], one["answer"]) for one in asked] == [("accept", {"confirm": True})]


@pytest.mark.parametrize(
    "given",
    [Answer("decline"), Answer("cancel"), Answer("unanswered"), Answer("accept", {"confirm": False}), Answer("accept")],
    ids=str,
)
def test_anything_but_consent_approves_nothing(site: Site, tool: Workspace, given: Answer) -> None:
    plan_hash = submitted(site, tool)
    answer = approve(site, tool, plan_hash, Person(given))
    assert (answer["error_code"], answer["effect"]) == ("APPROVAL_REQUIRED", "none")
    assert not site.call(tool, "list_plans")["data"]["plans"][0]["approved"]


def test_without_a_person_to_ask_the_answer_names_the_command(site: Site, tool: Workspace) -> None:
    plan_hash = submitted(site, tool)
    answer = approve(site, tool, plan_hash, None)
    assert (answer["error_code"], answer["effect"]) == ("UNAUTHORIZED_ACTION", "none")
    assert f"failsoft plans approve {plan_hash} --root " in answer["human_message"]


def test_the_person_is_asked_though_another_role_of_the_client_approves(site: Site) -> None:
    tool = site.tool(workspace_roles=ROLES)
    plan_hash, person = submitted(site, tool, "LEAD"), Person(Answer("decline"))
    site.begin(tool, "REVIEW")
    assert approve(site, tool, plan_hash, person)["error_code"] == "APPROVAL_REQUIRED"
    assert approve(site, tool, plan_hash, None)["data"]["approved"]
    assert len(person.questions) == 1


def test_no_person_is_asked_where_clients_are_told_apart(site: Site) -> None:
    tool, person = site.tool(workspace_role="ANTIGRAVITY"), Person()
    plan_hash = submitted(site, tool)
    assert approve(site, tool, plan_hash, person)["error_code"] == "UNAUTHORIZED_ACTION"
    session = site.begin(tool, "ANTIGRAVITY", principal="token:ada")
    named = {"plan_hash": plan_hash, "session_id": session}
    assert site.call(tool, "approve_plan", named, principal="token:ada", ask=person.ask)["data"]["approved"]
    assert person.questions == []


def test_nobody_is_asked_about_a_plan_that_is_not_there_is_approved_or_is_too_long(site: Site, tool: Workspace) -> None:
    person = Person()
    long = submitted(site, tool, files=[f"docs/{'x' * 90}/{number}.md" for number in range(100)])
    assert approve(site, tool, long, person)["error_code"] == "UNAUTHORIZED_ACTION"
    assert approve(site, tool, "0" * 64, person)["error_code"] == "PLAN_NOT_FOUND"
    plan_hash = submitted(site, tool)
    site.approve(tool, plan_hash)
    site.begin(tool, "ANTIGRAVITY")
    assert approve(site, tool, plan_hash, person)["error_code"] == "UNAUTHORIZED_ACTION"
    assert person.questions == []


@pytest.mark.parametrize(
    "pattern", ["docs/[" + '"' * 600 + "a]*/**", "a`.md", "\\" * 600 + "/**"], ids=["cut", "other", "long"]
)
def test_nobody_is_asked_about_files_that_the_question_would_not_show_as_they_are(
    site: Site, tool: Workspace, pattern: str
) -> None:
    plan_hash, person = submitted(site, tool, files=[pattern]), Person()
    assert approve(site, tool, plan_hash, person)["error_code"] == "UNAUTHORIZED_ACTION"
    assert person.questions == []


def test_the_answer_may_come_with_another_request(site: Site, tool: Workspace) -> None:
    plan_hash, later = submitted(site, tool), Person(None)
    with pytest.raises(AwaitingAnswer):
        approve(site, tool, plan_hash, later)
    assert not site.call(tool, "list_plans")["data"]["plans"][0]["approved"]
    assert approve(site, tool, plan_hash, Person())["data"]["approved"]
