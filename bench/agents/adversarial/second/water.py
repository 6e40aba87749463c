"""A water utility: valves, pumps, pressure zones, meters, work orders."""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Valve = Annotated[str, Known("valve")]
Pump = Annotated[str, Known("pump")]
Meter = Annotated[str, Known("meter")]
Zone = Annotated[str, Known("pressure zone", "spelled")]
Turns = Annotated[float, Field(gt=0, le=60, description="Turns of the spindle, from where it is now.")]
Ramp = Annotated[int, Field(ge=0, le=240, description="Over how many minutes.")]


class Task(Record):
    """One thing to do in a work order."""

    action: Literal["inspect", "repair", "replace", "flush"]
    crew_size: int
    hours: float


class Shutdown(Record):
    """When customers have no water because of the work."""

    starts_at: datetime
    ends_at: datetime
    max_customers: int


class WaterUtility(World):
    """Valves, pumps, pressure zones, meters and work orders of a water network."""

    ids: ClassVar = {
        "valve": ("V-3071", "V-3017", "V-3107"),
        "pump": ("PU-12", "PU-21", "PU-22"),
        "pressure zone": ("Hilltop High", "Hilltop Low", "Riverside"),
        "meter": ("660412", "660421", "664012"),
        "work order": ("WO-8812", "WO-8821"),
    }

    @reads
    def get_readings(
        self,
        meter_id: Meter,
        from_date: date,
        to_date: date,
        interval: Literal["hour", "day", "month"] = "day",
        *,
        include_estimated: bool = True,
    ) -> None:
        """Return the consumption of a meter in cubic metres, both days included."""

    @reads
    def get_zone_pressure(self, zone: Zone, at: datetime, statistic: Literal["min", "mean", "max"] = "mean") -> None:
        """Return the pressure over all sensors of a zone at a time, in bar."""

    @reads
    def list_work_orders(
        self,
        zone: Zone,
        status: Literal["planned", "active", "done"] = "planned",
        due_before: date | None = None,
        actions: list[str] | None = None,
        min_crew_size: int | None = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 50,
        order: Literal["due", "created", "zone_street"] = "due",
    ) -> None:
        """Return the work orders of a zone that have one of some actions."""

    @writes()
    def open_valve(self, valve_id: Valve, turns: Turns, ramp_minutes: Ramp = 0) -> None:
        """Open a valve by some turns."""

    @writes(destructive=True)
    def close_valve(self, valve_id: Valve, turns: Turns, ramp_minutes: Ramp = 0) -> None:
        """Close a valve by some turns."""

    @writes()
    def start_pump(
        self,
        pump_id: Pump,
        speed_rpm: Annotated[int, Field(ge=300, le=2900)],
        run_minutes: Annotated[int, Field(gt=0, le=720)],
        direction: Literal["forward", "reverse"] = "forward",
    ) -> None:
        """Start a pump now at a speed; it stops by itself after some minutes."""

    @writes(destructive=True, idempotent=True)
    def set_zone_pressure(
        self,
        zone: Zone,
        target_bar: Annotated[float, Field(ge=1, le=8)],
        from_time: datetime,
        tolerance_bar: float = 0.2,
        *,
        alert_on_drop: bool = True,
    ) -> None:
        """Set which pressure is kept in a zone from a time on."""

    @writes()
    def create_work_order(
        self,
        valve_id: Valve,
        due: date,
        tasks: list[Task],
        shutdown: Shutdown | None = None,
        priority: Literal["low", "normal", "urgent"] = "normal",
    ) -> None:
        """Plan work on a valve."""

    @writes(destructive=True, idempotent=True)
    def disconnect_meter(
        self,
        meter_id: Meter,
        reason: Literal["arrears", "vacancy", "leak"],
        notice_days: Annotated[int, Field(ge=0, le=60)] = 14,
    ) -> None:
        """Cut the water of a customer off after a notice."""


