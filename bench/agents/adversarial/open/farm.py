"""A farm: fields, crops, animals, irrigation."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Plot = Annotated[str, Known("plot")]
Animal = Annotated[str, Known("animal")]
Crop = Annotated[str, Known("crop", "spelled")]


class Mixture(Record):
    """What is spread on a field."""

    nitrogen_kg: float = Field(ge=0, le=500)
    phosphate_kg: float = Field(ge=0, le=500)
    dilution_percent: float = Field(ge=0, le=100)
    is_organic: bool = False


class Farm(World):
    """Plots, crops and animals of a farm."""

    ids: ClassVar = {
        "plot": ("F-12N", "F-21N", "F-12S"),
        "animal": ("DE-0442", "DE-0424", "DE-1107"),
        "crop": ("winter wheat", "winter barley", "summer wheat", "rapeseed"),
    }

    @reads
    def get_soil(
        self,
        plot_id: Plot,
        depth_cm: Annotated[int, Field(ge=5, le=200)] = 30,
        property: Literal["moisture", "acidity", "nitrate"] = "moisture",  # noqa: A002 - as a server may name it
    ) -> None:
        """Return what was measured in the soil."""

    @reads
    def forecast_yield(
        self,
        plot_id: Plot,
        crop: Crop,
        sown_before: date | None = None,
        unit: Literal["t_per_ha", "kg_per_ha"] = "t_per_ha",
        *,
        irrigated: bool = False,
    ) -> None:
        """Return the yield to expect."""

    @reads
    def list_animals(
        self,
        species: Literal["cattle", "sheep", "goat"],
        max_age_months: int | None = None,
        status: Literal["healthy", "treated", "quarantined"] = "healthy",
    ) -> None:
        """Return animals."""

    @writes()
    def sow_crop(
        self, plot_id: Plot, crop: Crop, seed_kg: Annotated[float, Field(gt=0, le=2000)], row_spacing_cm: float = 12.5
    ) -> None:
        """Sow a crop."""

    @writes()
    def irrigate(
        self, plot_ids: list[str], water_l: Annotated[int, Field(gt=0, le=500_000)], duration_minutes: int = 60
    ) -> None:
        """Water plots, each with as much."""

    @writes(destructive=True)
    def spread_fertilizer(self, plot_id: Plot, mixture: Mixture, on_day: date) -> None:
        """Spread a mixture."""

    @writes(destructive=True)
    def treat_animal(
        self,
        animal_id: Animal,
        drug: Literal["antibiotic", "dewormer", "vaccine"],
        dose_ml: Annotated[float, Field(gt=0, le=100)],
        withdrawal_days: int = 14,
    ) -> None:
        """Treat an animal."""

    @writes(destructive=True, idempotent=True)
    def set_gate(
        self, plot_id: Plot, position: Literal["open", "half_open", "shut"], *, alarm_enabled: bool = True
    ) -> None:
        """Set the gate of a plot."""


_MIX = {"nitrogen_kg": 80.0, "phosphate_kg": 25.0, "dilution_percent": 40.0, "is_organic": True}
SOIL = Meant("The nitrate of F-12N at 60 cm.", "get_soil", plot_id="F-12N", depth_cm=60, property="nitrate")
YIELD = Meant(
    "The yield of irrigated winter wheat on F-12S, sown before 5 October 2026, in kg per ha.",
    *("forecast_yield",),
    plot_id="F-12S",
    crop="winter wheat",
    sown_before="2026-10-05",
    unit="kg_per_ha",
    irrigated=True,
)
ANIMALS = Meant(
    "Treated cattle of 24 months at most.", "list_animals", species="cattle", max_age_months=24, status="treated"
)
SOW = Meant(
    "Sow 180 kg of winter barley on F-21N in rows of 15 cm.",
    "sow_crop",
    plot_id="F-21N",
    crop="winter barley",
    seed_kg=180.0,
    row_spacing_cm=15.0,
)
WATER = Meant(
    "Water F-12N and F-12S with 12,000 litres each in 90 minutes.",
    "irrigate",
    plot_ids=["F-12N", "F-12S"],
    water_l=12_000,
    duration_minutes=90,
)
SPREAD = Meant(
    "On 4 March 2027 spread 80 kg of nitrogen and 25 kg of phosphate at 40 percent on F-12N, organic.",
    *("spread_fertilizer",),
    plot_id="F-12N",
    mixture=_MIX,
    on_day="2027-03-04",
)
TREAT = Meant(
    "Give DE-0442 7.5 ml of the dewormer; 28 days of withdrawal.",
    *("treat_animal",),
    animal_id="DE-0442",
    drug="dewormer",
    dose_ml=7.5,
    withdrawal_days=28,
)
GATE = Meant(
    "Open the gate of F-21N, with the alarm on.", "set_gate", plot_id="F-21N", position="open", alarm_enabled=True
)
WATER_ONE = Meant("Water F-21N with 5,000 litres.", "irrigate", plot_ids=["F-21N"], water_l=5000)

TRADE = Trade(
    Farm,
    [SOIL, YIELD, ANIMALS, SOW, WATER, SPREAD, TREAT, GATE, WATER_ONE],
    [
        SOIL.but("At 60 cm above the ground.", "opposite", "depth_cm", height_cm=60),
        SOIL.sent("unit", "depth_cm", depth_m=0.6),
        SOIL.but("60 feet.", "unit", depth_cm="60 ft"),
        SOIL.but("The nitrite.", "other value", property="nitrite"),
        SOIL.but("The placidity, a score of the farm.", "other value", property="placidity"),
        SOIL.but("The nitrate of the crop.", "other thing", "plot_id", crop="winter wheat"),
        SOIL.but("The oil of the tractor.", "other tool", tool="get_oil"),
        YIELD.but("Sown after 5 October.", "opposite", "sown_before", sown_after="2026-10-05"),
        YIELD.but("Mown before 5 October.", "other name", "sown_before", mown_before="2026-10-05"),
        YIELD.but("Winter spelt.", "other value", crop="winter spelt"),
        YIELD.but("Winter oats.", "other value", crop="winter oats"),
        YIELD.but("Grapeseed.", "other value", crop="grapeseed"),
        YIELD.but("Unirrigated, which the farm treats as a crop.", "negation", crop="unirrigated wheat"),
        YIELD.but("In kg per acre.", "unit", unit="kg_per_acre"),
        YIELD.but("In lb per ha.", "unit", unit="lb_per_ha"),
        YIELD.but("With rain alone.", "negation", "irrigated", rainfed_only=True),
        YIELD.but("The field's price.", "other tool", tool="forecast_field"),
        ANIMALS.but("24 months at least.", "opposite", "max_age_months", min_age_months=24),
        ANIMALS.sent("unit", "max_age_months", max_age_years=2),
        ANIMALS.sent("unit", max_age_months="2 years"),
        ANIMALS.but("Untreated ones.", "negation", status="untreated"),
        ANIMALS.but("Unhealthy ones.", "negation", status="unhealthy"),
        ANIMALS.but("Mistreated ones.", "negation", status="mistreated"),
        ANIMALS.but("Boats.", "other value", species="boat"),
        ANIMALS.but("24 kg at most.", "other name", "max_age_months", max_weight_kg=24),
        SOW.but("Mow the barley.", "other tool", tool="mow_crop"),
        SOW.but("180 kg per ha.", "unit", "seed_kg", seed_kg_per_ha=180.0),
        SOW.but("180 grains.", "unit", seed_kg="180 grains"),
        SOW.sent("unit", seed_kg="0.18 t"),
        SOW.but("Summer barley.", "opposite", crop="summer barley"),
        SOW.but("180 kg of feed.", "other name", "seed_kg", feed_kg=180.0),
        SOW.but("15 rows.", "other name", "row_spacing_cm", row_count=15),
        WATER.but("Drain them.", "opposite", tool="drain"),
        WATER.but("12,000 litres in all.", "other name", "water_l", total_water_l=12_000),
        WATER.but("12,000 gallons.", "unit", water_l="12000 gal"),
        WATER.sent("number", water_l="12.000"),
        WATER.sent("number", water_l="12 000"),
        WATER.but("In 90 minutes from now.", "other name", "duration_minutes", delay_minutes=90),
        WATER.sent("list", plot_ids="F-12N and F-12S"),
        WATER.but("All plots but these.", "negation", "plot_ids", skip_plot_ids=["F-12N", "F-12S"]),
        SPREAD.but(
            "Potash, not phosphate.",
            "other name",
            mixture={"nitrogen_kg": 80.0, "potash_kg": 25.0, "dilution_percent": 40.0},
        ),
        SPREAD.but("80 lb.", "unit", mixture={"nitrogen_lb": 80.0, "phosphate_kg": 25.0, "dilution_percent": 40.0}),
        SPREAD.sent(
            "unit", mixture={"nitrogen_kg": 80.0, "phosphate_kg": 25.0, "dilution_ratio": 0.4, "is_organic": True}
        ),
        SPREAD.but("Inorganic.", "negation", mixture={**_MIX, "is_organic": "inorganic"}),
        SPREAD.but(
            "40 percent concentrate.",
            "opposite",
            mixture={"nitrogen_kg": 80.0, "phosphate_kg": 25.0, "concentration_percent": 40.0},
        ),
        SPREAD.but("Not on 4 March.", "negation", "on_day", not_on_day="2027-03-04"),
        SPREAD.but("Spread it until 4 March.", "other name", "on_day", until_day="2027-03-04"),
        TREAT.but("A probiotic.", "opposite", drug="probiotic"),
        TREAT.but("7.5 ml per kg.", "unit", "dose_ml", dose_ml_per_kg=7.5),
        TREAT.but("7.5 mg.", "unit", "dose_ml", dose_mg=7.5),
        TREAT.but("7.5 mg.", "unit", dose_ml="7.5 mg"),
        TREAT.but("Retreat DE-0442 as last time.", "negation", tool="retreat_animal"),
        GATE.but("Unopened.", "negation", position="unopened"),
        GATE.but("Reopen it at noon.", "negation", position="reopen"),
        GATE.but("With the lamp on.", "other name", "alarm_enabled", lamp_enabled=True),
        nothing(
            "Open the gates of all plots with winter wheat.",
            "other thing",
            "set_gate",
            crop="winter wheat",
            position="open",
        ),
        WATER_ONE.but("5,000 kilograms of feed.", "unit", water_l="5000 kg"),
    ],
)
