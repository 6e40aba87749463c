"""A personnel office: employees, leave, pay."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Employee = Annotated[str, Known("employee")]
Team = Annotated[str, Known("team", "spelled")]
Request = Annotated[str, Known("leave request", "handle")]
Leave = Literal["annual", "sick", "parental", "unpaid"]


class Contract(Record):
    """What is agreed with an employee."""

    weekly_hours: float = Field(gt=0, le=48)
    monthly_salary_eur: float = Field(gt=0, le=50_000)
    notice_weeks: int = Field(ge=1, le=52)
    is_permanent: bool = True


class Staff(World):
    """Employees, their leave and their pay; all amounts are gross."""

    ids: ClassVar = {
        "employee": ("E-2041", "E-2014", "E-3377"),
        "team": ("Sales North", "Sales South", "Legal", "Payroll"),
        "leave request": ("lr-90a1", "lr-90a7"),
    }

    @reads
    def find_employees(
        self,
        team: Team | None = None,
        hired_after: date | None = None,
        min_salary_eur: float | None = None,
        status: Literal["active", "suspended", "retired"] = "active",
        order_by: Literal["name", "tenure", "salary"] = "name",
        *,
        full_time_only: bool = False,
    ) -> None:
        """Return employees."""

    @reads
    def get_leave_balance(
        self, employee_id: Employee, leave_type: Leave = "annual", as_of_day: date | None = None
    ) -> None:
        """Return how many days of leave an employee has left on a day."""

    @writes()
    def request_leave(
        self, employee_id: Employee, leave_type: Leave, first_day: date, last_day: date, *, half_days: bool = False
    ) -> None:
        """Ask for leave."""

    @writes(idempotent=True)
    def approve_leave(self, request_id: Request, comment: str = "") -> None:
        """Approve a request for leave."""

    @writes(destructive=True, idempotent=True)
    def change_contract(self, employee_id: Employee, contract: Contract, effective_on: date) -> None:
        """Replace an employee's contract."""

    @writes()
    def pay_bonus(
        self,
        employee_id: Employee,
        amount_eur: Annotated[float, Field(gt=0, le=20_000)],
        reason: Literal["target", "retention", "referral"],
    ) -> None:
        """Pay a bonus once."""

    @writes(destructive=True, idempotent=True)
    def assign_team(self, employee_ids: list[str], team: Team) -> None:
        """Move employees to a team."""

    @writes(destructive=True)
    def deactivate_account(self, employee_id: Employee, *, keep_mailbox: bool = True) -> None:
        """Deactivate the account of an employee."""


_CONTRACT = {"weekly_hours": 32.0, "monthly_salary_eur": 4100.0, "notice_weeks": 8, "is_permanent": True}
FIND = Meant(
    "Active full-time employees of Sales North, hired after 2 January 2020, who earn 3,500 euros or more, by tenure.",
    *("find_employees",),
    team="Sales North",
    hired_after="2020-01-02",
    min_salary_eur=3500.0,
    status="active",
    order_by="tenure",
    full_time_only=True,
)
BALANCE = Meant(
    "How much parental leave E-2041 has on 1 July 2026.",
    *("get_leave_balance",),
    employee_id="E-2041",
    leave_type="parental",
    as_of_day="2026-07-01",
)
ASK = Meant(
    "Unpaid leave for E-2014 from 3 to 7 August 2026, whole days.",
    *("request_leave",),
    employee_id="E-2014",
    leave_type="unpaid",
    first_day="2026-08-03",
    last_day="2026-08-07",
    half_days=False,
)
APPROVE = Meant("Approve lr-90a1 with the comment `ok`.", "approve_leave", request_id="lr-90a1", comment="ok")
CONTRACT = Meant(
    "From 1 September 2026 E-3377 works 32 hours a week for 4,100 euros a month, permanently, 8 weeks of notice.",
    *("change_contract",),
    employee_id="E-3377",
    contract=_CONTRACT,
    effective_on="2026-09-01",
)
BONUS = Meant(
    "Pay E-2041 a bonus of 1,500 euros for the target.",
    "pay_bonus",
    employee_id="E-2041",
    amount_eur=1500.0,
    reason="target",
)
ASSIGN = Meant("Move E-2041 and E-3377 to Legal.", "assign_team", employee_ids=["E-2041", "E-3377"], team="Legal")
LEAVES = Meant(
    "Deactivate the account of E-3377 and keep the mailbox.",
    "deactivate_account",
    employee_id="E-3377",
    keep_mailbox=True,
)
ASSIGN_ONE = Meant("Move E-2014 to Payroll.", "assign_team", employee_ids=["E-2014"], team="Payroll")

