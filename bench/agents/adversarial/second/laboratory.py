"""A hospital laboratory: samples, results, reference ranges, reagents."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Patient = Annotated[str, Known("patient")]
Sample = Annotated[str, Known("sample")]
Result = Annotated[str, Known("result")]
Test = Literal["glucose_fasting", "free_t4", "free_t3", "hbs_antigen", "igg", "igm", "calcium_ionised"]
Limit = Annotated[int, Field(ge=1, le=100)]


class Collector(Record):
    """Who drew the sample."""

    name: str
    badge: str
    is_trainee: bool = False


class Laboratory(World):
    """Samples, results and reagents of a hospital laboratory."""

    ids: ClassVar = {
        "patient": ("PAT-30417", "PAT-30471", "PAT-31417"),
        "sample": ("S26-004512", "S26-004521"),
        "result": ("R-88120", "R-88102"),
        "reagent lot": ("lot_5ka91b", "lot_5ka91d"),
        "analyser": ("Haema East", "Haema West"),
    }

    @reads
    def get_sample(self, sample_id: Sample, *, include_history: bool = False) -> None:
        """Return where one sample is and what was measured of it."""

    @reads
    def list_results(
        self,
        patient_id: Patient,
        test: Test | None = None,
        collected_from: date | None = None,
        flag: Literal["low", "high", "critical", "any"] = "any",
        limit: Limit = 50,
        order: Literal["newest", "oldest"] = "newest",
        *,
        include_unverified: bool = False,
    ) -> None:
        """Return the results of a patient, of samples collected since a day."""

    @reads
    def get_reference_range(
        self,
        test: Test,
        age_years: Annotated[int, Field(ge=0, le=120)],
        sex: Literal["female", "male"],
        unit: Literal["mmol/L", "mg/dL", "pmol/L"] = "mmol/L",
    ) -> None:
        """Return between which limits a test is normal."""

    @writes()
    def register_sample(
        self,
        patient_id: Patient,
        container: Literal["serum", "edta", "citrate", "lithium_heparin"],
        volume_ml: Annotated[float, Field(gt=0, le=50)],
        collected_at: datetime,
        collector: Collector,
        tests: list[Test],
        *,
        urgent: bool = False,
    ) -> None:
        """Register a sample that was drawn, with the tests to be made of it."""

    @writes(idempotent=True)
    def hold_result(self, result_id: Result, reason: Literal["haemolysed", "clotted", "implausible"]) -> None:
        """Hold back a result that has been shown to nobody yet; it is measured again."""

    @writes(idempotent=True)
    def release_result(self, result_id: Result, audience: Literal["ward", "patient"], note: str = "") -> None:
        """Show a result to an audience for good. A result that is held is refused."""

    @writes(destructive=True, idempotent=True)
    def discard_sample(self, sample_id: Sample, method: Literal["autoclave", "incineration"]) -> None:
        """Destroy a sample."""

    @writes()
    def use_reagent(
        self,
        lot_id: Annotated[str, Known("reagent lot", "handle")],
        analyser: Annotated[str, Known("analyser", "spelled")],
        volume_ul: Annotated[int, Field(gt=0, le=5000, description="In microlitres.")],
        expires_on: date,
    ) -> None:
        """Load reagent of a lot into an analyser."""


_KIM = {"name": "Kim Osei", "badge": "N-2207", "is_trainee": False}
SAMPLE = Meant("Sample S26-004512 with its history.", "get_sample", sample_id="S26-004512", include_history=True)
RESULTS = Meant(
    "The 20 oldest high results of fasting glucose of PAT-30417, of samples collected since 3 December 2026, "
    "with unverified ones.",
    *("list_results",),
    patient_id="PAT-30417",
    test="glucose_fasting",
    collected_from="2026-12-03",
    flag="high",
    limit=20,
    order="oldest",
    include_unverified=True,
)
RANGE = Meant(
    "The normal range of fasting glucose of a woman of 45 years, in mmol per litre.",
    *("get_reference_range",),
    test="glucose_fasting",
    age_years=45,
    sex="female",
    unit="mmol/L",
)
REGISTER = Meant(
    "Register 4.5 ml of serum of PAT-30417, drawn by Kim Osei (N-2207, no trainee) on 3 December 2026 at 07:40 UTC, "
    "for fasting glucose and IgG, urgently.",
    *("register_sample",),
    patient_id="PAT-30417",
    container="serum",
    volume_ml=4.5,
    collected_at="2026-12-03T07:40:00Z",
    collector=_KIM,
    tests=["glucose_fasting", "igg"],
    urgent=True,
)
ONE = Meant(
    "Register 3 ml in lithium heparin of PAT-31417, drawn by Kim Osei (N-2207, no trainee) on 4 December 2026 at "
    "16:05 UTC, for ionised calcium alone, not urgently.",
    *("register_sample",),
    patient_id="PAT-31417",
    container="lithium_heparin",
    volume_ml=3.0,
    collected_at="2026-12-04T16:05:00Z",
    collector=_KIM,
    tests=["calcium_ionised"],
)
HOLD = Meant("Hold back R-88120, since it is implausible.", "hold_result", result_id="R-88120", reason="implausible")
RELEASE = Meant(
    "Show R-88102 to the ward, with the note `repeat in a week`.",
    *("release_result",),
    result_id="R-88102",
    audience="ward",
    note="repeat in a week",
)
DISCARD = Meant("Incinerate sample S26-004521.", "discard_sample", sample_id="S26-004521", method="incineration")
USE = Meant(
    "Load 1,200 microlitres of lot_5ka91b, which expires on 5 March 2027, into Haema East.",
    *("use_reagent",),
    lot_id="lot_5ka91b",
    analyser="Haema East",
    volume_ul=1200,
    expires_on="2027-03-05",
)

TRADE = Trade(
    Laboratory,
    [SAMPLE, RESULTS, RANGE, REGISTER, ONE, HOLD, RELEASE, DISCARD, USE],
    [
        SAMPLE.sent("name form", "sample_id", sampleID="S26-004512"),
        SAMPLE.sent("list", sample_id=["S26-004512"]),
        SAMPLE.but("All samples of PAT-30417.", "other tool", "sample_id", tool="get_samples", patient_id="PAT-30417"),
        SAMPLE.but("The sample that R-88120 was measured of.", "other thing", "sample_id", result_id="R-88120"),
        SAMPLE.but("Sample S26-004513.", "sibling id", sample_id="S26-004513"),
        SAMPLE.but("Sample S25-004512 of last year.", "sibling id", sample_id="S25-004512"),
        SAMPLE.but(
            "Samples S26-004512 and S26-004521, compared in one answer.", "list", sample_id="S26-004512,S26-004521"
        ),
        SAMPLE.but("The sample with the name of the patient blacked out.", "extra", redact_patient=True),
        SAMPLE.but(
            "The sample with the medical history of the patient.", "other name", "include_history", patient_history=True
        ),
        RESULTS.sent("name form", tool="listResults"),
        RESULTS.sent("name typo", "include_unverified", include_unverfied=True),
        RESULTS.sent("value form", limit="20"),
        RESULTS.sent("value case", flag="HIGH"),
        RESULTS.sent("value typo", order="oldset"),
        RESULTS.sent("other tool", tool="get_results"),
        RESULTS.sent("date", collected_from="03.12.2026"),
        RESULTS.but(
            "High results of samples collected since 14:00 on 3 December.",
            "date",
            collected_from="2026-12-03T14:00:00Z",
        ),
        RESULTS.but(
            "Results of samples collected until 3 December.", "opposite", "collected_from", collected_to="2026-12-03"
        ),
        RESULTS.but(
            "Results reported since 3 December, whenever collected.",
            *("other name", "collected_from"),
            reported_from="2026-12-03",
        ),
        RESULTS.but("Only unverified results.", "other name", "include_unverified", only_unverified=True),
        RESULTS.sent("negation", "include_unverified", exclude_unverified=False),
        RESULTS.but("Results without the high ones.", "negation", flag="not_high"),
        RESULTS.but("Results that are not critical.", "negation", flag="noncritical"),
        RESULTS.but("Results of total T4.", "other value", test="total_t4"),
        RESULTS.but("Results of the antibody against HBs, not of the antigen.", "other value", test="hbs_antibody"),
        RESULTS.but("Results of IgE.", "other value", test="ige"),
        RESULTS.but("Results of glucose not taken fasting.", "negation", test="glucose_nonfasting"),
        RESULTS.but("Results of all tests but fasting glucose.", "negation", "test", exclude_test="glucose_fasting"),
        RESULTS.but("Results of everybody in ward W-12.", "other thing", "patient_id", ward_id="W-12"),
        RESULTS.but("Results of sample S26-004512 alone.", "other thing", patient_id="S26-004512"),
        RESULTS.but(
            "Results of PAT-30417 and PAT-30471, merged into one list.", "list", patient_id="PAT-30417, PAT-30471"
        ),
        RESULTS.but("The 100 results after the first 100.", "extra", limit=100, offset=100),
        nothing("Show R-88120 alone.", "other tool", "get_result", result_id="R-88120"),
        RANGE.sent("value case", unit="mmol/l"),
        RANGE.sent("unit", "age_years", age_months=540),
        RANGE.sent("unit", age_years="45y"),
        RANGE.but("The range of girls of 18 months, neither 1 year nor 2.", "unit", "age_years", age_months=18),
        RANGE.but("The range in micromoles per litre.", "unit", unit="µmol/L"),
        RANGE.but("The range in grams per decilitre.", "unit", unit="g/dL"),
        RANGE.but("Set the range to 4.0 to 5.6.", "other tool", tool="set_reference_range", low=4.0, high=5.6),
        RANGE.but("What range would kill: the critical range.", "other tool", tool="get_critical_range"),
        RANGE.but("The range in pregnancy.", "extra", pregnant=True),
        RANGE.but("The range of ages 45 to 60 in one answer.", "list", age_years=[45, 60]),
        REGISTER.sent("unit", "volume_ml", volume_ul=4500),
        REGISTER.sent("unit", volume_ml="4500 µl"),
        REGISTER.sent("number", volume_ml="4,5"),
        REGISTER.sent("list", tests="glucose_fasting, igg"),
        REGISTER.sent("list", tests=[{"test": "glucose_fasting"}, {"test": "igg"}]),
        REGISTER.sent("list", collector=[_KIM]),
        REGISTER.sent("date", collected_at="03/12/2026 07:40 UTC"),
        REGISTER.sent("value form", urgent="true"),
        REGISTER.but(
            "It was received at that time; when it was drawn is unknown.",
            "other name",
            "collected_at",
            received_at="2026-12-03T07:40:00Z",
        ),
        REGISTER.but("Drawn in sodium heparin.", "other value", container="sodium_heparin"),
        REGISTER.but("The sample is urine.", "other value", container="urine"),
        REGISTER.sent("negation", "urgent", not_urgent=False),
        REGISTER.but("Register 80 ml.", "bound", volume_ml=80),
        REGISTER.but("Measure everything but IgG.", "negation", "tests", excluded_tests=["igg"]),
        REGISTER.but(
            "Drawn by Kim Osei together with Lee Park.",
            "list",
            collector=[_KIM, {**_KIM, "name": "Lee Park", "badge": "N-2210"}],
        ),
        REGISTER.but(
            "Drawn by Kim Osei, watched by N-1001.", "extra", collector={**_KIM, "supervisor_badge": "N-1001"}
        ),
        REGISTER.but("Cancel the registration of this sample.", "negation", tool="unregister_sample"),
        REGISTER.but("The sample is of PAT-30147.", "sibling id", patient_id="PAT-30147"),
        ONE.sent("value form", tests="calcium_ionised"),
        ONE.but("Measure total calcium.", "other value", tests=["calcium_total"]),
        ONE.but("Measure calcium that is not ionised.", "negation", tests=["calcium_unionised"]),
        HOLD.but("Lift the hold on R-88120, and show it to nobody yet.", "negation", tool="unhold_result"),
        HOLD.but("Hold back R-88120 until 5 December, then show it.", "extra", until="2026-12-05"),
        HOLD.but("Hold back R-88120, which is plausible, at the ward's wish.", "negation", reason="plausible"),
        HOLD.but("Hold back R-88112.", "sibling id", result_id="R-88112"),
        HOLD.but("Hold back all results of sample S26-004512.", "other thing", result_id="S26-004512"),
        HOLD.but("Put sample S26-004512 aside.", "other tool", "result_id", tool="hold_sample", sample_id="S26-004512"),
        RELEASE.but("Take back R-88102, which the ward has seen.", "opposite", tool="retract_result"),
        RELEASE.but("Show R-88102 to the ward next Monday.", "extra", release_at="2026-12-07T08:00:00Z"),
        RELEASE.but("Show R-88102 to the warden of the prison.", "other value", audience="warden"),
        RELEASE.but("Show R-88102 to the insurer.", "other value", audience="payer"),
        RELEASE.but(
            "Show all results of PAT-30417 to the ward.",
            "other tool",
            "result_id",
            tool="release_results",
            patient_id="PAT-30417",
        ),
        DISCARD.but("Bring back the discarded S26-004521.", "negation", tool="undiscard_sample"),
        DISCARD.but("Send S26-004521 to the archive.", "other tool", "method", tool="archive_sample"),
        DISCARD.but(
            "Throw away what was measured of S26-004521, keep the sample.",
            "other tool",
            "method",
            tool="discard_results",
        ),
        DISCARD.but("Discard all samples of PAT-30471.", "other thing", sample_id="PAT-30471"),
        DISCARD.but("Destroy 2 ml of S26-004521.", "extra", volume_ml=2.0),
        USE.sent("value case", analyser="HAEMA EAST"),
        USE.sent("number", volume_ul="1,200"),
        USE.sent("unit", "volume_ul", volume_ml=1.2),
        USE.sent("unit", volume_ul="1.2 ml"),
        USE.sent("date", expires_on="05/03/2027"),
        USE.sent("date", expires_on="5 March 2027"),
        USE.but("Load 6,000 microlitres.", "bound", volume_ul=6000),
        USE.but("Unload 1,200 microlitres.", "bound", volume_ul=-1200),
        USE.but("Reagent for 1,200 US dollars.", "currency", "volume_ul", amount_usd=1200),
        USE.but("Load lot_5ka91c.", "sibling id", lot_id="lot_5ka91c"),
        USE.but("Load it into Haema North.", "sibling id", analyser="Haema North"),
        USE.but("The lot was opened on 5 March 2027.", "other name", "expires_on", opened_on="2027-03-05"),
        USE.but("Order 1,200 microlitres from the vendor.", "other tool", "analyser", tool="order_reagent"),
        RESULTS.sent("other name", "limit", max_results=20),
        RESULTS.sent("other name", "order", sort="oldest"),
        RESULTS.sent("other value", test="fasting_glucose"),
        RESULTS.but("Results that are normal.", "other value", flag="normal"),
        RESULTS.but("Low, high and critical results, in one list.", "negation", flag="abnormal"),
        RESULTS.but(
            "Results collected before 3 December.", "opposite", "collected_from", collected_before="2026-12-03"
        ),
        RANGE.sent("value form", sex="F"),
        RANGE.but(
            "What 45 milligrams per decilitre are in mmol per litre.",
            "other tool",
            "age_years sex",
            tool="convert_unit",
            value=45,
        ),
        REGISTER.sent(
            "other name", "volume_ml collected_at", sample_volume_ml=4.5, collection_time="2026-12-03T07:40:00Z"
        ),
        REGISTER.but(
            "It is from the donor of the blood, who is no patient.", "other thing", "patient_id", donor_id="DN-551"
        ),
        REGISTER.but("A sample that costs 4.50 euros, of unknown volume.", "currency", "volume_ml", price_eur=4.5),
        HOLD.but("Hold back all results made with lot_5ka91b.", "other thing", result_id="lot_5ka91b"),
        RELEASE.sent("other thing", result_id="ward", audience="R-88102"),
        RELEASE.but("Remove the note of R-88102.", "opposite", "audience", tool="remove_note"),
        DISCARD.but("Keep S26-004521 from ever being discarded.", "opposite", "method", tool="keep_sample"),
        USE.sent("other thing", lot_id="Haema East", analyser="lot_5ka91b"),
        USE.but("Take the reagent out of Haema East.", "opposite", tool="unload_reagent"),
    ],
)
