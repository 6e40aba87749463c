"""A help desk: tickets, replies, escalations."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Ticket = Annotated[str, Known("ticket")]
Agent = Annotated[str, Known("agent", "handle")]
Queue = Annotated[str, Known("queue", "spelled")]
Priority = Literal["low", "normal", "high", "urgent"]


class Reply(Record):
    """What is written to a customer."""

    body: str
    is_internal: bool = False
    attachments: list[str] = Field(default_factory=list)


class Helpdesk(World):
    """Tickets of a help desk."""

    ids: ClassVar = {
        "ticket": ("TCK-7781", "TCK-7718", "TCK-9004"),
        "agent": ("ag_kim02", "ag_kim03", "ag_lee11"),
        "queue": ("billing", "hardware", "network", "security"),
    }

    @reads
    def search_tickets(
        self,
        text: str,
        status: Literal["open", "pending", "resolved", "closed"] = "open",
        created_from: date | None = None,
        min_priority: Priority = "low",
        max_results: Annotated[int, Field(ge=1, le=200)] = 25,
        *,
        include_subtasks: bool = False,
    ) -> None:
        """Return tickets with a text in them."""

    @reads
    def get_workload(
        self, agent_id: Agent, unit: Literal["tickets", "hours"] = "tickets", past_days: Annotated[int, Field(ge=1)] = 7
    ) -> None:
        """Return how much an agent did."""

    @writes()
    def add_reply(
        self, ticket_id: Ticket, reply: Reply, minutes_spent: Annotated[int, Field(ge=0, le=480)] = 0
    ) -> None:
        """Reply to a ticket."""

    @writes(idempotent=True)
    def assign_ticket(self, ticket_id: Ticket, assignee_id: Agent, *, notify_requester: bool = True) -> None:
        """Assign a ticket to an agent."""

    @writes(destructive=True, idempotent=True)
    def set_priority(
        self, ticket_id: Ticket, priority: Priority, due_in_hours: Annotated[int, Field(ge=1, le=720)] = 72
    ) -> None:
        """Set how urgent a ticket is, and when it is due."""

    @writes(destructive=True)
    def merge_tickets(self, source_ids: list[str], target_id: Ticket) -> None:
        """Merge tickets into another one."""

    @writes(idempotent=True)
    def move_ticket(self, ticket_id: Ticket, queue: Queue, tags: list[str]) -> None:
        """Move a ticket to another queue, and tag it."""

    @writes(destructive=True, idempotent=True)
    def close_ticket(
        self, ticket_id: Ticket, resolution: Literal["fixed", "duplicate", "declined"], *, send_survey: bool = True
    ) -> None:
        """Close a ticket."""


_REPLY = {"body": "We look into it.", "is_internal": True, "attachments": ["log.txt"]}
SEARCH = Meant(
    "50 pending tickets about `printer` from 4 February 2026 on, of high priority or more, with subtasks.",
    *("search_tickets",),
    text="printer",
    status="pending",
    created_from="2026-02-04",
    min_priority="high",
    max_results=50,
    include_subtasks=True,
)
LOAD = Meant(
    "How many hours ag_kim02 worked in the past 14 days.",
    "get_workload",
    agent_id="ag_kim02",
    unit="hours",
    past_days=14,
)
REPLY = Meant(
    "Reply to TCK-7781 with `We look into it.` and log.txt, internally, after 30 minutes of work.",
    *("add_reply",),
    ticket_id="TCK-7781",
    reply=_REPLY,
    minutes_spent=30,
)
ASSIGN = Meant(
    "Assign TCK-7718 to ag_lee11 and do not tell the requester.",
    *("assign_ticket",),
    ticket_id="TCK-7718",
    assignee_id="ag_lee11",
    notify_requester=False,
)
PRIORITY = Meant(
    "TCK-9004 is urgent and due in 48 hours.", "set_priority", ticket_id="TCK-9004", priority="urgent", due_in_hours=48
)
MERGE = Meant(
    "Merge TCK-7718 and TCK-9004 into TCK-7781.",
    "merge_tickets",
    source_ids=["TCK-7718", "TCK-9004"],
    target_id="TCK-7781",
)
MOVE = Meant(
    "Move TCK-7781 to network, tagged vpn and remote.",
    "move_ticket",
    ticket_id="TCK-7781",
    queue="network",
    tags=["vpn", "remote"],
)
CLOSE = Meant(
    "Close TCK-9004 as fixed, without a survey.",
    "close_ticket",
    ticket_id="TCK-9004",
    resolution="fixed",
    send_survey=False,
)
MERGE_ONE = Meant("Merge TCK-9004 into TCK-7718.", "merge_tickets", source_ids=["TCK-9004"], target_id="TCK-7718")

TRADE = Trade(
    Helpdesk,
    [SEARCH, LOAD, REPLY, ASSIGN, PRIORITY, MERGE, MOVE, CLOSE, MERGE_ONE],
    [
        SEARCH.but("Created to 4 February.", "opposite", "created_from", created_to="2026-02-04"),
        SEARCH.but("Updated from 4 February.", "other name", "created_from", updated_from="2026-02-04"),
        SEARCH.but("Of high priority at most.", "opposite", "min_priority", max_priority="high"),
        SEARCH.but("At least 50.", "opposite", "max_results", min_results=50),
        SEARCH.but("Unresolved ones.", "negation", status="unresolved"),
        SEARCH.but("Reopened ones.", "negation", status="reopened"),
        SEARCH.but("Those that were disclosed.", "negation", status="disclosed"),
        SEARCH.but("Impending ones.", "negation", status="impending"),
        SEARCH.but("Of nonurgent priority.", "negation", min_priority="nonurgent"),
        SEARCH.but("Of abnormal priority.", "negation", min_priority="abnormal"),
        SEARCH.but("Without that text.", "negation", "text", without_text="printer"),
        SEARCH.but("Subtasks alone.", "other name", "include_subtasks", only_subtasks=True),
        SEARCH.but("By the author `printer`.", "other name", "text", author="printer"),
        SEARCH.but("Thickets in the garden.", "other tool", tool="search_thickets"),
        LOAD.but("The next 14 days.", "opposite", "past_days", next_days=14),
        LOAD.sent("unit", "past_days", past_weeks=2),
        LOAD.sent("unit", past_days="2 weeks"),
        LOAD.but("In weekdays.", "other value", unit="days"),
        LOAD.but("Of all agents but this one.", "negation", "agent_id", not_agent_id="ag_kim02"),
        LOAD.but("Of the team ag_kim02 is in.", "other name", "agent_id", team_of="ag_kim02"),
        LOAD.but("Downloads of the agent.", "other tool", tool="get_downloads"),
        REPLY.but(
            "To the public.", "opposite", reply={"body": "We look into it.", "is_external": False, "attachments": []}
        ),
        REPLY.but(
            "Hide the attachments.", "other name", reply={"body": "We look into it.", "hidden_attachments": ["log.txt"]}
        ),
        REPLY.sent("unit", "minutes_spent", hours_spent=0.5),
        REPLY.sent("unit", minutes_spent="0.5 h"),
        REPLY.but("30 minutes left.", "opposite", "minutes_spent", minutes_left=30),
        REPLY.but("Delete the reply.", "other tool", tool="delete_reply"),
        REPLY.but("Replay TCK-7781.", "other tool", tool="add_replay"),
        ASSIGN.but("Take it from ag_lee11.", "negation", tool="unassign_ticket"),
        ASSIGN.but("ag_lee11 is the one who assigns.", "opposite", "assignee_id", assigner_id="ag_lee11"),
        ASSIGN.but("Reassign what ag_lee11 has.", "negation", tool="reassign_ticket"),
        ASSIGN.but("Tell the requester's manager.", "other name", "notify_requester", notify_requester_manager=True),
        ASSIGN.but("Sign TCK-7718.", "other tool", tool="sign_ticket"),
        PRIORITY.but("Overdue by 48 hours.", "opposite", "due_in_hours", overdue_by_hours=48),
        PRIORITY.sent("unit", "due_in_hours", due_in_days=2),
        PRIORITY.sent("unit", due_in_hours="2 days"),
        PRIORITY.but("Not due before 48 hours.", "other name", "due_in_hours", due_after_hours=48),
        PRIORITY.but("Pre-urgent, as the desk calls it.", "negation", priority="preurgent"),
        PRIORITY.but("Higher than it is.", "other value", priority="higher"),
        PRIORITY.but("Subnormal.", "negation", priority="subnormal"),
        MERGE.but("Split them off.", "opposite", tool="split_tickets"),
        MERGE.sent("list", source_ids="TCK-7718 and TCK-9004"),
        MERGE.but("Emerging tickets.", "other tool", tool="emerge_tickets"),
        MERGE.but("Link them only.", "extra", link_only=True),
        MOVE.but("Copy it.", "extra", copy=True),
        MOVE.but("Into cybersecurity.", "other value", queue="cybersecurity"),
        MOVE.but("Remove it from network.", "negation", tool="remove_ticket"),
        MOVE.but("Remove the tags.", "opposite", "tags", untag=["vpn", "remote"]),
        MOVE.sent("list", tags="vpn remote"),
        MOVE.but("Out of network.", "opposite", "queue", from_queue="network"),
        CLOSE.but("Unfixed.", "negation", resolution="unfixed"),
        CLOSE.but("Not a duplicate.", "negation", resolution="nonduplicate"),
        CLOSE.but("Disclose it.", "negation", tool="disclose_ticket"),
        CLOSE.but("Resend the old survey.", "negation", "send_survey", resend_survey=True),
        nothing("Close all of ag_kim02.", "other thing", "close_ticket", agent_id="ag_kim02", resolution="fixed"),
        MERGE_ONE.but("Into a new ticket.", "other name", "target_id", new_target_title="TCK-7718"),
    ],
)
