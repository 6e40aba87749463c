"""A Git forge: branches, merge requests, releases, protections, runners."""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Project = Annotated[str, Known("project", "spelled")]
Branch = Annotated[str, Known("branch", "spelled")]
Request = Annotated[str, Known("merge request")]
Runner = Annotated[str, Known("runner", "handle")]
Limit = Annotated[int, Field(ge=1, le=100)]
Role = Literal["nobody", "developers", "maintainers"]


class Rules(Record):
    """Who may do what on a branch."""

    push: Role
    merge: Role
    min_approvals: int = Field(ge=0, le=10)
    allow_force_push: bool = False


class Asset(Record):
    """A file of a release."""

    name: str
    url: str
    size_kb: int


class Forge(World):
    """Branches, merge requests, releases and runners of a Git forge."""

    ids: ClassVar = {
        "project": ("infra/billing-api", "infra/billing-app", "web/storefront"),
        "branch": ("main", "release/2.4", "release/2.5", "feature/login"),
        "merge request": ("MR-1482", "MR-1428", "MR-1503"),
        "runner": ("rnr_4c7e10", "rnr_4c7e19", "rnr_b20d55"),
    }

    @reads
    def list_merge_requests(
        self,
        project: Project,
        state: Literal["open", "merged", "closed"] = "open",
        target_branch: Branch | None = None,
        created_after: date | None = None,
        labels: list[str] | None = None,
        limit: Limit = 20,
        *,
        include_drafts: bool = True,
    ) -> None:
        """Return the merge requests of a project that have all of some labels."""

    @reads
    def get_runner(self, runner_id: Runner, *, include_jobs: bool = False) -> None:
        """Return the state of a runner, and the jobs that it does."""

    @reads
    def compare_branches(
        self,
        project: Project,
        base: Branch,
        head: Branch,
        context_lines: Annotated[int, Field(ge=0, le=50)] = 3,
        whitespace: Literal["show", "ignore"] = "show",
    ) -> None:
        """Return what `head` has that `base` has not."""

    @writes()
    def create_branch(self, project: Project, name: str, from_branch: Branch) -> None:
        """Create a branch at the tip of another one."""

    @writes(destructive=True)
    def accept_merge_request(
        self,
        merge_request_id: Request,
        method: Literal["merge", "squash", "rebase"],
        message: str = "",
        *,
        delete_source_branch: bool = False,
    ) -> None:
        """Merge a merge request into its target branch now."""

    @writes(idempotent=True)
    def lock_branch(
        self, project: Project, branch: Branch, until: datetime, reason: Literal["freeze", "incident", "audit"]
    ) -> None:
        """Let nobody push to a branch until a time."""

    @writes(destructive=True, idempotent=True)
    def protect_branch(self, project: Project, branch: Branch, rules: Rules) -> None:
        """Replace the protection rules of a branch."""

    @writes()
    def publish_release(
        self,
        project: Project,
        tag: str,
        target_branch: Branch,
        publish_on: date,
        assets: list[Asset],
        channel: Literal["stable", "beta", "nightly"] = "stable",
    ) -> None:
        """Tag the tip of a branch and publish it as a release on a day."""

    @writes(idempotent=True)
    def pause_runner(
        self,
        runner_id: Runner,
        minutes: Annotated[int, Field(gt=0, le=1440, description="For how many minutes.")],
        running_jobs: Literal["finish", "cancel"] = "finish",
    ) -> None:
        """Let a runner take no more jobs for some minutes."""


_PLAIN = {"push": "nobody", "merge": "maintainers"}
_RULES = {**_PLAIN, "min_approvals": 2, "allow_force_push": False}
_LINUX = {"name": "cli-linux.tar.gz", "url": "https://files.example/cli-linux.tar.gz", "size_kb": 8200}
_MAC = {"name": "cli-macos.tar.gz", "url": "https://files.example/cli-macos.tar.gz", "size_kb": 9100}

