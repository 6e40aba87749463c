"""Flights: search, bookings, seats, luggage."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Airport = Literal["FRA", "MUC", "LHR", "LGW", "JFK"]
Booking = Annotated[str, Known("booking", "handle")]
Cabin = Literal["economy", "premium", "business"]


class Traveller(Record):
    """Who flies."""

    full_name: str
    birth_date: date
    is_resident: bool = False


class Flights(World):
    """Flights and bookings of an airline; prices are euros."""

    ids: ClassVar = {
        "booking": ("QX7L2P", "QX7L2R", "M90ZT4"),
        "flight": ("LX1071", "LX1017", "LX318"),
    }

    @reads
    def search_flights(
        self,
        origin: Airport,
        depart_on: date,
        max_price_eur: Annotated[float, Field(gt=0, le=20_000)] = 1000.0,
        max_stops: Annotated[int, Field(ge=0, le=3)] = 1,
        cabin: Cabin = "economy",
        sort_by: Literal["price", "duration", "departure"] = "price",
        *,
        refundable: bool = False,
    ) -> None:
        """Return the flights that leave an airport on a day."""

    @reads
    def get_status(self, flight_no: Annotated[str, Known("flight")], on_day: date) -> None:
        """Return whether a flight is on time."""

    @reads
    def list_seats(
        self, flight_no: Annotated[str, Known("flight")], position: Literal["window", "middle", "aisle"] = "window"
    ) -> None:
        """Return the free seats of a flight."""

    @writes()
    def book_flight(
        self, flight_no: Annotated[str, Known("flight")], travellers: list[Traveller], cabin: Cabin = "economy"
    ) -> None:
        """Book a flight."""

    @writes(destructive=True, idempotent=True)
    def cancel_booking(
        self, booking_code: Booking, refund_to: Literal["card", "voucher"] = "card", *, notify: bool = True
    ) -> None:
        """Cancel a booking."""

    @writes(destructive=True, idempotent=True)
    def change_date(self, booking_code: Booking, new_date: date, max_fee_eur: float = 0.0) -> None:
        """Move a booking to another day."""

    @writes(idempotent=True)
    def add_luggage(
        self, booking_code: Booking, pieces: Annotated[int, Field(ge=1, le=6)], weight_kg: Annotated[int, Field(le=32)]
    ) -> None:
        """Add pieces of luggage, each as heavy as that."""

    @writes(idempotent=True)
    def request_meal(
        self, booking_code: Booking, meals: list[Literal["vegan", "kosher", "halal", "lactose_free"]]
    ) -> None:
        """Ask for special meals."""


_ANN = {"full_name": "Ann Weber", "birth_date": "1990-04-09", "is_resident": False}
SEARCH = Meant(
    "Refundable business flights from Frankfurt on 8 March 2027 for up to 1,400 euros, one stop at most, by duration.",
    *("search_flights",),
    origin="FRA",
    depart_on="2027-03-08",
    max_price_eur=1400.0,
    max_stops=1,
    cabin="business",
    sort_by="duration",
    refundable=True,
)
STATUS = Meant("Whether LX1071 is on time on 8 March 2027.", "get_status", flight_no="LX1071", on_day="2027-03-08")
SEATS = Meant("Free aisle seats of LX318.", "list_seats", flight_no="LX318", position="aisle")
BOOK = Meant(
    "Book LX1071 for Ann Weber, born on 9 April 1990, not resident, in economy.",
    *("book_flight",),
    flight_no="LX1071",
    travellers=[_ANN],
    cabin="economy",
)
CANCEL = Meant(
    "Cancel QX7L2P, refund as a voucher, tell nobody.",
    *("cancel_booking",),
    booking_code="QX7L2P",
    refund_to="voucher",
    notify=False,
)
CHANGE = Meant(
    "Move QX7L2P to 5 June 2027 for a fee of 80 euros at most.",
    *("change_date",),
    booking_code="QX7L2P",
    new_date="2027-06-05",
    max_fee_eur=80.0,
)
LUGGAGE = Meant("Add 2 pieces of 23 kg each to M90ZT4.", "add_luggage", booking_code="M90ZT4", pieces=2, weight_kg=23)
MEAL = Meant("A vegan and a kosher meal for M90ZT4.", "request_meal", booking_code="M90ZT4", meals=["vegan", "kosher"])
ONE_MEAL = Meant("A halal meal for QX7L2P.", "request_meal", booking_code="QX7L2P", meals=["halal"])

TRADE = Trade(
    Flights,
    [SEARCH, STATUS, SEATS, BOOK, CANCEL, CHANGE, LUGGAGE, MEAL, ONE_MEAL],
    [
        SEARCH.but("Flights to Frankfurt.", "opposite", "origin", destination="FRA"),
        SEARCH.but("Flights that arrive on 8 March.", "opposite", "depart_on", arrive_on="2027-03-08"),
        SEARCH.but("Flights that do not leave on 8 March.", "negation", "depart_on", depart_not_on="2027-03-08"),
        SEARCH.but("For at least 1,400 euros.", "opposite", "max_price_eur", min_price_eur=1400.0),
        SEARCH.but("For up to 1,400 dollars.", "currency", "max_price_eur", max_price_usd=1400.0),
        SEARCH.but("For up to 1,400 dollars.", "currency", max_price_eur="$1400"),
        SEARCH.but("For up to 1,400 miles of the bonus card.", "unit", max_price_eur="1400 miles"),
        SEARCH.but("At least one stop.", "opposite", "max_stops", min_stops=1),
        SEARCH.but("A stop of one hour at most.", "other name", "max_stops", max_stop_hours=1),
        SEARCH.but("Premium economy plus, another class.", "other value", cabin="premium economy plus"),
        SEARCH.but("From the city of Frankfurt-Hahn.", "other value", origin="HHN"),
        SEARCH.but("From Munster.", "other value", origin="MUN"),
        SEARCH.but("By arrival.", "opposite", sort_by="arrival"),
        SEARCH.but("The dearest first.", "opposite", sort_by="price_descending"),
        SEARCH.but("Flights that are nonrefundable, and no others.", "negation", "refundable", refunded_only=True),
        SEARCH.but("Freight from Frankfurt.", "other tool", tool="search_freights"),
        STATUS.but("Whether the booking QX7L2P is paid.", "other thing", "flight_no", booking_code="QX7L2P"),
        STATUS.but("Until 8 March.", "other name", "on_day", until_day="2027-03-08"),
        STATUS.but("The statutes of LX1071.", "other tool", tool="get_statutes"),
        STATUS.but("LX1071A, an extra flight.", "sibling id", flight_no="LX1071A"),
        SEATS.but("Seats that are not at the aisle.", "negation", position="nonaisle"),
        SEATS.but("Seats at the wing.", "other value", position="wing"),
        SEATS.but("Taken seats.", "opposite", tool="list_taken_seats"),
        SEATS.but("Seats where the wall has no window.", "negation", position="windowless"),
        BOOK.but("A baby on the lap of Ann Weber.", "other name", "travellers", infants=[_ANN]),
        BOOK.but("Ann Weber as contact, not as traveller.", "other name", "travellers", contacts=[_ANN]),
        BOOK.but(
            "Born before 1990.", "other name", travellers=[{"full_name": "Ann Weber", "born_before": "1990-04-09"}]
        ),
        BOOK.but(
            "Nonresident according to her card.", "negation", travellers=[{**_ANN, "is_resident": "non-resident alien"}]
        ),
        BOOK.but("In any class.", "other value", cabin="any"),
        BOOK.but("Hold LX1071 for a day.", "other tool", tool="hold_flight"),
        BOOK.but("Look LX1071 up.", "other tool", tool="lookup_flight"),
        BOOK.but("For up to 300 euros only.", "extra", max_price_eur=300.0),
        CANCEL.but("Cancel the insurance of QX7L2P.", "other tool", tool="cancel_insurance"),
        CANCEL.but("Cancel only the way back.", "extra", leg="return"),
        CANCEL.but("Refund to a card that was issued for vouchers.", "other value", refund_to="voucher_card"),
        CANCEL.but("Refund as cash.", "other value", refund_to="cash"),
        CANCEL.but("Refund from the voucher.", "opposite", "refund_to", refund_from="voucher"),
        nothing("Cancel all bookings of LX1071.", "other thing", "cancel_booking", flight_no="LX1071"),
        CHANGE.but("It was booked for 5 June before.", "opposite", "new_date", old_date="2027-06-05"),
        CHANGE.but("By 5 June at the latest.", "other name", "new_date", latest_date="2027-06-05"),
        CHANGE.but("At least 80 euros back.", "opposite", "max_fee_eur", min_refund_eur=80.0),
        CHANGE.but("80 percent at most.", "unit", "max_fee_eur", max_fee_percent=80.0),
        CHANGE.sent("unit", "max_fee_eur", max_fee_cents=8000),
        LUGGAGE.but("23 kg in all.", "other name", "weight_kg", total_weight_kg=23),
        LUGGAGE.but("23 pounds each.", "unit", "weight_kg", weight_lb=23),
        LUGGAGE.but("2 pieces of hand luggage.", "other name", "pieces", cabin_pieces=2),
        LUGGAGE.but("Insure 2 pieces of luggage.", "other tool", tool="add_baggage_insurance"),
        MEAL.but("A meal that is not vegan.", "negation", meals=["non-vegan"]),
        MEAL.but("A meal with lactose.", "negation", meals=["lactose"]),
        MEAL.but("No vegan meal.", "negation", "meals", without_meals=["vegan"]),
        ONE_MEAL.but("A shalom meal.", "other value", meals=["shalom"]),
    ],
)