_INSPECT = {"action": "inspect", "crew_size": 2, "hours": 1.5}
_REPLACE = {"action": "replace", "crew_size": 4, "hours": 6.0}
_TIMES = {"starts_at": "2026-12-09T22:00:00Z", "ends_at": "2026-12-10T04:00:00Z"}
_SHUTDOWN = {**_TIMES, "max_customers": 140}

READINGS = Meant(
    "The consumption of meter 660412 by hour, from 3 to 5 November 2026, both included, without estimated values.",
    *("get_readings",),
    meter_id="660412",
    from_date="2026-11-03",
    to_date="2026-11-05",
    interval="hour",
    include_estimated=False,
)
PRESSURE = Meant(
    "The lowest pressure in Hilltop High at 06:00 UTC on 4 November 2026.",
    *("get_zone_pressure",),
    zone="Hilltop High",
    at="2026-11-04T06:00:00Z",
    statistic="min",
)
ORDERS = Meant(
    "The first 40 active work orders of Riverside that are due before 9 December 2026, with repairs or flushing, for "
    "crews of at least 3, by the day on which they are due.",
    *("list_work_orders",),
    zone="Riverside",
    status="active",
    due_before="2026-12-09",
    actions=["repair", "flush"],
    min_crew_size=3,
    limit=40,
    order="due",
)
DONE = Meant(
    "The done work orders of Hilltop Low with replacements.",
    *("list_work_orders",),
    zone="Hilltop Low",
    status="done",
    actions=["replace"],
)
OPEN = Meant("Open V-3071 by 12 turns over 30 minutes.", "open_valve", valve_id="V-3071", turns=12.0, ramp_minutes=30)
CLOSE = Meant(
    "Close V-3017 by 8.5 turns over 45 minutes.", "close_valve", valve_id="V-3017", turns=8.5, ramp_minutes=45
)
START = Meant(
    "Start PU-12 now at 1,450 revolutions per minute for 90 minutes, forward.",
    *("start_pump",),
    pump_id="PU-12",
    speed_rpm=1450,
    run_minutes=90,
    direction="forward",
)
SET = Meant(
    "Keep 4.5 bar in Hilltop High from 22:00 UTC on 9 December 2026, within 0.3 bar, and raise no alert when it drops.",
    *("set_zone_pressure",),
    zone="Hilltop High",
    target_bar=4.5,
    from_time="2026-12-09T22:00:00Z",
    tolerance_bar=0.3,
    alert_on_drop=False,
)
PLAN = Meant(
    "Plan urgent work on V-3107, due on 10 December 2026: two people inspect it for 1.5 hours and four replace it in 6 "
    "hours. At most 140 customers have no water from 22:00 UTC on 9 December until 04:00 UTC on 10 December 2026.",
    *("create_work_order",),
    valve_id="V-3107",
    due="2026-12-10",
    tasks=[_INSPECT, _REPLACE],
    shutdown=_SHUTDOWN,
    priority="urgent",
)
LOOK = Meant(
    "Plan work of low priority on V-3017, due on 10 December 2026: two people inspect it for 1.5 hours.",
    *("create_work_order",),
    valve_id="V-3017",
    due="2026-12-10",
    tasks=[_INSPECT],
    priority="low",
)
CUT = Meant(
    "Disconnect meter 660421 after 28 days of notice because of arrears.",
    *("disconnect_meter",),
    meter_id="660421",
    reason="arrears",
    notice_days=28,
)