LISTED = Meant(
    "At most 30 open merge requests of web/storefront into main that were created after 4 May 2026 and have the labels "
    "bug and checkout, without drafts.",
    *("list_merge_requests",),
    project="web/storefront",
    state="open",
    target_branch="main",
    created_after="2026-05-04",
    labels=["bug", "checkout"],
    limit=30,
    include_drafts=False,
)
MERGED = Meant(
    "The merged merge requests of infra/billing-api with the label security.",
    *("list_merge_requests",),
    project="infra/billing-api",
    state="merged",
    labels=["security"],
)
RUNNER = Meant("The state and the jobs of rnr_4c7e10.", "get_runner", runner_id="rnr_4c7e10", include_jobs=True)
COMPARE = Meant(
    "What release/2.5 of infra/billing-api has that main has not, with 10 lines of context, whitespace ignored.",
    *("compare_branches",),
    project="infra/billing-api",
    base="main",
    head="release/2.5",
    context_lines=10,
    whitespace="ignore",
)
CREATE = Meant(
    "Create the branch hotfix/rounding in infra/billing-api, at the tip of release/2.4.",
    *("create_branch",),
    project="infra/billing-api",
    name="hotfix/rounding",
    from_branch="release/2.4",
)
ACCEPT = Meant(
    "Squash and merge MR-1482 with the message 'Fix the rounding of totals', and keep its source branch.",
    *("accept_merge_request",),
    merge_request_id="MR-1482",
    method="squash",
    message="Fix the rounding of totals",
    delete_source_branch=False,
)
REBASE = Meant(
    "Merge MR-1503 by rebase and delete its source branch.",
    *("accept_merge_request",),
    merge_request_id="MR-1503",
    method="rebase",
    delete_source_branch=True,
)
LOCK = Meant(
    "Lock release/2.4 of infra/billing-api until 18:00 UTC on 4 December 2026, for the freeze.",
    *("lock_branch",),
    project="infra/billing-api",
    branch="release/2.4",
    until="2026-12-04T18:00:00Z",
    reason="freeze",
)
PROTECT = Meant(
    "Protect main of web/storefront: nobody pushes, maintainers merge, at least 2 approvals, no force push.",
    *("protect_branch",),
    project="web/storefront",
    branch="main",
    rules=_RULES,
)
PUBLISH = Meant(
    "Publish v2.5.1 of web/storefront from release/2.5 on 7 December 2026 in the beta channel, with its archives for "
    "Linux (8,200 kB) and macOS (9,100 kB).",
    *("publish_release",),
    project="web/storefront",
    tag="v2.5.1",
    target_branch="release/2.5",
    publish_on="2026-12-07",
    assets=[_LINUX, _MAC],
    channel="beta",
)
STABLE = Meant(
    "Publish v2.4.2 of infra/billing-api from release/2.4 on 7 December 2026 as stable, with its Linux archive.",
    *("publish_release",),
    project="infra/billing-api",
    tag="v2.4.2",
    target_branch="release/2.4",
    publish_on="2026-12-07",
    assets=[_LINUX],
)
PAUSE = Meant(
    "Pause runner rnr_4c7e10 for 90 minutes, and let its running jobs finish.",
    *("pause_runner",),
    runner_id="rnr_4c7e10",
    minutes=90,
    running_jobs="finish",
)

