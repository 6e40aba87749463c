"""A pharmacy: medicines, prescriptions, doses."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Patient = Annotated[str, Known("patient")]
Prescription = Annotated[str, Known("prescription", "handle")]
Medicine = Annotated[str, Known("medicine", "spelled")]
Milligrams = Annotated[float, Field(gt=0, le=5000, description="Dose in mg.")]
Route = Literal["oral", "topical", "intravenous"]


class Schedule(Record):
    """When a dose is taken."""

    doses_per_day: int = Field(ge=1, le=8)
    duration_days: int = Field(ge=1, le=365)
    with_food: bool = False


class Pharmacy(World):
    """Medicines, prescriptions and stock of a pharmacy."""

    ids: ClassVar = {
        "patient": ("PT-40017", "PT-40071", "PT-51230"),
        "prescription": ("rx_77ab10", "rx_77ab16"),
        "medicine": ("Hydroxyzine", "Clonidine", "Prednisone", "Ibuprofen", "Metformin"),
    }

    @reads
    def find_interactions(
        self, medicine: Medicine, others: list[str], min_severity: Literal["minor", "moderate", "severe"] = "minor"
    ) -> None:
        """Return how a medicine interacts with others."""

    @reads
    def list_prescriptions(
        self,
        patient_id: Patient,
        status: Literal["active", "expired", "dispensed"] = "active",
        issued_after: date | None = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> None:
        """Return the prescriptions of a patient."""

    @reads
    def check_dose(
        self, medicine: Medicine, dose_mg: Milligrams, weight_kg: Annotated[float, Field(gt=0, le=400)]
    ) -> None:
        """Return whether a dose is safe for a body weight."""

    @writes()
    def prescribe(
        self,
        patient_id: Patient,
        medicine: Medicine,
        dose_mg: Milligrams,
        schedule: Schedule,
        route: Route = "oral",
        *,
        substitution_allowed: bool = True,
    ) -> None:
        """Prescribe a medicine to a patient."""

    @writes(idempotent=True)
    def dispense(self, prescription_id: Prescription, packs: Annotated[int, Field(ge=1, le=10)], on_day: date) -> None:
        """Hand out packs of a prescription."""

    @writes(destructive=True, idempotent=True)
    def discontinue(
        self, prescription_id: Prescription, reason: Literal["allergy", "ineffective", "completed"]
    ) -> None:
        """End a prescription."""

    @writes(destructive=True, idempotent=True)
    def set_stock(
        self, medicine: Medicine, count: Annotated[int, Field(ge=0, le=10_000)], max_temperature_celsius: float = 25.0
    ) -> None:
        """Set how many packs of a medicine there are, and how warm they may get."""


_TWICE = {"doses_per_day": 2, "duration_days": 14, "with_food": True}
FOUND = Meant(
    "Moderate and severe interactions of Clonidine with Ibuprofen and Metformin.",
    *("find_interactions",),
    medicine="Clonidine",
    others=["Ibuprofen", "Metformin"],
    min_severity="moderate",
)
LISTED = Meant(
    "10 active prescriptions of PT-40017 that were issued after 5 October 2026.",
    *("list_prescriptions",),
    patient_id="PT-40017",
    status="active",
    issued_after="2026-10-05",
    limit=10,
)
SAFE = Meant(
    "Whether 500 mg of Metformin are safe for 72.5 kg.",
    *("check_dose",),
    medicine="Metformin",
    dose_mg=500.0,
    weight_kg=72.5,
)
PRESCRIBE = Meant(
    "Prescribe PT-40017 25 mg Hydroxyzine by mouth, twice a day for 14 days with food; nothing else instead of it.",
    *("prescribe",),
    patient_id="PT-40017",
    medicine="Hydroxyzine",
    dose_mg=25.0,
    schedule=_TWICE,
    route="oral",
    substitution_allowed=False,
)
DISPENSE = Meant(
    "Hand out 2 packs of rx_77ab10 on 4 November 2026.",
    *("dispense",),
    prescription_id="rx_77ab10",
    packs=2,
    on_day="2026-11-04",
)
END = Meant(
    "End rx_77ab16, since the patient is allergic.", "discontinue", prescription_id="rx_77ab16", reason="allergy"
)
STOCK = Meant(
    "There are 1,200 packs of Prednisone, which may get as warm as 20 degrees Celsius.",
    *("set_stock",),
    medicine="Prednisone",
    count=1200,
    max_temperature_celsius=20.0,
)
ALONE = Meant(
    "Every interaction of Prednisone with Ibuprofen.", "find_interactions", medicine="Prednisone", others=["Ibuprofen"]
)

TRADE = Trade(
    Pharmacy,
    [FOUND, LISTED, SAFE, PRESCRIBE, DISPENSE, END, STOCK, ALONE],
    [
        FOUND.but("Interactions of Clonazepam, another medicine.", "other value", medicine="Clonazepam"),
        FOUND.but("Interactions of Klonopin, another medicine.", "other value", medicine="Klonopin"),
        FOUND.but("Interactions that are at most moderate.", "opposite", "min_severity", max_severity="moderate"),
        FOUND.but("Interactions of any immoderate kind.", "negation", min_severity="immoderate"),
        FOUND.sent("list", others="Ibuprofen and Metformin"),
        FOUND.sent("list", others="Ibuprofen;Metformin"),
        FOUND.but(
            "Interactions with everything but these two.",
            "negation",
            "others",
            except_others=["Ibuprofen", "Metformin"],
        ),
        FOUND.but("Contraindications of Clonidine.", "other tool", tool="find_contraindications"),
        FOUND.sent("list", medicine=["Clonidine"]),
        LISTED.but("Prescriptions issued before 5 October.", "opposite", "issued_after", issued_before="2026-10-05"),
        LISTED.but(
            "Prescriptions that expire after 5 October.", "other name", "issued_after", expires_after="2026-10-05"
        ),
        LISTED.but("Inactive prescriptions.", "negation", status="inactive"),
        LISTED.but("Prescriptions that are proactively renewed.", "other value", status="proactive"),
        LISTED.but("Prescriptions that have not been dispensed.", "negation", status="undispensed"),
        LISTED.but("Prescriptions that are unexpired.", "negation", status="unexpired"),
        LISTED.but("Prescriptions by the doctor PT-40017.", "other thing", "patient_id", physician_id="PT-40017"),
        LISTED.but("Prescriptions that follow the first 30.", "extra", skip=30),
        LISTED.but("Subscriptions of PT-40017.", "other tool", tool="list_subscriptions"),
        SAFE.but("Whether 500 mcg are safe.", "unit", "dose_mg", dose_mcg=500),
        SAFE.sent("unit", dose_mg="0.5 g"),
        SAFE.but("Whether 500 millilitres of the syrup are safe.", "unit", dose_mg="500 ml"),
        SAFE.but("Whether 500 IU are safe.", "unit", dose_mg="500 IU"),
        SAFE.but("Whether it is safe for a height of 172 cm.", "other name", "weight_kg", height_cm=172.0),
        SAFE.but("Whether it is safe for 11 stone.", "unit", weight_kg="11 st"),
        SAFE.but("Whether 500 mg a day for each kg are safe.", "unit", "dose_mg", dose_mg_per_kg=500.0),
        PRESCRIBE.but("Hydralazine, another medicine.", "other value", medicine="Hydralazine"),
        PRESCRIBE.but("Prednisolone, another medicine.", "other value", medicine="Prednisolone"),
        PRESCRIBE.but("25 mcg.", "unit", "dose_mg", dose_mcg=25.0),
        PRESCRIBE.but("25 mcg.", "unit", dose_mg="25 mcg"),
        PRESCRIBE.but("25 mg/kg.", "unit", dose_mg="25 mg/kg"),
        PRESCRIBE.but("Between 25 and 50 mg.", "number", dose_mg="25-50"),
        PRESCRIBE.but(
            "Without food.", "opposite", schedule={"doses_per_day": 2, "duration_days": 14, "without_food": True}
        ),
        PRESCRIBE.but(
            "Every 2 hours.", "other name", schedule={"hours_between_doses": 2, "duration_days": 14, "with_food": True}
        ),
        PRESCRIBE.sent("unit", schedule={"doses_per_day": 2, "duration_weeks": 2, "with_food": True}),
        PRESCRIBE.sent("unit", schedule={**_TWICE, "duration_days": "2 weeks"}),
        PRESCRIBE.but("Aural, into the ear.", "other value", route="aural"),
        PRESCRIBE.but("Intramuscular.", "other value", route="intramuscular"),
        PRESCRIBE.but("Atopical, as a trial calls it.", "negation", route="atopical"),
        PRESCRIBE.but(
            "Only if substitution was announced.", "other name", "substitution_allowed", substitution_announced=False
        ),
        DISPENSE.but("2 tablets.", "unit", "packs", tablets=2),
        DISPENSE.but("2 tablets.", "unit", packs="2 tablets"),
        DISPENSE.but("Take 2 packs back.", "other tool", tool="undispense"),
        DISPENSE.but("Not later than 4 November.", "other name", "on_day", until_day="2026-11-04"),
        DISPENSE.but("Except on 4 November.", "negation", "on_day", not_on_day="2026-11-04"),
        END.but("Continue rx_77ab16.", "negation", tool="continue"),
        END.but("Because it was effective.", "negation", reason="effective"),
        END.but("Because it is incomplete.", "negation", reason="incomplete"),
        nothing(
            "End all prescriptions of PT-40017.", "other thing", "discontinue", patient_id="PT-40017", reason="allergy"
        ),
        STOCK.but("There are 1,200 packs more.", "other name", "count", delta=1200),
        STOCK.but("There are 1,200 packs more.", "other name", "count", add_count=1200),
        STOCK.but(
            "They must not get colder than 20 degrees.",
            "opposite",
            "max_temperature_celsius",
            min_temperature_celsius=20.0,
        ),
        STOCK.sent("unit", max_temperature_celsius="68°F"),
        STOCK.sent("unit", "max_temperature_celsius", max_temperature_fahrenheit=68.0),
        STOCK.but("There are 1,200 tablets.", "unit", count="1200 tablets"),
        STOCK.but("A discount of Prednisone of 12 percent.", "other name", "count", discount=12),
    ],
)