TRADE = Trade(
    WaterUtility,
    [READINGS, PRESSURE, ORDERS, DONE, OPEN, CLOSE, START, SET, PLAN, LOOK, CUT],
    [
        # Meters
        READINGS.sent("name form", "from_date to_date", fromDate="2026-11-03", toDate="2026-11-05"),
        READINGS.sent("name typo", "include_estimated", include_estimate=False),
        READINGS.sent("value typo", interval="hours"),
        READINGS.sent("value case", interval="HOUR"),
        READINGS.sent("value form", meter_id=660412),
        READINGS.sent("other name", "from_date to_date", start_date="2026-11-03", end_date="2026-11-05"),
        READINGS.sent("opposite", "include_estimated", exclude_estimated=True),
        READINGS.sent("opposite", "include_estimated", measured_only=True),
        READINGS.sent("date", from_date="03.11.2026", to_date="05.11.2026"),
        READINGS.sent("list", "from_date to_date", dates="2026-11-03..2026-11-05"),
        READINGS.but("Each quarter of an hour.", "other value", interval="quarter"),
        READINGS.but("By week.", "other value", interval="week"),
        READINGS.but("What went through the meter backwards.", "extra", backflow=True),
        READINGS.but("The consumption of meter 660413.", "sibling id", meter_id="660413"),
        READINGS.but("What pump PU-12 has pumped.", "other thing", "meter_id", pump_id="PU-12"),
        READINGS.but("The consumption of meter V-3071, which is a valve.", "other thing", meter_id="V-3071"),
        READINGS.but("The consumption of all meters of Riverside.", "other thing", "meter_id", zone="Riverside"),
        READINGS.but("What it cost in euros.", "currency", currency="EUR"),
        READINGS.but("The consumption in gallons.", "unit", unit="gallons"),
        READINGS.but("Only estimated values.", "negation", "include_estimated", exclude_measured=True),
        READINGS.but(
            "What its counter shows now.",
            "other tool",
            "from_date to_date interval include_estimated",
            tool="get_reading",
        ),
        READINGS.but("The readings for which a bill was sent.", "other tool", tool="get_billed_readings"),
        CUT.sent("name form", "notice_days", noticeDays=28),
        CUT.sent("unit", "notice_days", notice_weeks=4),
        CUT.sent("unit", notice_days="4 weeks"),
        CUT.sent("value typo", reason="arears"),
        CUT.but("Connect meter 660421 again.", "opposite", "reason notice_days", tool="reconnect_meter"),
        CUT.but("Connect meter 660421 for the first time.", "negation", "reason notice_days", tool="connect_meter"),
        CUT.but("Cut it off for 28 days only.", "other name", "notice_days", duration_days=28),
        CUT.but("Cut it off because the customer wants it, without arrears.", "negation", reason="no_arrears"),
        CUT.but("Cut it off because somebody tampered with it.", "other value", reason="tampering"),
        CUT.but("Cut it off after 28 months of notice.", "unit", "notice_days", notice_months=28),
        CUT.but("Cut it off after 90 days of notice.", "bound", notice_days=90),
        CUT.but("Cut it off unless 85 euros are paid before.", "currency", unless_paid_eur=85),
        CUT.but("Cut off meters 660421 and 660412.", "list", meter_id="660421, 660412"),
        CUT.but(
            "Disconnect the sensor 660421.",
            "other tool",
            "meter_id reason",
            tool="disconnect_sensor",
            sensor_id="660421",
        ),
        # Pressure
        PRESSURE.sent("value case", zone="hilltop high"),
        PRESSURE.sent("value typo", zone="Hiltop High"),
        PRESSURE.sent("name form", "zone", pressureZone="Hilltop High"),
        PRESSURE.sent("other name", "at", timestamp="2026-11-04T06:00:00Z"),
        PRESSURE.sent("other value", statistic="minimum"),
        PRESSURE.sent("date", at="4 November 2026, 06:00 UTC"),
        PRESSURE.but("The pressure in the middle of the sorted sensors.", "other value", statistic="median"),
        PRESSURE.but("The flow into Hilltop High.", "other tool", "statistic", tool="get_zone_flow"),
        PRESSURE.but("The pressure of all zones.", "other tool", "zone", tool="get_zones_pressure"),
        PRESSURE.but("The pressure in Hilltop Middle.", "sibling id", zone="Hilltop Middle"),
        PRESSURE.but("The pressure at valve V-3071.", "other thing", "zone", valve_id="V-3071"),
        PRESSURE.but(
            "The lowest pressure since 06:00 UTC on 4 November.", "opposite", "at", since="2026-11-04T06:00:00Z"
        ),
        SET.sent("unit", "target_bar", target_kpa=450),
        SET.sent("unit", target_bar="450 kPa"),
        SET.sent("number", target_bar="4,5"),
        SET.sent("opposite", "alert_on_drop", suppress_drop_alert=True),
        SET.sent("date", from_time="09.12.2026 22:00 UTC"),
        SET.but("Keep it until 22:00 UTC on 9 December.", "opposite", "from_time", to_time="2026-12-09T22:00:00Z"),
        SET.but("Raise it by 1.5 bar.", "other name", "target_bar", increase_bar=1.5),
        SET.but("Let it be at most 4.5 bar, and lower at will.", "other name", "target_bar", max_bar=4.5),
        SET.but("Keep 4.5 metres of water column.", "unit", "target_bar", target_metres=4.5),
        SET.but("Keep 12 bar.", "bound", target_bar=12.0),
        SET.but(
            "Give an alert when it rises, as well as when it drops.", "opposite", "alert_on_drop", alert_on_rise=True
        ),
        SET.sent("unit", "tolerance_bar", tolerance_kpa=30),
        SET.but(
            "No longer keep a pressure in Hilltop High.",
            "negation",
            "target_bar tolerance_bar",
            tool="unset_zone_pressure",
        ),
        SET.but("Keep it in all zones but Hilltop High.", "negation", "zone", except_zone="Hilltop High"),
        SET.but("Set the level of the tank.", "other tool", tool="set_tank_level"),
        # Valves and pumps
        OPEN.sent("name form", "valve_id", **{"Valve ID": "V-3071"}),
        OPEN.sent("unit", "ramp_minutes", ramp_seconds=1800),
        OPEN.sent("value form", turns="12"),
        OPEN.but("Open it to 12 percent.", "unit", "turns", percent=12),
        OPEN.but("Open it until it is 12 turns from being closed.", "other name", "turns", position_turns=12.0),
        OPEN.but("Open it in 30 minutes.", "extra", "ramp_minutes", delay_minutes=30),
        OPEN.but("Open it and close it again after 30 minutes.", "extra", "ramp_minutes", for_minutes=30),
        OPEN.but("Leave 12 turns closed, and open the rest.", "negation", "turns", remaining_turns=12.0),
        OPEN.but("Open it by 75 turns.", "bound", turns=75.0),
        OPEN.sent("other tool", tool="set_valve", action="open"),
        OPEN.but("Open V-3072.", "sibling id", valve_id="V-3072"),
        OPEN.but("Open the valve of PU-21.", "other thing", valve_id="PU-21"),
        OPEN.but("Open the hydrant H-71.", "other tool", "valve_id", tool="open_hydrant", hydrant_id="H-71"),
        OPEN.but("Open all valves of Riverside.", "other thing", "valve_id", zone="Riverside"),
        OPEN.but("Open the work order again.", "other tool", "valve_id turns", tool="reopen_work_order", id="WO-8812"),
        CLOSE.sent("other tool", tool="shut_valve"),
        CLOSE.sent("other tool", tool="operate_valve", action="close"),
        CLOSE.sent("opposite", tool="open_valve", turns=-8.5),
        CLOSE.sent("number", turns="8,5"),
        CLOSE.sent("number", turns="8 1/2"),
        CLOSE.but("Lock V-3017 where it is.", "other tool", "turns ramp_minutes", tool="lock_valve"),
        CLOSE.but("Tell whether V-3017 is closed.", "other tool", "turns ramp_minutes", tool="is_valve_closed"),
        CLOSE.but("Close it only if the pressure is above 2 bar.", "extra", if_pressure_above_bar=2.0),
        CLOSE.but("Close V-3017 and V-3071 in turn.", "list", valve_id="V-3017;V-3071"),
        CLOSE.but("Close work order WO-8812.", "other tool", "valve_id turns", tool="close_work_order", id="WO-8812"),
        START.sent("number", speed_rpm="1,450"),
        START.sent("unit", "run_minutes", run_hours=1.5),
        START.sent("unit", run_minutes="1.5 hours"),
        START.sent("name typo", "direction", dirction="forward"),
        START.but("Stop PU-12.", "opposite", "speed_rpm run_minutes direction", tool="stop_pump"),
        START.but("Restart PU-12 if it runs.", "other tool", tool="restart_pump"),
        START.but("Start it in 90 minutes.", "other name", "run_minutes", start_in_minutes=90),
        START.but("Start it at 1,450 litres per minute.", "unit", "speed_rpm", flow_lpm=1450),
        START.but("Let the pressure decide on the speed, up to 1,450.", "other name", "speed_rpm", max_speed_rpm=1450),
        START.but("Start it at 4,500 revolutions per minute.", "bound", speed_rpm=4500),
        START.but("Start it in alternating directions.", "other value", direction="both"),
        START.but("Do not let it run for the next 90 minutes.", "negation", "run_minutes", pause_minutes=90),
        START.but("Start PU-13.", "sibling id", pump_id="PU-13"),
        START.but("Start whatever pump feeds Riverside.", "other thing", "pump_id", zone="Riverside"),
        # Work orders
        ORDERS.sent("value form", actions='["repair","flush"]'),
        ORDERS.sent("list", actions="repair, flush"),
        ORDERS.sent("other name", "limit", max_results=40),
        ORDERS.but("Due after 9 December.", "opposite", "due_before", due_after="2026-12-09"),
        ORDERS.but("Created before 9 December.", "other name", "due_before", created_before="2026-12-09"),
        ORDERS.but("For crews of 3 at most.", "opposite", "min_crew_size", max_crew_size=3),
        ORDERS.but("For at least 3 crews.", "other name", "min_crew_size", min_crews=3),
        ORDERS.but("With all of the actions.", "list", actions="repair & flush"),
        ORDERS.but(
            "With other actions than repairs and flushing.", "negation", "actions", exclude_actions=["repair", "flush"]
        ),
        ORDERS.but("Those that were planned and called off.", "other value", status="cancelled"),
        ORDERS.but("Those that are late.", "other value", status="overdue"),
        nothing("Work order WO-8812.", "other tool", "list_work_order", work_order_id="WO-8812"),
        ORDERS.but("The outages of Riverside.", "other tool", "actions min_crew_size", tool="list_outages"),
        ORDERS.but("The last ones first.", "opposite", order="due_descending"),
        DONE.but("Those that are not done, whether planned or active.", "negation", status="undone"),
        DONE.sent("value form", actions="replace"),
        nothing("Cancel work order WO-8812.", "opposite", "cancel_work_order", work_order_id="WO-8812"),
        nothing(
            "Move WO-8821 to 12 December.", "other tool", "update_work_order", work_order_id="WO-8821", due="2026-12-12"
        ),
        PLAN.sent("list", tasks={"1": _INSPECT, "2": _REPLACE}),
        PLAN.sent("list", "shutdown", **_SHUTDOWN),
        PLAN.sent("unit", tasks=[{"action": "inspect", "crew_size": 2, "minutes": 90}, _REPLACE]),
        PLAN.sent("other name", "due", due_date="2026-12-10"),
        PLAN.sent("value case", priority="Urgent"),
        PLAN.but("At least 140 customers.", "opposite", shutdown={**_TIMES, "min_customers": 140}),
        PLAN.but("Four people renew its paint.", "other value", tasks=[{**_REPLACE, "action": "repaint"}]),
        PLAN.but("Plan it with no date, on call.", "date", due="on call"),
        PLAN.but("It may cost 9,000 euros at most.", "currency", budget_eur=9000),
        PLAN.but("Plan it for pump PU-22.", "other thing", "valve_id", pump_id="PU-22"),
        PLAN.but("Plan it before the other urgent ones.", "other value", priority="emergency"),
        PLAN.but("Start on 10 December.", "opposite", "due", start="2026-12-10"),
        PLAN.but(
            "Copy the work order for V-3107.", "other tool", "tasks shutdown", tool="copy_work_order", source="WO-8821"
        ),
        LOOK.sent("value form", tasks=_INSPECT),
        LOOK.but("Repeat it each 6 months.", "extra", repeat_months=6),
    ],
)
