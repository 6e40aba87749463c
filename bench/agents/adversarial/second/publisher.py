"""A publisher of podcasts and music: episodes, schedules, royalties."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Episode = Annotated[str, Known("episode", "handle")]
Show = Annotated[str, Known("show", "spelled")]
Work = Annotated[str, Known("work")]
Limit = Annotated[int, Field(ge=1, le=50)]
Right = Literal["mechanical", "performing", "synchronisation", "all"]


class Share(Record):
    """What one payee gets of a royalty."""

    payee_id: str
    percent: float
    role: str = "writer"


class Sponsor(Record):
    """Who pays for a spot."""

    name: str
    contact_email: str


class Publisher(World):
    """Episodes of shows, and royalties of musical works; amounts are euro cents."""

    ids: ClassVar = {
        "episode": ("ep_40c7a1", "ep_40c7a9"),
        "show": ("Night Trains", "Night Rains", "Deep Field"),
        "work": ("T-034.524.680-1", "T-034.524.608-1"),
        "payee": ("PY-7715", "PY-7751"),
    }

    @reads
    def get_episode(self, episode_id: Episode, *, include_transcript: bool = False) -> None:
        """Return title, length and state of an episode."""

    @reads
    def list_episodes(
        self,
        show: Show,
        status: Literal["draft", "scheduled", "published", "any"] = "published",
        published_after: date | None = None,
        min_plays: int | None = None,
        max_duration_seconds: int | None = None,
        limit: Limit = 10,
        sort_by: Literal["newest", "oldest", "plays"] = "newest",
        *,
        include_bonus: bool = True,
    ) -> None:
        """Return the episodes of a show; at most 50, and there is no second page."""

    @reads
    def get_royalties(
        self,
        work_id: Work,
        from_month: Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")],
        right: Right = "all",
        basis: Literal["gross", "net"] = "net",
    ) -> None:
        """Return what a work earned since a month like `2026-05`."""

    @writes(destructive=True)
    def publish_episode(
        self,
        episode_id: Episode,
        publish_at: datetime,
        audience: Literal["public", "subscribers"] = "public",
        *,
        explicit: bool,
    ) -> None:
        """Publish an episode at a moment, for good: feeds keep what they have fetched."""

    @writes(destructive=True)
    def trim_audio(
        self,
        episode_id: Episode,
        start_ms: Annotated[int, Field(ge=0)],
        end_ms: Annotated[int, Field(ge=0)],
        fade: Literal["in", "out", "both", "none"] = "none",
    ) -> None:
        """Keep the audio from start to end, and delete what is outside."""

    @writes()
    def sell_spot(
        self,
        episode_id: Episode,
        sponsor: Sponsor,
        position: Literal["pre_roll", "mid_roll", "post_roll"],
        duration_seconds: Annotated[int, Field(ge=5, le=90)],
        price_cents: Annotated[int, Field(gt=0, le=2_000_000, description="In euro cents.")],
    ) -> None:
        """Sell a spot in an episode to a sponsor."""

    @writes(destructive=True, idempotent=True)
    def set_splits(self, work_id: Work, shares: list[Share], effective_from: date) -> None:
        """Replace all shares in the royalties of a work."""

    @writes()
    def pay_advance(
        self,
        payee_id: Annotated[str, Known("payee")],
        amount_cents: Annotated[int, Field(gt=0, le=1_000_000, description="In euro cents.")],
        pay_on: date,
        *,
        recoupable: bool = True,
    ) -> None:
        """Pay an advance to a payee."""

    @writes(destructive=True, idempotent=True)
    def mute_tracks(self, episode_id: Episode, tracks: list[Literal["host", "guest", "music", "effects"]]) -> None:
        """Silence tracks of an episode for good."""


_ACME = {"name": "Acme Tea", "contact_email": "ads@acme.example"}
_WRITER = {"payee_id": "PY-7715", "percent": 62.5, "role": "writer"}
_SINGER = {"payee_id": "PY-7751", "percent": 37.5, "role": "arranger"}
EPISODE = Meant(
    "Episode ep_40c7a1 with its transcript.", "get_episode", episode_id="ep_40c7a1", include_transcript=True
)
LISTED = Meant(
    "The 25 most played published episodes of Night Trains, published after 1 October 2026, played at least 2,000 "
    "times, of at most 45 minutes, with bonus episodes.",
    *("list_episodes",),
    show="Night Trains",
    status="published",
    published_after="2026-10-01",
    min_plays=2000,
    max_duration_seconds=2700,
    limit=25,
    sort_by="plays",
    include_bonus=True,
)
EARNED = Meant(
    "What T-034.524.680-1 has earned net since May 2026 from mechanical rights.",
    *("get_royalties",),
    work_id="T-034.524.680-1",
    from_month="2026-05",
    right="mechanical",
    basis="net",
)
PUBLISH = Meant(
    "Publish ep_40c7a9 for subscribers on 2 October 2026 at 05:00 UTC, marked as not explicit.",
    *("publish_episode",),
    episode_id="ep_40c7a9",
    publish_at="2026-10-02T05:00:00Z",
    audience="subscribers",
    explicit=False,
)
TRIM = Meant(
    "Keep of ep_40c7a1 what is between 12.5 seconds and 30 minutes, with a fade out.",
    *("trim_audio",),
    episode_id="ep_40c7a1",
    start_ms=12_500,
    end_ms=1_800_000,
    fade="out",
)
SPOT = Meant(
    "Sell Acme Tea (ads@acme.example) a spot of 30 seconds in the middle of ep_40c7a1 for 450 euros.",
    *("sell_spot",),
    episode_id="ep_40c7a1",
    sponsor=_ACME,
    position="mid_roll",
    duration_seconds=30,
    price_cents=45_000,
)
SPLITS = Meant(
    "Let PY-7715 have 62.5 percent as writer and PY-7751 37.5 percent as arranger of T-034.524.680-1 from 1 July 2026.",
    *("set_splits",),
    work_id="T-034.524.680-1",
    shares=[_WRITER, _SINGER],
    effective_from="2026-07-01",
)
ADVANCE = Meant(
    "Pay PY-7751 an advance of 2,500 euros on 7 December 2026, which is not recoupable.",
    *("pay_advance",),
    payee_id="PY-7751",
    amount_cents=250_000,
    pay_on="2026-12-07",
    recoupable=False,
)
MUTE = Meant(
    "Silence music and effects in ep_40c7a1.",
    *("mute_tracks",),
    episode_id="ep_40c7a1",
    tracks=["music", "effects"],
)
TALK = Meant(
    "Silence host and guest in ep_40c7a1, and leave music and effects as they are.",
    *("mute_tracks",),
    episode_id="ep_40c7a1",
    tracks=["host", "guest"],
)
GUEST = Meant("Silence the guest in ep_40c7a9.", "mute_tracks", episode_id="ep_40c7a9", tracks=["guest"])

TRADE = Trade(
    Publisher,
    [EPISODE, LISTED, EARNED, PUBLISH, TRIM, SPOT, SPLITS, ADVANCE, MUTE, TALK, GUEST],
    [
        EPISODE.sent("name form", "episode_id", episodeId="ep_40c7a1"),
        EPISODE.sent("name form", tool="getEpisode"),
        EPISODE.sent("value form", include_transcript="true"),
        EPISODE.sent("list", episode_id=["ep_40c7a1"]),
        EPISODE.sent("negation", "include_transcript", exclude_transcript=False),
        EPISODE.but("Episode ep_40c7a4.", "sibling id", episode_id="ep_40c7a4"),
        EPISODE.but(
            "The episode that was made of the work T-034.524.680-1.", "other thing", episode_id="T-034.524.680-1"
        ),
        EPISODE.but("The third episode of Deep Field.", "other thing", "episode_id", show="Deep Field", number=3),
        EPISODE.but(
            "The episodes ep_40c7a1 and ep_40c7a9 in one answer.",
            *("other tool", "episode_id"),
            tool="get_episodes",
            episode_ids=["ep_40c7a1", "ep_40c7a9"],
        ),
        EPISODE.but("How often ep_40c7a1 was played on each day.", "other tool", tool="get_episode_plays"),
        EPISODE.but("The transcript translated into Spanish.", "extra", transcript_language="es"),
        EPISODE.but("The episode with its chapters.", "other name", "include_transcript", include_chapters=True),
        nothing("Who presents Night Trains, and since when.", "other tool", "get_show", show="Night Trains"),
        LISTED.sent("name typo", "max_duration_seconds", max_duraton_seconds=2700),
        LISTED.sent("name form", "published_after", publishedAfter="2026-10-01"),
        LISTED.sent("value case", show="night trains"),
        LISTED.sent("value case", status="Published"),
        LISTED.sent("value typo", status="publshed"),
        LISTED.sent("value form", limit="25"),
        LISTED.sent("unit", "max_duration_seconds", max_duration_minutes=45),
        LISTED.sent("unit", max_duration_seconds="45 min"),
        LISTED.sent("unit", max_duration_seconds="00:45:00"),
        LISTED.sent("number", min_plays="2k"),
        LISTED.sent("number", min_plays="2,000"),
        LISTED.sent("number", min_plays="2.000"),
        LISTED.sent("date", published_after="01.10.2026"),
        LISTED.sent("date", published_after="October 1, 2026"),
        LISTED.sent("negation", "include_bonus", exclude_bonus=False),
        LISTED.sent("negation", "include_bonus", no_bonus=False),
        LISTED.but("Published after 17:00 on 1 October.", "date", published_after="2026-10-01T17:00:00Z"),
        LISTED.but("Published before 1 October.", "opposite", "published_after", published_before="2026-10-01"),
        LISTED.but("Recorded after 1 October.", "other name", "published_after", recorded_after="2026-10-01"),
        LISTED.but("Played at most 2,000 times.", "opposite", "min_plays", max_plays=2000),
        LISTED.but("Of at least 45 minutes.", "opposite", "max_duration_seconds", min_duration_seconds=2700),
        LISTED.but("Downloaded at least 2,000 times, played or not.", "other name", "min_plays", min_downloads=2000),
        LISTED.but("Episodes that were unpublished again.", "negation", status="unpublished"),
        LISTED.but("Episodes that were taken off the schedule.", "negation", status="unscheduled"),
        LISTED.but("Episodes that were republished.", "other value", status="republished"),
        LISTED.but("The fewest plays first.", "opposite", sort_by="fewest_plays"),
        LISTED.but("Ordered by the players used, by name.", "other value", sort_by="players"),
        LISTED.but("Bonus episodes and no others.", "other name", "include_bonus", only_bonus=True),
        LISTED.but("Episodes of Night Drains.", "sibling id", show="Night Drains"),
        LISTED.but(
            "Episodes of all shows in which T-034.524.608-1 is heard.", "other thing", "show", work_id="T-034.524.608-1"
        ),
        LISTED.but(
            "Episodes of Night Trains and Night Rains, merged into one list.",
            "list",
            show=["Night Trains", "Night Rains"],
        ),
        LISTED.but("The 25 after the first 50.", "extra", offset=50),
        LISTED.but(
            "All episodes of all the publisher's shows in one list.", "other tool", "show", tool="list_all_episodes"
        ),
        EARNED.sent("date", from_month="May 2026"),
        EARNED.sent("value case", right="MECHANICAL"),
        EARNED.sent("value typo", right="mechnical"),
        EARNED.but("What it earned until May 2026.", "opposite", "from_month", to_month="2026-05"),
        EARNED.but("What it earned since the second week of May.", "other name", "from_month", from_week="2026-W19"),
        EARNED.but("What it earned from neighbouring rights.", "other value", right="neighbouring"),
        EARNED.but("What it earned from print rights.", "other value", right="print"),
        EARNED.but("What it earned from all but mechanical rights.", "negation", right="non-mechanical"),
        EARNED.but("What it will earn by the forecast.", "other value", basis="forecast"),
        EARNED.but("What it earned in US dollars.", "currency", currency="USD"),
        EARNED.but("What PY-7715 earned with all works.", "other thing", "work_id", payee_id="PY-7715"),
        EARNED.but("What T-034.524.681-1 earned.", "sibling id", work_id="T-034.524.681-1"),
        EARNED.but("Whose royalties of the work are unclaimed.", "negation", tool="get_unclaimed_royalties"),
        EARNED.but("Pay out what the work earned.", "other tool", tool="pay_royalties"),
        EARNED.but("How the royalties are split.", "other tool", "from_month right basis", tool="get_splits"),
        PUBLISH.sent("value form", explicit="false"),
        PUBLISH.sent("negation", "explicit", not_explicit=True),
        PUBLISH.sent("negation", "explicit", clean=True),
        PUBLISH.sent("date", publish_at="02/10/2026 05:00 UTC"),
        PUBLISH.sent("date", publish_at="2 October 2026, 5 am UTC"),
        PUBLISH.but("Take ep_40c7a9, which is published, off the feeds.", "negation", tool="unpublish_episode"),
        PUBLISH.but(
            "Publish it at some hour before then, at the latest.",
            "other name",
            "publish_at",
            publish_before="2026-10-02T05:00:00Z",
        ),
        PUBLISH.but(
            "Publish now and take it off at that time.", "opposite", "publish_at", unpublish_at="2026-10-02T05:00:00Z"
        ),
        PUBLISH.but("Publish it for former subscribers, who have left.", "negation", audience="unsubscribers"),
        PUBLISH.but("Publish it for subscribers that do not pay.", "other value", audience="free_subscribers"),
        PUBLISH.but("Publish it for nobody but the editors: privately.", "opposite", audience="private"),
        PUBLISH.but(
            "Publish all episodes of the show.", "other tool", "episode_id", tool="publish_show", show="Night Rains"
        ),
        PUBLISH.but("Publish it in Germany and Austria only.", "extra", countries=["DE", "AT"]),
        PUBLISH.but("Show how it would look, and do not publish.", "extra", preview=True),
        PUBLISH.but("Publish what was cut from it.", "other tool", tool="publish_outtakes"),
        PUBLISH.but("Publish Night Rains itself as a new show.", "other thing", episode_id="Night Rains"),
        TRIM.sent("unit", "start_ms end_ms", start_seconds=12.5, end_seconds=1800),
        TRIM.sent("unit", start_ms="12.5s", end_ms="30min"),
        TRIM.sent("unit", start_ms="00:00:12.500", end_ms="00:30:00.000"),
        TRIM.sent("unit", "end_ms", end_minutes=30),
        TRIM.sent("number", end_ms="1,800,000"),
        TRIM.but(
            "Delete what is between the two moments.",
            "opposite",
            "start_ms end_ms",
            cut_from_ms=12_500,
            cut_to_ms=1_800_000,
        ),
        TRIM.but("Bring back what was deleted.", "negation", tool="untrim_audio"),
        TRIM.but("Trim the video.", "other tool", tool="trim_video"),
        TRIM.but("Fade into the next episode.", "other value", fade="cross"),
        TRIM.but("Cut to another file, and keep the whole as it is.", "extra", output_episode="copy"),
        TRIM.but("Keep the last 10 seconds.", "bound", start_ms=-10_000, end_ms=-1),
        SPOT.sent("unit", "price_cents", price_eur=450),
        SPOT.sent("unit", price_cents="450 EUR"),
        SPOT.sent("unit", price_cents="450.00"),
        SPOT.sent("unit", duration_seconds="0:30"),
        SPOT.sent("list", sponsor=[_ACME]),
        SPOT.sent("value case", position="MID_ROLL"),
        SPOT.sent("value form", sponsor='{"name": "Acme Tea", "contact_email": "ads@acme.example"}'),
        SPOT.but("The price is 450 dollars.", "currency", "price_cents", price_usd=450),
        SPOT.but("The price is 45,000 British pence.", "currency", "price_cents", price_pence=45_000),
        SPOT.but("The price is 450 euros for each 1,000 plays.", "other name", "price_cents", cpm_cents=45_000),
        SPOT.but("450 euros are what is paid at least.", "other name", "price_cents", min_price_cents=45_000),
        SPOT.but("Buy a spot for ep_40c7a1 from Acme Tea.", "opposite", tool="buy_spot"),
        SPOT.but("The spot lasts 300 seconds.", "bound", duration_seconds=300),
        SPOT.but("The price is nothing.", "bound", price_cents=0),
        SPOT.but("The spot is on the cover picture.", "other value", position="cover"),
        SPOT.but("The spot is on B-roll.", "other value", position="b_roll"),
        SPOT.but("Acme Tea must not be named.", "negation", "sponsor", anonymous_sponsor=_ACME),
        SPOT.but("Sell the spot to anybody but Acme Tea.", "negation", "sponsor", excluded_sponsor=_ACME),
        SPLITS.sent("number", shares=[{**_WRITER, "percent": "62,5"}, _SINGER]),
        SPLITS.sent("unit", shares=[{**_WRITER, "percent": "62.5%"}, {**_SINGER, "percent": "37.5%"}]),
        SPLITS.sent(
            "unit",
            shares=[
                {"payee_id": "PY-7715", "fraction": 0.625, "role": "writer"},
                {"payee_id": "PY-7751", "fraction": 0.375, "role": "arranger"},
            ],
        ),
        SPLITS.sent("list", shares={"PY-7715": _WRITER, "PY-7751": _SINGER}),
        SPLITS.sent("date", effective_from="01/07/2026"),
        SPLITS.but("The shares end on 1 July.", "opposite", "effective_from", effective_until="2026-07-01"),
        SPLITS.but(
            "Add these shares to those that there are.", "other name", "shares", additional_shares=[_WRITER, _SINGER]
        ),
        SPLITS.but("Take these shares away.", "opposite", "shares", removed_shares=[_WRITER, _SINGER]),
        SPLITS.but("Take away what was set, so that the former shares are valid.", "negation", tool="unset_splits"),
        SPLITS.but("They are valid for income of one quarter.", "extra", quarter="2026-Q3"),
        SPLITS.but("The shares of ep_40c7a1 in advertising.", "other thing", work_id="ep_40c7a1"),
        ADVANCE.sent("unit", "amount_cents", amount_eur=2500),
        ADVANCE.sent("unit", amount_cents="2500 EUR"),
        ADVANCE.sent("unit", amount_cents="€2,500.00"),
        ADVANCE.sent("negation", "recoupable", non_recoupable=True),
        ADVANCE.sent("negation", "recoupable", nonrecoupable=True),
        ADVANCE.sent("date", pay_on="07.12.2026"),
        ADVANCE.sent("date", pay_on="7 Dec 2026"),
        ADVANCE.but("Pay 2,500 Swiss francs.", "currency", amount_cents="2500 CHF"),
        ADVANCE.but("Pay 20,000 euros at once.", "bound", amount_cents=2_000_000),
        ADVANCE.but("Collect 2,500 euros from PY-7751.", "opposite", "amount_cents", amount_cents=-250_000),
        ADVANCE.but("Pay PY-7757.", "sibling id", payee_id="PY-7757"),
        ADVANCE.but("Pay whoever wrote T-034.524.680-1.", "other thing", "payee_id", work_id="T-034.524.680-1"),
        ADVANCE.but("Get an unearned advance back.", "opposite", tool="recoup_advance"),
        ADVANCE.but("Pay it on the 7th of each month.", "extra", repeat="monthly"),
        MUTE.sent("list", tracks="music,effects"),
        MUTE.sent("list", tracks="music and effects"),
        MUTE.sent("value form", tracks='["music", "effects"]'),
        MUTE.sent("list", tracks=[{"name": "music"}, {"name": "effects"}]),
        MUTE.but("Make music and effects heard again.", "negation", tool="unmute_tracks"),
        TALK.sent("negation", "tracks", keep_tracks=["music", "effects"]),
        TALK.sent("negation", "tracks", exclude_tracks=["music", "effects"]),
        MUTE.but("Silence them between 10 and 20 seconds only.", "extra", start_ms=10_000, end_ms=20_000),
        GUEST.sent("value form", tracks="guest"),
        GUEST.but("Silence the voice of the ghost in the play.", "other value", tracks=["ghost"]),
        GUEST.but("Silence the second guest alone.", "sibling id", tracks=["guest_2"]),
        GUEST.but("Block the guest's account.", "other tool", "episode_id tracks", tool="mute_guest", guest="G-17"),
        LISTED.sent("other name", "limit", max_results=25),
        LISTED.sent("other name", "sort_by", order_by="plays"),
        LISTED.sent("other name", "show", podcast="Night Trains"),
        LISTED.sent("other name", "min_plays", min_play_count=2000),
        SPOT.sent("other name", "sponsor", advertiser=_ACME),
        SPOT.sent("other value", position="middle"),
        SPLITS.sent(
            "name form",
            shares=[
                {"payeeId": "PY-7715", "percent": 62.5, "role": "writer"},
                {"payeeId": "PY-7751", "percent": 37.5, "role": "arranger"},
            ],
        ),
        ADVANCE.sent("other name", "pay_on", payment_date="2026-12-07"),
    ],
)
