"""A clinic: appointments, results, vital signs, wards."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Patient = Annotated[str, Known("patient")]
Appointment = Annotated[str, Known("appointment", "handle")]
Ward = Annotated[str, Known("ward", "spelled")]


class Vitals(Record):
    """Vital signs of a patient."""

    systolic_mmhg: int = Field(ge=40, le=300)
    temperature_celsius: float = Field(ge=30, le=45)
    is_fasting: bool = False


class Clinic(World):
    """Appointments, results and wards of a clinic."""

    ids: ClassVar = {
        "patient": ("MRN-600412", "MRN-600421", "MRN-733008"),
        "appointment": ("apt-2f81", "apt-2f87"),
        "ward": ("Neurology", "Nephrology", "Cardiology", "Pediatrics"),
    }

    @reads
    def list_results(
        self,
        patient_id: Patient,
        collected_since: datetime | None = None,
        status: Literal["preliminary", "final", "corrected"] = "final",
        *,
        abnormal_only: bool = False,
    ) -> None:
        """Return the laboratory results of a patient."""

    @reads
    def find_slots(
        self,
        ward: Ward,
        earliest_day: date,
        duration_minutes: Annotated[int, Field(ge=5, le=240)] = 30,
        kind: Literal["initial", "followup", "emergency"] = "initial",
    ) -> None:
        """Return free appointments of a ward from a day on."""

    @reads
    def count_beds(self, ward: Ward, state: Literal["occupied", "vacant", "reserved"] = "vacant") -> None:
        """Return how many beds a ward has."""

    @writes()
    def book_appointment(
        self,
        patient_id: Patient,
        ward: Ward,
        start_at: datetime,
        duration_minutes: Annotated[int, Field(ge=5, le=240)] = 30,
        mode: Literal["in_person", "video"] = "in_person",
    ) -> None:
        """Book an appointment."""

    @writes()
    def record_vitals(self, patient_id: Patient, vitals: Vitals, measured_at: datetime) -> None:
        """Record vital signs."""

    @writes(destructive=True, idempotent=True)
    def cancel_appointment(
        self, appointment_id: Appointment, cancelled_by: Literal["patient", "clinic"], *, charge_fee: bool = False
    ) -> None:
        """Cancel an appointment."""

    @writes(idempotent=True)
    def admit_patient(self, patient_id: Patient, ward: Ward, allergies: list[str]) -> None:
        """Admit a patient to a ward."""

    @writes(destructive=True, idempotent=True)
    def set_infusion(self, patient_id: Patient, rate_ml_per_hour: Annotated[float, Field(gt=0, le=500)]) -> None:
        """Set the rate of an infusion in ml per hour."""


_VITALS = {"systolic_mmhg": 128, "temperature_celsius": 37.5, "is_fasting": True}
RESULTS = Meant(
    "Final results of MRN-600412 that were collected since 4 May 2026, 8:00 UTC; abnormal ones only.",
    *("list_results",),
    patient_id="MRN-600412",
    collected_since="2026-05-04T08:00:00Z",
    status="final",
    abnormal_only=True,
)
SLOTS = Meant(
    "Slots of 45 minutes for a follow-up in Neurology from 9 June 2026 on.",
    *("find_slots",),
    ward="Neurology",
    earliest_day="2026-06-09",
    duration_minutes=45,
    kind="followup",
)
BEDS = Meant("How many beds of Cardiology are occupied.", "count_beds", ward="Cardiology", state="occupied")
BOOK = Meant(
    "Book MRN-600412 into Nephrology on 9 June 2026, 10:30 UTC, for an hour, by video.",
    *("book_appointment",),
    patient_id="MRN-600412",
    ward="Nephrology",
    start_at="2026-06-09T10:30:00Z",
    duration_minutes=60,
    mode="video",
)
VITALS = Meant(
    "MRN-733008 had 128 mmHg and 37.5 degrees Celsius on 9 June 2026, 7:00 UTC, fasting.",
    *("record_vitals",),
    patient_id="MRN-733008",
    vitals=_VITALS,
    measured_at="2026-06-09T07:00:00Z",
)
CANCEL = Meant(
    "The patient cancels apt-2f81, without a fee.",
    *("cancel_appointment",),
    appointment_id="apt-2f81",
    cancelled_by="patient",
    charge_fee=False,
)
ADMIT = Meant(
    "Admit MRN-600421 to Pediatrics; allergic to latex and penicillin.",
    *("admit_patient",),
    patient_id="MRN-600421",
    ward="Pediatrics",
    allergies=["latex", "penicillin"],
)
INFUSE = Meant("Infuse MRN-600421 120 ml per hour.", "set_infusion", patient_id="MRN-600421", rate_ml_per_hour=120.0)
ADMIT_ONE = Meant(
    "Admit MRN-733008 to Neurology; allergic to iodine.",
    *("admit_patient",),
    patient_id="MRN-733008",
    ward="Neurology",
    allergies=["iodine"],
)

TRADE = Trade(
    Clinic,
    [RESULTS, SLOTS, BEDS, BOOK, VITALS, CANCEL, ADMIT, INFUSE, ADMIT_ONE],
    [
        RESULTS.but("Collected until 4 May.", "opposite", "collected_since", collected_until="2026-05-04T08:00:00Z"),
        RESULTS.but("Corrected since 4 May.", "other name", "collected_since", corrected_since="2026-05-04T08:00:00Z"),
        RESULTS.but("Only normal ones.", "negation", "abnormal_only", normal_only=True),
        RESULTS.but("Incorrect ones.", "negation", status="incorrected"),
        RESULTS.but("Semifinal ones, as the laboratory calls them.", "negation", status="semifinal"),
        RESULTS.but("Nonfinal ones.", "negation", status="nonfinal"),
        RESULTS.but("Those of the appointment.", "other thing", "patient_id", appointment_id="apt-2f81"),
        RESULTS.but("Consults of the patient.", "other tool", tool="list_consults"),
        RESULTS.but(
            "Those of an external patient number.", "other thing", "patient_id", external_patient_id="MRN-600412"
        ),
        SLOTS.but("From any day until 9 June.", "opposite", "earliest_day", latest_day="2026-06-09"),
        SLOTS.but("Slots of the ward Neonatology.", "other value", ward="Neonatology"),
        SLOTS.but("Slots of Neurosurgery.", "other value", ward="Neurosurgery"),
        SLOTS.but("Slots for a non-emergency.", "negation", kind="nonemergency"),
        SLOTS.but("Slots for a final visit.", "other value", kind="final"),
        SLOTS.sent("unit", duration_minutes="45 min", earliest_day="2026-06-09"),
        SLOTS.sent("unit", "duration_minutes", duration_hours=0.75),
        SLOTS.but("Slots of at least 45 minutes.", "other name", "duration_minutes", min_duration_minutes=45),
        SLOTS.but("Lots of the ward's blood bank.", "other tool", tool="find_lots"),
        BEDS.but("Preoccupied ones, as the plan calls them.", "negation", state="preoccupied"),
        BEDS.but("Unreserved ones.", "negation", state="unreserved"),
        BEDS.but("Beds that are vacated today.", "other value", state="vacated"),
        BEDS.but("Beds of Cardiosurgery.", "other value", ward="Cardiosurgery"),
        BEDS.but("Meds of Cardiology.", "other tool", tool="count_meds"),
        BOOK.but("It ends at 10:30.", "opposite", "start_at", end_at="2026-06-09T10:30:00Z"),
        BOOK.but("Not before 10:30.", "other name", "start_at", start_after="2026-06-09T10:30:00Z"),
        BOOK.but("Neurology of the other house.", "other value", ward="Neurology B"),
        BOOK.but("By audio.", "other value", mode="audio"),
        BOOK.but("With an interpreter.", "extra", interpreter="Turkish"),
        BOOK.but("Put MRN-600412 on the list of those who wait.", "other tool", tool="book_waiting_list"),
        BOOK.but("Every week.", "extra", repeat_weekly=True),
        BOOK.sent("date", start_at="9/6/2026 10:30"),
        VITALS.but("Diastolic, not systolic.", "opposite", vitals={"diastolic_mmhg": 128, "temperature_celsius": 37.5}),
        VITALS.sent("unit", vitals={**_VITALS, "temperature_celsius": "99.5 F"}),
        VITALS.sent("unit", vitals={"systolic_mmhg": 128, "temperature_fahrenheit": 99.5, "is_fasting": True}),
        VITALS.but("128 kPa.", "unit", vitals={"systolic_kpa": 128, "temperature_celsius": 37.5}),
        VITALS.but("Reported, not measured.", "other name", "measured_at", reported_at="2026-06-09T07:00:00Z"),
        VITALS.but("Delete them.", "other tool", tool="delete_vitals"),
        CANCEL.but("Cancelled for the patient by a nurse.", "other name", "cancelled_by", cancelled_for="patient"),
        CANCEL.but("Not cancelled by the patient, but by someone else.", "negation", cancelled_by="outpatient"),
        CANCEL.but("Discharge the fee.", "negation", "charge_fee", discharge_fee=True),
        CANCEL.but("Confirm apt-2f81.", "other tool", tool="confirm_appointment"),
        CANCEL.but("Cancel the series of apt-2f81.", "other tool", tool="cancel_appointments_series"),
        nothing(
            "Cancel what MRN-600412 has.",
            "other thing",
            "cancel_appointment",
            patient_id="MRN-600412",
            cancelled_by="clinic",
        ),
        ADMIT.but("No allergies to these.", "negation", "allergies", no_allergies=["latex", "penicillin"]),
        ADMIT.but("Discharge the patient.", "opposite", tool="discharge_patient"),
        ADMIT.but("Readmit the patient.", "negation", tool="readmit_patient"),
        ADMIT.but("From Pediatrics.", "opposite", "ward", from_ward="Pediatrics"),
        ADMIT.sent("list", allergies="latex/penicillin"),
        INFUSE.but("120 ml in all.", "other name", "rate_ml_per_hour", volume_ml=120.0),
        INFUSE.but("120 drops per minute.", "unit", "rate_ml_per_hour", rate_drops_per_minute=120.0),
        INFUSE.sent("unit", "rate_ml_per_hour", rate_ml_per_minute=2.0),
        INFUSE.sent("unit", rate_ml_per_hour="2 ml/min"),
        INFUSE.but("At most 120 ml per hour.", "other name", "rate_ml_per_hour", max_rate_ml_per_hour=120.0),
    ],
)
