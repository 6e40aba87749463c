"""An energy supplier: meters, tariffs, batteries."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Meter = Annotated[str, Known("meter")]
Battery = Annotated[str, Known("battery", "handle")]
Tariff = Annotated[str, Known("tariff", "spelled")]


class Setpoint(Record):
    """How a battery is run."""

    power_kw: float = Field(gt=0, le=500)
    min_charge_percent: int = Field(ge=0, le=100)
    until_time: datetime
    is_priority: bool = False


class Energy(World):
    """Meters, tariffs and batteries of an energy supplier."""

    ids: ClassVar = {
        "meter": ("ME-70013", "ME-70031", "ME-82200"),
        "battery": ("bat-4c1", "bat-4c7"),
        "tariff": ("Green 2025", "Green 2026", "Night Saver", "Day Saver"),
    }

    @reads
    def get_consumption(
        self,
        meter_id: Meter,
        start_day: date,
        resolution: Literal["hourly", "daily", "monthly"] = "daily",
        min_load_kw: float | None = None,
        direction: Literal["import", "export"] = "import",
        *,
        estimated_only: bool = False,
    ) -> None:
        """Return what a meter measured from a day on."""

    @reads
    def compare_tariffs(
        self,
        tariff: Tariff,
        yearly_kwh: Annotated[int, Field(gt=0, le=1_000_000)],
        currency: Literal["EUR", "CHF"] = "EUR",
    ) -> None:
        """Return what others cost, compared with a tariff."""

    @reads
    def list_outages(
        self, postcode: str, status: Literal["planned", "active", "resolved"] = "active", max_age_hours: int = 24
    ) -> None:
        """Return outages of a place."""

    @writes()
    def submit_reading(
        self, meter_id: Meter, reading_kwh: Annotated[int, Field(ge=0, le=9_999_999)], read_on: date
    ) -> None:
        """Submit what a meter shows."""

    @writes(destructive=True)
    def switch_tariff(
        self,
        meter_id: Meter,
        tariff: Tariff,
        effective_from: date,
        price_cap_cents: Annotated[int, Field(gt=0, le=500)] = 40,
    ) -> None:
        """Move a meter to a tariff."""

    @writes(idempotent=True)
    def charge_battery(
        self, battery_id: Battery, setpoint: Setpoint, source: Literal["grid", "solar", "wind"] = "grid"
    ) -> None:
        """Charge a battery."""

    @writes(destructive=True)
    def disconnect_meter(
        self, meter_id: Meter, cause: Literal["request", "arrears", "hazard"], *, seal: bool = True
    ) -> None:
        """Disconnect a meter."""

    @writes(idempotent=True)
    def limit_load(
        self,
        meter_ids: list[str],
        max_load_kw: Annotated[float, Field(gt=0, le=100)],
        duration_hours: Annotated[int, Field(ge=1, le=48)] = 2,
    ) -> None:
        """Limit the load of meters, each to as much."""


_SET = {"power_kw": 11.0, "min_charge_percent": 20, "until_time": "2026-11-05T06:00:00Z", "is_priority": True}
CONSUMED = Meant(
    "What ME-70013 exported each hour from 3 August 2026 on, with at least 2.5 kW, estimates only.",
    *("get_consumption",),
    meter_id="ME-70013",
    start_day="2026-08-03",
    resolution="hourly",
    min_load_kw=2.5,
    direction="export",
    estimated_only=True,
)
COMPARE = Meant(
    "What others than Night Saver cost in francs for 3,500 kWh a year.",
    "compare_tariffs",
    tariff="Night Saver",
    yearly_kwh=3500,
    currency="CHF",
)
GREEN = Meant(
    "What others than Green 2026 cost in euros for 4,200 kWh a year.",
    "compare_tariffs",
    tariff="Green 2026",
    yearly_kwh=4200,
    currency="EUR",
)
OUTAGES = Meant(
    "Planned outages in 10115, not older than 48 hours.",
    "list_outages",
    postcode="10115",
    status="planned",
    max_age_hours=48,
)
READING = Meant(
    "ME-70031 shows 18,250 kWh on 1 December 2026.",
    "submit_reading",
    meter_id="ME-70031",
    reading_kwh=18_250,
    read_on="2026-12-01",
)
SWITCH = Meant(
    "Move ME-82200 to Day Saver from 2 January 2027 on, for 35 cents at most.",
    *("switch_tariff",),
    meter_id="ME-82200",
    tariff="Day Saver",
    effective_from="2027-01-02",
    price_cap_cents=35,
)
CHARGE = Meant(
    "Charge bat-4c1 with 11 kW of solar power to at least 20 percent until 5 November 2026, 6:00 UTC, with priority.",
    *("charge_battery",),
    battery_id="bat-4c1",
    setpoint=_SET,
    source="solar",
)
CUT = Meant(
    "Disconnect ME-70013 because of a hazard, without a seal.",
    "disconnect_meter",
    meter_id="ME-70013",
    cause="hazard",
    seal=False,
)
LIMIT = Meant(
    "Limit ME-70013 and ME-70031 to 4.2 kW each for 3 hours.",
    "limit_load",
    meter_ids=["ME-70013", "ME-70031"],
    max_load_kw=4.2,
    duration_hours=3,
)
LIMIT_ONE = Meant(
    "Limit ME-82200 to 6 kW for 2 hours.", "limit_load", meter_ids=["ME-82200"], max_load_kw=6.0, duration_hours=2
)

TRADE = Trade(
    Energy,
    [CONSUMED, COMPARE, GREEN, OUTAGES, READING, SWITCH, CHARGE, CUT, LIMIT, LIMIT_ONE],
    [
        CONSUMED.but("Until 3 August.", "opposite", "start_day", end_day="2026-08-03"),
        CONSUMED.but("At most 2.5 kW.", "opposite", "min_load_kw", max_load_kw=2.5),
        CONSUMED.but("At least 2.5 kWh.", "unit", "min_load_kw", min_load_kwh=2.5),
        CONSUMED.but("At least 2.5 kWh.", "unit", min_load_kw="2.5 kWh"),
        CONSUMED.but("At least 2.5 kVA.", "unit", min_load_kw="2.5 kVA"),
        CONSUMED.but("Bimonthly.", "other value", resolution="bimonthly"),
        CONSUMED.but("Half-hourly.", "other value", resolution="half-hourly"),
        CONSUMED.but("Re-exported power.", "negation", direction="reexport"),
        CONSUMED.but("What was not estimated.", "negation", "estimated_only", unestimated_only=True),
        CONSUMED.but("The presumption, a score.", "other tool", tool="get_presumption"),
        CONSUMED.but("What the battery took.", "other thing", "meter_id", battery_id="bat-4c1"),
        COMPARE.but("Midnight Saver, another tariff.", "other value", tariff="Midnight Saver"),
        COMPARE.but("In Swedish kronor.", "currency", currency="SEK"),
        COMPARE.but("3,500 MWh.", "unit", "yearly_kwh", yearly_mwh=3500),
        COMPARE.but("3,500 kWh a month.", "other name", "yearly_kwh", monthly_kwh=3500),
        COMPARE.but("3,500 kW.", "unit", yearly_kwh="3500 kW"),
        GREEN.but("Green 2024.", "sibling id", tariff="Green 2024"),
        GREEN.but("Evergreen 2026.", "other value", tariff="Evergreen 2026"),
        OUTAGES.but("Unplanned ones.", "negation", status="unplanned"),
        OUTAGES.but("Inactive ones.", "negation", status="inactive"),
        OUTAGES.but("Unresolved ones.", "negation", status="unresolved"),
        OUTAGES.but("Older than 48 hours.", "opposite", "max_age_hours", min_age_hours=48),
        OUTAGES.sent("unit", "max_age_hours", max_age_days=2),
        OUTAGES.sent("unit", max_age_hours="2 days"),
        OUTAGES.but("All but 10115.", "negation", "postcode", not_postcode="10115"),
        OUTAGES.but("The outputs of the place.", "other tool", tool="list_outputs"),
        READING.but("18,250 kWh since the last time.", "other name", "reading_kwh", delta_kwh=18_250),
        READING.but("18,250 Wh.", "unit", "reading_kwh", reading_wh=18_250),
        READING.but("18,250 Wh.", "unit", reading_kwh="18250 Wh"),
        READING.but("18,250 cubic metres.", "unit", reading_kwh="18250 m3"),
        READING.sent("number", reading_kwh="18 250"),
        READING.but("Retract the reading.", "opposite", tool="retract_reading"),
        READING.but("It is to be read on the next day.", "other name", "read_on", next_read_on="2026-12-01"),
        SWITCH.but("From Day Saver.", "opposite", "tariff", from_tariff="Day Saver"),
        SWITCH.but("Until 2 January.", "opposite", "effective_from", effective_to="2027-01-02"),
        SWITCH.but("35 cents at least.", "opposite", "price_cap_cents", price_floor_cents=35),
        SWITCH.but("35 US cents.", "currency", price_cap_cents="35 US cents"),
        SWITCH.but("Sunday Saver, another tariff.", "other value", tariff="Sunday Saver"),
        SWITCH.but("Pay Saver, another tariff.", "other value", tariff="Pay Saver"),
        SWITCH.but("Switch the tariff's lamp.", "other tool", tool="switch_tariffs_lamp"),
        CHARGE.but("Discharge it.", "negation", tool="discharge_battery"),
        CHARGE.but(
            "At most 20 percent.",
            "opposite",
            setpoint={"power_kw": 11.0, "max_charge_percent": 20, "until_time": "2026-11-05T06:00:00Z"},
        ),
        CHARGE.but(
            "From 5 November on.",
            "opposite",
            setpoint={"power_kw": 11.0, "min_charge_percent": 20, "from_time": "2026-11-05T06:00:00Z"},
        ),
        CHARGE.but("11 kWh.", "unit", setpoint={**_SET, "power_kw": "11 kWh"}),
        CHARGE.but("11 amperes.", "unit", setpoint={**_SET, "power_kw": "11 A"}),
        CHARGE.but("Nonsolar.", "negation", source="nonsolar"),
        CHARGE.but("Lunar.", "other value", source="lunar"),
        CHARGE.but("Off-grid.", "negation", source="off-grid"),
        CHARGE.but("It is the target, not the source.", "opposite", "source", target="solar"),
        CUT.but("Reconnect it.", "negation", tool="reconnect_meter"),
        CUT.but("Connect it.", "opposite", tool="connect_meter"),
        CUT.but("Without a request.", "negation", cause="unrequested"),
        CUT.but("Break the old seal.", "other name", "seal", break_seal=True),
        CUT.but("For an hour only.", "extra", hours=1),
        LIMIT.sent("list", meter_ids="ME-70013 and ME-70031"),
        LIMIT.but("4.2 kW in all.", "other name", "max_load_kw", total_load_kw=4.2),
        LIMIT.but("At least 4.2 kW.", "opposite", "max_load_kw", min_load_kw=4.2),
        LIMIT.but("In 3 hours.", "other name", "duration_hours", delay_hours=3),
        LIMIT.but("Unlimit them.", "negation", tool="unlimit_load"),
        nothing("Limit what bat-4c1 feeds.", "other thing", "limit_load", battery_id="bat-4c1", max_load_kw=5.0),
        LIMIT_ONE.but("6 kW of reactive power.", "unit", max_load_kw="6 kvar"),
    ],
)