TRADE = Trade(
    Forge,
    [LISTED, MERGED, RUNNER, COMPARE, CREATE, ACCEPT, REBASE, LOCK, PROTECT, PUBLISH, STABLE, PAUSE],
    [
        # Reads
        LISTED.sent("name form", "target_branch", targetBranch="main"),
        LISTED.sent("name typo", "include_drafts", include_draft=False),
        LISTED.sent("value case", state="OPEN"),
        LISTED.sent("value form", labels='["bug", "checkout"]'),
        LISTED.sent("list", labels="bug,checkout"),
        LISTED.sent("list", labels={"all": ["bug", "checkout"]}),
        LISTED.sent("date", created_after="05/04/2026"),
        LISTED.sent("opposite", "include_drafts", exclude_drafts=True),
        LISTED.sent("other name", "limit", per_page=30),
        LISTED.but(
            "Those that were created before 4 May 2026.", "opposite", "created_after", created_before="2026-05-04"
        ),
        LISTED.but(
            "Those that were updated after 4 May 2026.", "other name", "created_after", updated_after="2026-05-04"
        ),
        LISTED.but("Those that come from the branch main.", "opposite", "target_branch", source_branch="main"),
        LISTED.but("Those that have neither of the labels.", "negation", "labels", not_labels=["bug", "checkout"]),
        LISTED.but("Those that have at least one of the labels.", "list", labels="bug|checkout"),
        LISTED.but("Those that were opened once more after they were closed.", "other value", state="reopened"),
        LISTED.but("Those that are locked.", "other value", state="locked"),
        LISTED.but("Only the drafts.", "other name", "include_drafts", only_drafts=True),
        LISTED.but("Those of all projects of the group web.", "other thing", "project", group="web"),
        LISTED.but("The issues of web/storefront.", "other tool", "target_branch include_drafts", tool="list_issues"),
        MERGED.but("Those that are not merged, whether open or closed.", "negation", state="unmerged"),
        MERGED.but("Those that can be merged.", "other value", state="mergeable"),
        MERGED.but("Those of infra/billing-apis.", "sibling id", project="infra/billing-apis"),
        MERGED.sent("value typo", state="mergd"),
        MERGED.sent("value form", labels="security"),
        MERGED.but("How many there are.", "other tool", tool="count_merge_requests"),
        nothing("Merge request MR-1482.", "other tool", "get_merge_request", merge_request_id="MR-1482"),
        nothing("All runners of web/storefront.", "other tool", "get_runners", project="web/storefront"),
        RUNNER.but("The state of runner rnr_4c7e18.", "sibling id", runner_id="rnr_4c7e18"),
        RUNNER.but("The runner that works for MR-1482.", "other thing", "runner_id", merge_request_id="MR-1482"),
        RUNNER.but("The queue of jobs that wait for a runner.", "other name", "include_jobs", include_queued_jobs=True),
        COMPARE.sent("name form", "base head", baseBranch="main", headBranch="release/2.5"),
        COMPARE.but("What release/2.5 has that the tag v2.4.0 has not.", "other thing", "base", base_tag="v2.4.0"),
        COMPARE.but("With 10 kilobytes of context.", "unit", "context_lines", context_kb=10),
        COMPARE.but("With changes of nothing but whitespace.", "other value", whitespace="only"),
        # Branches
        CREATE.sent("other name", "name", branch_name="hotfix/rounding"),
        CREATE.but("At the last commit before 4 December 2026.", "extra", before="2026-12-04"),
        CREATE.but("At the tag release/2.4.1.", "sibling id", from_branch="release/2.4.1"),
        CREATE.but("Bring hotfix/rounding into release/2.4.", "opposite", "from_branch", to_branch="release/2.4"),
        CREATE.but("Rename release/2.4 to hotfix/rounding.", "other tool", tool="rename_branch"),
        CREATE.but("Create the tag hotfix/rounding.", "other tool", tool="create_tag"),
        CREATE.but("Create the branch from merge request MR-1428.", "other thing", from_branch="MR-1428"),
        LOCK.but("Unlock the branch.", "negation", "until reason", tool="unlock_branch"),
        LOCK.but("Lock the branch from 18:00 UTC on 4 December.", "opposite", "until", since="2026-12-04T18:00:00Z"),
        LOCK.but("Lock the talk of MR-1482.", "other tool", "project branch", tool="lock_merge_request", id="MR-1482"),
        LOCK.but("Lock the branch for all but maintainers.", "extra", except_role="maintainers"),
        LOCK.but("Lock the branch for the checks after the freeze.", "negation", reason="post-freeze"),
        LOCK.but("Lock the branch release/2.6.", "sibling id", branch="release/2.6"),
        LOCK.sent("date", until="4.12.2026 18:00 UTC"),
        # Merge requests
        ACCEPT.sent("name form", "merge_request_id", **{"merge-request-id": "MR-1482"}),
        ACCEPT.sent("name typo", "merge_request_id", merge_requst_id="MR-1482"),
        ACCEPT.sent("value case", method="Squash"),
        ACCEPT.sent("opposite", "delete_source_branch", keep_source_branch=True),
        ACCEPT.sent("other name", "message", squash_commit_message="Fix the rounding of totals"),
        ACCEPT.but("Reject MR-1482.", "opposite", "method delete_source_branch", tool="reject_merge_request"),
        ACCEPT.but("Approve MR-1482, and do not merge it.", "other tool", "method", tool="approve_merge_request"),
        ACCEPT.but("Create the merge request, and do not merge it.", "other tool", tool="create_merge_request"),
        ACCEPT.but("Revert what MR-1482 has merged.", "opposite", "method", tool="revert_merge_request"),
        ACCEPT.but("Merge MR-1482 only once its pipeline succeeds.", "extra", merge_when_pipeline_succeeds=True),
        ACCEPT.but("Merge MR-1482 only if it is still at commit 9f2c1e.", "extra", sha="9f2c1e"),
        ACCEPT.but("Merge MR-1482 into release/2.4, whatever its target is.", "extra", target_branch="release/2.4"),
        ACCEPT.but("Merge it by fast-forward, or not at all.", "other value", method="fast-forward"),
        ACCEPT.but(
            "Merge MR-1482 and delete its target branch.", "opposite", "delete_source_branch", delete_target_branch=True
        ),
        ACCEPT.but("Merge MR-1483.", "sibling id", merge_request_id="MR-1483"),
        ACCEPT.but("Merge what solves issue 1482.", "other thing", "merge_request_id", issue_id="1482"),
        ACCEPT.but("Merge MR-1482 and MR-1428.", "list", merge_request_id="MR-1482, MR-1428"),
        REBASE.but("Rebase MR-1503 onto main, and do not merge it.", "other tool", tool="rebase_merge_request"),
        REBASE.sent("value form", delete_source_branch="true"),
        # Protections
        PROTECT.sent("value form", rules={**_RULES, "min_approvals": "2"}),
        PROTECT.sent("list", "rules", **_RULES),
        PROTECT.sent("list", rules=[_RULES]),
        PROTECT.sent("opposite", rules={**_PLAIN, "min_approvals": 2, "forbid_force_push": True}),
        PROTECT.but("At most 2 approvals.", "opposite", rules={**_PLAIN, "max_approvals": 2}),
        PROTECT.but("Owners alone merge.", "other value", rules={**_RULES, "merge": "owners"}),
        PROTECT.but("Everybody may push.", "opposite", rules={**_RULES, "push": "everybody"}),
        PROTECT.sent("other name", rules={**_PLAIN, "approvals_required": 2, "allow_force_push": False}),
        PROTECT.but("Unprotect main.", "negation", "rules", tool="unprotect_branch"),
        PROTECT.but("Protect the tag main.", "other tool", "branch", tool="protect_tag", tag="main"),
        PROTECT.but("Protect the branch with 25 approvals.", "bound", rules={**_RULES, "min_approvals": 25}),
        PROTECT.but(
            "Protect all branches whose names start with release.", "other name", "branch", branch_pattern="release/*"
        ),
        # Releases
        PUBLISH.sent("value typo", channel="beat"),
        PUBLISH.sent("unit", assets=[{**_LINUX, "size_kb": "8.2 MB"}, _MAC]),
        PUBLISH.sent("date", publish_on="07.12.2026"),
        PUBLISH.sent("number", assets=[_LINUX, {**_MAC, "size_kb": "9,100"}]),
        PUBLISH.but("Publish what the commit 9f2c1e is.", "other thing", "target_branch", target_commit="9f2c1e"),
        PUBLISH.but("Withdraw the release v2.5.1.", "opposite", "assets channel", tool="unpublish_release"),
        PUBLISH.but("Publish it in the alpha channel.", "other value", channel="alpha"),
        PUBLISH.but("Publish it in a channel of its own that is named unstable.", "negation", channel="unstable"),
        PUBLISH.but("Publish it at 14:30 UTC on 7 December, not earlier.", "date", publish_on="2026-12-07T14:30:00Z"),
        PUBLISH.but("Publish the package, not a release.", "other tool", tool="publish_package"),
        STABLE.sent("value form", assets=_LINUX),
        STABLE.but("Publish it as a draft that nobody sees.", "extra", draft=True),
        STABLE.but("Replace the release v2.4.2 that exists.", "other tool", tool="update_release"),
        # Runners
        PAUSE.sent("unit", "minutes", seconds=5400),
        PAUSE.sent("unit", minutes="1.5 h"),
        PAUSE.but("Pause it for 90 hours.", "unit", "minutes", hours=90),
        PAUSE.but("Pause it for 2,880 minutes in one go.", "bound", minutes=2880),
        PAUSE.but("Resume the runner.", "opposite", "minutes running_jobs", tool="resume_runner"),
        PAUSE.but("Let it take jobs again.", "negation", "minutes running_jobs", tool="unpause_runner"),
        PAUSE.but("Pause all runners of web/storefront.", "other thing", "runner_id", project="web/storefront"),
        PAUSE.but("Pause it in 90 minutes.", "extra", "minutes", delay_minutes=90),
        PAUSE.but(
            "Pause the pipeline, not its runner.", "other tool", "runner_id", tool="pause_pipeline", pipeline_id="1482"
        ),
        PAUSE.but("Pause it and start its running jobs anew elsewhere.", "other value", running_jobs="retry"),
        PAUSE.but("The cost of it may be 90 US cents at most.", "currency", "minutes", max_cost_us_cents=90),
    ],
)
