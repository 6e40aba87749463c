"""A container port: berths, cranes, containers, customs."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Box = Annotated[str, Known("container")]
Berth = Annotated[str, Known("berth")]
Limit = Annotated[int, Field(ge=1, le=500)]


class Place(Record):
    """Where somebody is."""

    country: str
    city: str


class Goods(Record):
    """One kind of goods in a container."""

    hs_code: str
    weight_kg: float
    value_eur: int
    origin: Place
    is_dangerous: bool = False


Goods.model_rebuild()  # a file loaded by its path has no module in which the name of `Place` is looked up


class Port(World):
    """Berths, cranes and containers of a port; weights are metric, values are euros."""

    ids: ClassVar = {
        "container": ("MSCU-663987-0", "MSCU-663978-0", "TGHU-110254-8"),
        "berth": ("B-04", "B-14"),
        "crane": ("qc_7d20e1", "qc_7d20e4"),
        "vessel": ("Aurora Bay", "Aurora Day", "Lena Sund"),
    }

    @reads
    def get_customs_status(self, container_id: Box, regime: Literal["import", "export", "transit"] = "import") -> None:
        """Return how far customs are with a container."""

    @reads
    def list_containers(
        self,
        vessel: Annotated[str, Known("vessel", "spelled")],
        state: Literal["full", "empty", "damaged"] = "full",
        discharged_from: date | None = None,
        min_gross_weight_kg: int | None = None,
        size_ft: Literal[20, 40, 45] | None = None,
        limit: Limit = 100,
        sort: Literal["heaviest", "lightest", "newest"] = "newest",
        *,
        include_held: bool = True,
    ) -> None:
        """Return the containers that a vessel brought."""

    @reads
    def get_berth_plan(self, berth_id: Berth, day: date) -> None:
        """Return which vessels lie at a berth on a day."""

    @writes()
    def assign_crane(
        self,
        crane_id: Annotated[str, Known("crane", "handle")],
        berth_id: Berth,
        starts_at: datetime,
        duration_minutes: Annotated[int, Field(ge=30, le=720)],
        task: Literal["load", "discharge", "shift"],
    ) -> None:
        """Put a crane to work at a berth."""

    @writes(idempotent=True)
    def hold_container(
        self, container_id: Box, authority: Literal["customs", "veterinary", "police"], remark: str = ""
    ) -> None:
        """Keep a container in the port until an authority clears it, which the authority does by itself."""

    @writes()
    def gate_out(self, container_id: Box, truck_plate: str, *, sealed: bool) -> None:
        """Let a truck take a cleared container out of the port."""

    @writes()
    def declare_goods(self, container_id: Box, regime: Literal["import", "transit"], goods: list[Goods]) -> None:
        """Declare to customs what is in a container."""

    @writes(destructive=True, idempotent=True)
    def set_reefer(
        self,
        container_id: Box,
        setpoint_c: Annotated[float, Field(ge=-35, le=30)],
        vent_percent: Annotated[int, Field(ge=0, le=100)] = 0,
    ) -> None:
        """Set the temperature of a refrigerated container in degrees Celsius."""

    @writes(destructive=True, idempotent=True)
    def cancel_booking(self, booking_ref: str, charge_to: Literal["shipper", "consignee"]) -> None:
        """Cancel the booking of a container on a vessel; references are like `BK2026-118`."""


_COFFEE = {
    "hs_code": "090111",
    "weight_kg": 18_500.0,
    "value_eur": 74_000,
    "origin": {"country": "BR", "city": "Santos"},
    "is_dangerous": False,
}
_SUGAR = {**_COFFEE, "hs_code": "170199", "weight_kg": 2_000.0, "value_eur": 1_500}
STATUS = Meant(
    "The import status of MSCU-663987-0.", "get_customs_status", container_id="MSCU-663987-0", regime="import"
)
LISTED = Meant(
    "The 30 heaviest full 40-foot containers that Aurora Bay brought, discharged since 4 November 2026, of at least "
    "12,000 kg gross, with held ones.",
    *("list_containers",),
    vessel="Aurora Bay",
    state="full",
    discharged_from="2026-11-04",
    min_gross_weight_kg=12_000,
    size_ft=40,
    limit=30,
    sort="heaviest",
    include_held=True,
)
PLAN = Meant("Which vessels lie at B-04 on 4 November 2026.", "get_berth_plan", berth_id="B-04", day="2026-11-04")
CRANE = Meant(
    "Let qc_7d20e1 discharge at B-14 for 90 minutes from 4 November 2026, 06:00 UTC.",
    *("assign_crane",),
    crane_id="qc_7d20e1",
    berth_id="B-14",
    starts_at="2026-11-04T06:00:00Z",
    duration_minutes=90,
    task="discharge",
)
HOLD = Meant(
    "Hold MSCU-663978-0 for customs, with the remark `x-ray`.",
    *("hold_container",),
    container_id="MSCU-663978-0",
    authority="customs",
    remark="x-ray",
)
GATE = Meant(
    "Let truck HH-KL 204 take MSCU-663987-0 out, sealed.",
    *("gate_out",),
    container_id="MSCU-663987-0",
    truck_plate="HH-KL 204",
    sealed=True,
)
DECLARE = Meant(
    "Declare 18,500 kg of coffee (090111) for 74,000 euros and 2,000 kg of sugar (170199) for 1,500 euros, both from "
    "Santos in Brazil and not dangerous, in MSCU-663987-0 for import.",
    *("declare_goods",),
    container_id="MSCU-663987-0",
    regime="import",
    goods=[_COFFEE, _SUGAR],
)
TRANSIT = Meant(
    "Declare 18,500 kg of coffee (090111) from Santos in Brazil for 74,000 euros, not dangerous, in TGHU-110254-8 "
    "for transit.",
    *("declare_goods",),
    container_id="TGHU-110254-8",
    regime="transit",
    goods=[_COFFEE],
)
REEFER = Meant(
    "Keep TGHU-110254-8 at -18 degrees Celsius, with vents 15 percent open.",
    *("set_reefer",),
    container_id="TGHU-110254-8",
    setpoint_c=-18.0,
    vent_percent=15,
)
CANCEL = Meant(
    "Cancel booking BK2026-118 and charge the shipper.",
    *("cancel_booking",),
    booking_ref="BK2026-118",
    charge_to="shipper",
)

TRADE = Trade(
    Port,
    [STATUS, LISTED, PLAN, CRANE, HOLD, GATE, DECLARE, TRANSIT, REEFER, CANCEL],
    [
        STATUS.sent("name form", "container_id", containerId="MSCU-663987-0"),
        STATUS.sent("name form", tool="getCustomsStatus"),
        STATUS.sent("value case", regime="Import"),
        STATUS.sent("list", container_id=["MSCU-663987-0"]),
        STATUS.but("The status of a re-import of MSCU-663987-0.", "other value", regime="reimport"),
        STATUS.but("The status of its return to the sender, a re-export.", "other value", regime="re-export"),
        STATUS.but("The status outside of any import.", "negation", regime="non-import"),
        STATUS.but("The status of the vessel Aurora Bay.", "other thing", "container_id", vessel="Aurora Bay"),
        STATUS.but("The status of MSCU-663987-1.", "sibling id", container_id="MSCU-663987-1"),
        STATUS.but("The status of MSCU-663989-0.", "sibling id", container_id="MSCU-663989-0"),
        STATUS.but("Clear MSCU-663987-0 for import.", "other tool", tool="set_customs_status", status="cleared"),
        STATUS.but(
            "How many import containers customs have in each status, of all the port.",
            *("other tool", "container_id"),
            tool="get_customs_statistics",
        ),
        STATUS.but("The import duties due on MSCU-663987-0.", "other tool", tool="get_customs_duty"),
        STATUS.but("The status as it was on 1 October 2026.", "extra", as_of="2026-10-01"),
        nothing("Where MSCU-663987-0 stands in the yard.", "other tool", "get_container", container_id="MSCU-663987-0"),
        LISTED.sent("name typo", "min_gross_weight_kg", min_gross_wieght_kg=12_000),
        LISTED.sent("value form", limit="30"),
        LISTED.sent("value form", size_ft="40"),
        LISTED.sent("value case", vessel="AURORA BAY"),
        LISTED.sent("value typo", sort="heavist"),
        LISTED.sent("unit", "min_gross_weight_kg", min_gross_weight_t=12),
        LISTED.sent("unit", min_gross_weight_kg="12 t"),
        LISTED.sent("number", min_gross_weight_kg="12,000"),
        LISTED.sent("number", min_gross_weight_kg="12k"),
        LISTED.sent("unit", size_ft="40ft"),
        LISTED.sent("date", discharged_from="04.11.2026"),
        LISTED.sent("date", discharged_from="4 Nov 2026"),
        LISTED.but("Discharged since 18:00 on 4 November.", "date", discharged_from="2026-11-04T18:00:00Z"),
        LISTED.but("Discharged until 4 November.", "opposite", "discharged_from", discharged_until="2026-11-04"),
        LISTED.but("Loaded since 4 November.", "opposite", "discharged_from", loaded_from="2026-11-04"),
        LISTED.but("Of at most 12,000 kg.", "opposite", "min_gross_weight_kg", max_gross_weight_kg=12_000),
        LISTED.but("Of at least 12,000 kg net.", "other name", "min_gross_weight_kg", min_net_weight_kg=12_000),
        LISTED.but("With a tare of at least 4,000 kg.", "other name", "min_gross_weight_kg", min_tare_weight_kg=4_000),
        LISTED.sent("unit", "size_ft", size_m=12.192),
        LISTED.but("Containers of 10 feet.", "other value", size_ft=10),
        LISTED.but("Containers that are neither damaged nor empty nor full: open ones.", "other value", state="open"),
        LISTED.but("Undamaged containers, full and empty, in one list.", "negation", state="undamaged"),
        LISTED.but(
            "Containers that are not empty, damaged ones among them, in one list.", "negation", state="nonempty"
        ),
        LISTED.but("Held containers and no others.", "other name", "include_held", only_held=True),
        LISTED.sent("negation", "include_held", exclude_held=False),
        LISTED.but("Containers that Aurora Ray brought.", "sibling id", vessel="Aurora Ray"),
        LISTED.but("Containers on voyage 2614E alone.", "other thing", "vessel", voyage="2614E"),
        LISTED.but(
            "Containers of Aurora Bay and Aurora Day, merged into one list.", "list", vessel="Aurora Bay, Aurora Day"
        ),
        LISTED.but("Containers of 20 and 40 feet, ordered together.", "list", size_ft=[20, 40]),
        LISTED.but("From the heaviest insured value down.", "other value", sort="highest_value"),
        PLAN.sent("date", day="04/11/2026"),
        PLAN.sent("date", day="Nov 4, 2026"),
        PLAN.sent("name form", "berth_id", BerthId="B-04"),
        PLAN.but("The plan of B-44.", "sibling id", berth_id="B-44"),
        PLAN.but("The plan of crane qc_7d20e1.", "other thing", berth_id="qc_7d20e1"),
        PLAN.but("One plan of all berths.", "other tool", "berth_id", tool="get_berth_plans"),
        PLAN.but("The plan on all days but 4 November.", "negation", "day", except_day="2026-11-04"),
        CRANE.sent("unit", "duration_minutes", duration_hours=1.5),
        CRANE.sent("unit", duration_minutes="1.5 h"),
        CRANE.sent("value form", duration_minutes="90"),
        CRANE.sent("date", starts_at="04.11.2026 06:00 UTC"),
        CRANE.but(
            "Discharge until 06:00, from whenever the crane is free.",
            *("opposite", "starts_at duration_minutes"),
            ends_at="2026-11-04T06:00:00Z",
        ),
        CRANE.but("Let it neither load nor discharge, but be maintained.", "other value", task="maintain"),
        CRANE.sent("opposite", task="unload"),
        CRANE.but("Let it lash containers on deck.", "other value", task="lash"),
        CRANE.but("Work for 900 minutes.", "bound", duration_minutes=900),
        CRANE.but("Work for 15 minutes.", "bound", duration_minutes=15),
        CRANE.but("Take qc_7d20e1 off B-14.", "negation", tool="unassign_crane"),
        CRANE.but("Assign a crew to B-14.", "other tool", "crane_id", tool="assign_crew", crew_id="C-3"),
        CRANE.but("Use qc_7d20e2.", "sibling id", crane_id="qc_7d20e2"),
        CRANE.but("Use both qc_7d20e1 and qc_7d20e4 in tandem, as one crane.", "list", crane_id="qc_7d20e1+qc_7d20e4"),
        CRANE.but("Do so every day.", "extra", repeat="daily"),
        HOLD.but("End the hold of MSCU-663978-0.", "opposite", tool="release_container"),
        HOLD.but("Make the hold undone.", "negation", tool="unhold_container"),
        HOLD.but("Hold it until 9 November only.", "extra", until="2026-11-09"),
        HOLD.but("Hold it for the coast guard.", "other value", authority="coastguard"),
        HOLD.but("Hold it for the customer.", "other value", authority="customer"),
        HOLD.but("Hold MSCU-663998-0.", "sibling id", container_id="MSCU-663998-0"),
        HOLD.but("Hold the vessel Aurora Day.", "other tool", "container_id", tool="hold_vessel", vessel="Aurora Day"),
        HOLD.but("Hold all that is at B-04.", "other thing", container_id="B-04"),
        GATE.sent("value form", sealed="true"),
        GATE.sent("name typo", "truck_plate", truck_palte="HH-KL 204"),
        GATE.but("Let the truck bring MSCU-663987-0 in.", "opposite", tool="gate_in"),
        GATE.sent("negation", "sealed", unsealed=False),
        GATE.but("Let a train take it, wagon 3380 551.", "other thing", "truck_plate", wagon_number="3380 551"),
        GATE.but("Let it leave on 5 November at 10:00.", "extra", at="2026-11-05T10:00:00Z"),
        GATE.but(
            "Let the truck take both containers in one trip, under one gate pass.",
            "list",
            container_id=["MSCU-663987-0", "MSCU-663978-0"],
        ),
        DECLARE.sent("unit", goods=[{**_COFFEE, "weight_kg": "18.5 t"}, _SUGAR]),
        DECLARE.sent("number", goods=[{**_COFFEE, "value_eur": "74.000"}, _SUGAR]),
        DECLARE.sent("value form", goods=[_COFFEE, {**_SUGAR, "value_eur": "1500"}]),
        DECLARE.sent("list", goods={"090111": _COFFEE, "170199": _SUGAR}),
        DECLARE.but(
            "The coffee is worth 74,000 dollars.",
            *("currency",),
            goods=[{**{k: v for k, v in _COFFEE.items() if k != "value_eur"}, "value_usd": 74_000}, _SUGAR],
        ),
        DECLARE.but(
            "The coffee is worth 74,000 Brazilian reals.",
            "currency",
            goods=[{**_COFFEE, "value_eur": "74000 BRL"}, _SUGAR],
        ),
        DECLARE.but("The goods are exported.", "opposite", regime="export"),
        DECLARE.but(
            "The goods go to Santos; where they come from is unknown.",
            *("opposite",),
            goods=[
                {**{k: v for k, v in one.items() if k != "origin"}, "destination": one["origin"]}
                for one in (_COFFEE, _SUGAR)
            ],
        ),
        DECLARE.but("Withdraw what was declared.", "negation", tool="undeclare_goods"),
        DECLARE.but("Declare all goods but these.", "negation", "goods", excluded_goods=[_COFFEE, _SUGAR]),
        TRANSIT.sent("value form", goods=_COFFEE),
        TRANSIT.but("Add the coffee to what is declared already, keeping that.", "extra", append=True),
        TRANSIT.but(
            "From the region of Santos, of which the city is unknown.",
            *("other name",),
            goods=[{**_COFFEE, "origin": {"country": "BR", "region": "Santos"}}],
        ),
        REEFER.sent("unit", "setpoint_c", setpoint_f=-0.4),
        REEFER.sent("unit", setpoint_c="-0.4 °F"),
        REEFER.sent("unit", setpoint_c="-18 °C"),
        REEFER.sent("number", setpoint_c="minus 18"),
        REEFER.sent("unit", vent_percent="15%"),
        REEFER.but("Keep it at -50 degrees.", "bound", setpoint_c=-50.0),
        REEFER.but("Warm it by 18 degrees.", "other name", "setpoint_c", increase_c=18.0),
        REEFER.but("Let the vents pass 15 cubic metres an hour.", "unit", "vent_percent", vent_m3_per_h=15),
        REEFER.but(
            "Raise an alarm above -18 degrees, and change no setting.", "other name", "setpoint_c", alarm_above_c=-18.0
        ),
        REEFER.but("Do so after departure.", "extra", delay_hours=12),
        REEFER.but("Switch the container off.", "other tool", "setpoint_c vent_percent", tool="unset_reefer"),
        CANCEL.but("Make the cancelled booking valid again.", "opposite", tool="restore_booking"),
        CANCEL.but("Charge the carrier.", "other value", charge_to="carrier"),
        CANCEL.but("Charge the ship.", "other value", charge_to="ship"),
        CANCEL.but("Pay damages to the shipper.", "opposite", "charge_to", pay_to="shipper"),
        CANCEL.but("Cancel the berth B-04.", "other tool", "booking_ref", tool="cancel_berth", berth_id="B-04"),
        CANCEL.but(
            "Cancel what is booked for MSCU-663987-0.", "other thing", "booking_ref", container_id="MSCU-663987-0"
        ),
        LISTED.sent("other name", "limit", page_size=30),
        LISTED.sent("other name", "sort", order_by="heaviest"),
        LISTED.sent("other value", sort="gross_weight:desc"),
        LISTED.but("The newest vessels first, by the year they were built.", "other value", sort="newest_vessel"),
        CRANE.sent("other thing", crane_id="B-14", berth_id="qc_7d20e1"),
        GATE.sent("other name", "truck_plate", license_plate="HH-KL 204"),
        HOLD.but("Hold it for any authority but customs.", "negation", authority="noncustoms"),
        DECLARE.sent(
            "unit",
            goods=[
                {**{k: v for k, v in one.items() if k != "value_eur"}, "value_cents": one["value_eur"] * 100}
                for one in (_COFFEE, _SUGAR)
            ],
        ),
        DECLARE.sent(
            "negation",
            goods=[
                {**{k: v for k, v in one.items() if k != "is_dangerous"}, "is_harmless": True}
                for one in (_COFFEE, _SUGAR)
            ],
        ),
        TRANSIT.but(
            "18,500 kg is what coffee and container weigh together.",
            *("other name",),
            goods=[{**{k: v for k, v in _COFFEE.items() if k != "weight_kg"}, "gross_weight_kg": 18_500.0}],
        ),
    ],
)