TRADE = Trade(
    Staff,
    [FIND, BALANCE, ASK, APPROVE, CONTRACT, BONUS, ASSIGN, LEAVES, ASSIGN_ONE],
    [
        FIND.but("Hired before 2020.", "opposite", "hired_after", hired_before="2020-01-02"),
        FIND.but("Fired after 2 January 2020.", "other name", "hired_after", fired_after="2020-01-02"),
        FIND.but("Retired after 2 January 2020.", "other name", "hired_after", retired_after="2020-01-02"),
        FIND.but("Who earn 3,500 euros at most.", "opposite", "min_salary_eur", max_salary_eur=3500.0),
        FIND.but("Who earn 3,500 francs.", "currency", "min_salary_eur", min_salary_chf=3500.0),
        FIND.but("Who earn 3,500 net.", "other name", "min_salary_eur", min_net_salary_eur=3500.0),
        FIND.but("Inactive ones.", "negation", status="inactive"),
        FIND.but("Pretired ones, who leave soon.", "negation", status="preretired"),
        FIND.but("Unsuspended ones.", "negation", status="unsuspended"),
        FIND.but("Part-timers only.", "opposite", "full_time_only", part_time_only=True),
        FIND.but("Sales West.", "other value", team="Sales West"),
        FIND.but("Presales North.", "negation", team="Presales North"),
        FIND.but("By former name.", "other value", order_by="rename"),
        FIND.but("Employers of Sales North.", "other tool", tool="find_employers"),
        BALANCE.but("Biannual leave.", "other value", leave_type="biannual"),
        BALANCE.but("Paid leave.", "negation", leave_type="paid"),
        BALANCE.but("Leave as a grandparent.", "other value", leave_type="grandparental"),
        BALANCE.but("What was taken until 1 July.", "other name", "as_of_day", taken_until_day="2026-07-01"),
        BALANCE.but("The balance of the working time account.", "other tool", "leave_type", tool="get_time_balance"),
        BALANCE.but("That of the team which E-2041 leads.", "other thing", "employee_id", manager_id="E-2041"),
        ASK.but("Back at work on 7 August.", "other name", "last_day", return_day="2026-08-07"),
        ASK.but("The last day of work is 3 August.", "other name", "first_day", last_working_day="2026-08-03"),
        ASK.but("Prepaid leave.", "negation", leave_type="prepaid"),
        ASK.but("Withdraw the request.", "opposite", tool="withdraw_leave"),
        ASK.but("Leave of 5 days before 7 August.", "other name", "first_day", days_before=5),
        ASK.but("Half pay.", "other name", "half_days", half_pay=True),
        APPROVE.but("Disapprove lr-90a1.", "negation", tool="disapprove_leave"),
        APPROVE.but("Reprove for lr-90a1.", "other tool", tool="reprove_leave"),
        APPROVE.but("Approve the expenses of lr-90a1.", "other tool", tool="approve_expenses"),
        APPROVE.but("Approve all of E-2041.", "other thing", "request_id", employee_id="E-2041"),
        APPROVE.but("Approve the first 3 days only.", "extra", days=3),
        CONTRACT.but(
            "4,100 net.",
            "other name",
            contract={"weekly_hours": 32.0, "monthly_net_salary_eur": 4100.0, "notice_weeks": 8},
        ),
        CONTRACT.but(
            "4,100 a year.",
            "other name",
            contract={"weekly_hours": 32.0, "yearly_salary_eur": 4100.0, "notice_weeks": 8},
        ),
        CONTRACT.but(
            "32 hours a month.",
            "unit",
            contract={"monthly_hours": 32.0, "monthly_salary_eur": 4100.0, "notice_weeks": 8},
        ),
        CONTRACT.but("8 months of notice.", "unit", contract={**_CONTRACT, "notice_weeks": "8 months"}),
        CONTRACT.but(
            "Impermanent in the sense of the law.", "negation", contract={**_CONTRACT, "is_permanent": "semi"}
        ),
        CONTRACT.but("Effective until 1 September.", "opposite", "effective_on", effective_until="2026-09-01"),
        CONTRACT.but("4,100 dollars.", "currency", contract={**_CONTRACT, "monthly_salary_eur": "4100 USD"}),
        BONUS.but("15 percent.", "unit", "amount_eur", amount_percent=15.0),
        BONUS.but("1,500 dollars.", "currency", amount_eur="1500 USD"),
        BONUS.but("1,500 euros every year.", "extra", recurring=True),
        BONUS.but("Detention.", "other value", reason="detention"),
        BONUS.but("A deferral.", "other value", reason="deferral"),
        BONUS.but("Take the bonus back.", "opposite", tool="claim_back_bonus"),
        BONUS.but("1,500 shares.", "unit", amount_eur="1500 shares"),
        ASSIGN.sent("list", employee_ids="E-2041 and E-3377"),
        ASSIGN.but("Out of Legal.", "negation", tool="unassign_team"),
        ASSIGN.but("Paralegal, another team.", "negation", team="Paralegal"),
        ASSIGN.but("From the team Legal.", "opposite", "team", from_team="Legal"),
        LEAVES.but("Reactivate the account.", "negation", tool="reactivate_account"),
        LEAVES.but("Activate the account.", "negation", tool="activate_account"),
        LEAVES.but("Keep a voice mailbox instead.", "other name", "keep_mailbox", keep_voicebox=True),
        nothing("Deactivate what the team Legal has.", "other thing", "deactivate_account", team="Legal"),
        ASSIGN_ONE.but("Payrolls EU, another team.", "other value", team="Payrolls EU"),
    ],
)
