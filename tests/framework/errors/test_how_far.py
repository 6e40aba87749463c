"""How far a correction may go, as a table (contract section 3, "What a next step may say") and laws over any input."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import pytest

from tests.doors import correction, how_far, near_names

Answer: TypeAlias = Literal["use", "ask", "list", "drop"]
What: TypeAlias = Literal["parameter", "enum", "value", "tool", "reference"]
Kind: TypeAlias = Literal["spelled", "identifier", "handle", "secret"]

STEPS: tuple[Answer, ...] = ("drop", "list", "ask", "use")
SPELLED: tuple[What, ...] = ("parameter", "enum", "tool", "reference")
LONG = ("{}_temperature_of_the_warehouse_corridor", "report-of-the-yearly-{}-at-every-counter")


class Row(NamedTuple):
    """One case and its answer."""

    given: Any
    meant: Any
    what: What
    changes: bool
    expected: Answer
    kind: Kind = "spelled"
    about: str = ""

    def answer(self) -> Answer:
        """What the function says."""
        said: Answer = how_far(
            self.given, self.meant, what=self.what, changes=self.changes,
            kind=self.kind, about=self.about,
        )  # fmt: skip
        return said


def mistaken(rows: Iterable[Row]) -> list[tuple[Row, Answer]]:
    """The rows that are answered otherwise, with that answer."""
    answers = [(row, row.answer()) for row in rows]
    assert answers, "a family without rows proves nothing"
    return [(row, answer) for row, answer in answers if answer != row.expected]


def pairs(words: str, between: str = "/") -> list[tuple[str, str]]:
    """The pairs of a text such as "min/max from/to" or of lines such as "a b = a_b"."""
    parts = words.split() if between == "/" else words.strip().splitlines()
    return [(left.strip(), right.strip()) for left, right in (part.split(between) for part in parts)]


def both_ways(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each pair, and each turned round."""
    for left, right in found:
        yield left, right
        yield right, left


def in_long_names(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each pair alone, and inside names so long that a whole word is within the edit limit."""
    for left, right in found:
        yield left, right
        for frame in LONG:
            yield frame.format(left), frame.format(right)
        yield f"warehouseCorridorReport{left.title()}", f"warehouseCorridorReport{right.title()}"


def never(found: Iterable[tuple[str, str]], whats: tuple[What, ...] = SPELLED) -> list[Row]:
    """Rows that only list, whether read or written, in either direction."""
    return [
        Row(left, right, what, changes, "list")
        for left, right in both_ways(found) for what in whats for changes in (False, True)
    ]  # fmt: skip


OPPOSITES = pairs("""
    min/max minimum/maximum from/to head/tail start/end first/last before/after above/below left/right top/bottom
    upper/lower north/south east/west in/out on/off up/down open/close opened/closed opening/closing input/output
    inbound/outbound incoming/outgoing import/export source/target source/destination buy/sell buyer/seller debit/credit
    income/expense sender/receiver push/pull read/write upload/download enable/disable enabled/disabled include/exclude
    included/excluded inclusive/exclusive allow/deny allowed/forbidden accept/reject accepted/rejected add/remove
    insert/delete create/delete show/hide visible/hidden lock/unlock encrypt/decrypt encode/decode compress/decompress
    asc/desc ascending/descending increase/decrease increment/decrement old/new oldest/newest earliest/latest
    next/previous parent/child ancestor/descendant internal/external public/private local/remote client/server
    sync/async gross/net bid/ask deposit/withdraw deposit/withdrawal lend/borrow lender/borrower payer/payee
    payable/receivable asset/liability profit/loss employer/employee landlord/tenant lessor/lessee licensor/licensee
    trainer/trainee caller/callee mentor/mentee hot/cold wet/dry hard/soft heavy/light fast/slow fastest/slowest
    day/night morning/evening weekday/weekend sunrise/sunset summer/winter tomorrow/yesterday past/future
    arrival/departure arriving/departing inlet/outlet inflow/outflow supply/demand anode/cathode forward/backward
    forward/reverse numerator/denominator prefix/suffix header/footer ingress/egress ascent/descent male/female
    donor/acceptor winner/loser success/failure pass/fail true/false yes/no positive/negative plus/minus odd/even
    inner/outer inside/outside shallow/deep near/far nearest/farthest wide/narrow full/empty hit/miss attach/detach
    connect/disconnect mount/unmount install/uninstall subscribe/unsubscribe grant/revoke freeze/thaw heating/cooling
    charge/discharge inhale/exhale systolic/diastolic arterial/venous afferent/efferent agonist/antagonist
    benign/malignant maternal/paternal upstream/downstream uplink/downlink clockwise/counterclockwise more/less
    greater/less highest/lowest high/low rise/fall front/back always/never with/without all/none
""")
GLUED_OPPOSITES = pairs("""
    mintemperature/maxtemperature minimumheight/maximumheight importfilename/exportfilename
    ascendingorder/descendingorder incrementvalue/decrementvalue employernumber/employeenumber
    payeraccount/payeeaccount minPressureReading/maxPressureReading MIN_PRESSURE_READING/max-pressure-reading
""")
OPPOSITES_AND_A_TYPO = pairs("""
    min_delivery_temperture/max_delivery_temperature maxDeliveryTemperatur/min_delivery_temperature
    first_passenger_of_the_voyge/last_passenger_of_the_voyage employer_registraton_number/employee_registration_number
    sync_replication_of_the_warehose/async_replication_of_the_warehouse
    copy_from_source_to_target_in_the_archive_room/copy_from_target_to_source_in_the_archive_room
    ramp_min_to_max_of_the_heating_element/ramp_max_to_min_of_the_heating_element
""")
UNITS = pairs("""
    ms/s s/min sec/min seconds/minutes minutes/hours hours/days days/weeks weeks/months months/years ms/us us/ns
    milliseconds/microseconds milliseconds/seconds nanoseconds/microseconds cents/dollars cents/euros pence/pounds
    usd/eur kb/mb mb/gb kib/mib bytes/bits bytes/kilobytes megabytes/gigabytes celsius/fahrenheit celsius/kelvin
    km/miles km/m cm/mm meters/feet inches/feet millimeters/centimeters kg/g kg/lb grams/ounces mg/kg
    milligrams/micrograms liters/gallons ml/l px/pt hz/khz mhz/ghz watts/kilowatts volts/millivolts degrees/radians
    percent/ratio percent/fraction joules/calories kcal/kj mol/mmol ppm/ppb
""")
UNIT_OR_NONE = pairs("amount_cents/amount timeout_s/timeout distance_m/distance weight_g/weight price_cents/price")
UNIT_OR_NONE += [
    (f"limit_of_the_nightly_warehouse_backup_{unit}", "limit_of_the_nightly_warehouse_backup")
    for unit in ("ms", "s", "seconds", "minutes", "hours", "days", "cents", "kb", "mb", "bytes", "km", "kg", "percent")
]  # fmt: skip
QUANTITIES = pairs("""
    percent/amount delta/count delta/total ratio/count rate/total rate/amount average/total mean/median mean/sum
    sum/count count/index offset/count size/count length/count length/width width/height height/depth area/volume
    mass/volume weight/volume price/quantity amount/percentage speed/distance voltage/current power/energy
    percent/percentile latitude/longitude variance/mean duration/count
""")
PREFIXED = pairs("""
    unconfirmed/confirmed unpublished/published unsubscribed/subscribed unavailable/available unauthorized/authorized
    unresolved/resolved unassigned/assigned unverified/verified unfinished/finished unscheduled/scheduled unpaid/paid
    unread/read nonrefundable/refundable non_refundable/refundable nonresidential/residential nonconforming/conforming
    inactive/active incomplete/complete inaccessible/accessible insufficient/sufficient independent/dependent
    inconsistent/consistent indirect/direct invisible/visible impossible/possible imperfect/perfect
    irregular/regular irreversible/reversible irrelevant/relevant illegitimate/legitimate disallowed/allowed
    disconnected/connected disapproved/approved dissimilar/similar asymmetric/symmetric asynchronous/synchronous
    atypical/typical abnormal/normal misclassified/classified preordered/ordered prepaid/paid prepaid/postpaid
    preprocessing/postprocessing preoperative/postoperative prenatal/postnatal postprocessing/processing
    postdated/dated predated/postdated undercharged/overcharged undercharged/charged overcharged/charged
    underweight/overweight overweight/weight overdue/due overestimate/underestimate overbooked/booked
    deactivated/activated deactivate/reactivate deallocate/allocate decompressed/compressed decentralized/centralized
    reactivated/activated reordered/ordered rescheduled/scheduled resubmission/submission reopened/opened
    subscript/superscript hyperglycemia/hypoglycemia exothermic/endothermic microscopic/macroscopic
    intramolecular/intermolecular antibacterial/bacterial anticlockwise/clockwise counterproposal/proposal
    no_confirmation_required/confirmation_required without_attachments/with_attachments not_equal/equal
""")
OTHER_IDS = pairs("""
    user_id/order_id userId/orderId user-id/order-id account_id/invoice_id product_id/project_id device_id/service_id
    session_id/sensor_id ticket_id/basket_id team_id/item_id sample_id/study_id gene_id/genome_id
    parcel_uuid/person_uuid warehouse_user_id/warehouse_order_id parent_user_id_of_the_shop/parent_order_id_of_the_shop
    billing_customer_account_id/billing_customer_amount_id linkedShopperBasketId/linkedShopperTicketId
    previous_bank_branch_id/previous_bank_batch_id laboratory_reagent_item_id/laboratory_reagent_team_id
""")
OTHER_IDS_ONE_EDIT_AWAY = pairs("contact_id/contract_id patient_id/patent_id contactId/contract_id")

SAME_LETTERS = pairs("""
    MaxPrice/max_price maxPrice/max_price max-price/max_price MAX_PRICE/max_price maxprice/max_price
    Max-Price/maxPrice delivery_address/deliveryAddress delivery-address/delivery_address
    delivery.address/delivery_address DELIVERYADDRESS/delivery_address orderid/order_id orderId/order_id
    Order-ID/order_id timeoutMs/timeout_ms TIMEOUT-MS/timeout_ms amountCents/amount_cents InProgress/in_progress
    in-progress/IN_PROGRESS un_published/unpublished non-refundable/nonrefundable pre_order/preorder
    Post-Paid/postpaid under_writer/underwriter readOnly/read_only startDate/start_date end-date/endDate
    FromAccount/from_account toAccount/to_account head_count/headcount Kubernetes/kubernetes https/HTTPS
    dry_run/dryRun time-zone/timezone bloodPressure/blood_pressure SKU/sku IsoWeek/iso_week
""")
SAME_LETTERS += [("in progress", "in_progress"), ("Delivery Address", "deliveryAddress"), ("last name", "lastName")]
NEAR = pairs("""
    min_prise/min_price max_prcie/max_price maximun_price/maximum_price strat_date/start_date end_dat/end_date
    form_date/from_date sorce_path/source_path trget_folder/target_folder timeot_ms/timeout_ms amout_cents/amount_cents
    distnace_km/distance_km unconfirmd_orders/unconfirmed_orders non_refundble/non_refundable
    prepaid_amout/prepaid_amount overdue_invoces/overdue_invoices unit_prise/unit_price reprot/report
    interst/interest discont/discount overvew/overview postcod/postcode incme/income preferance/preference
    descripton/description destinaton/destination repostory/repository undrwriter/underwriter invoce/invoice
    documents/document document/documents lines/line line/lines customers/customer colour/color color/colour
    titel/title tilte/title pric/price names/name limt/limit limitt/limit qurey/query serach/search adress/address
    filepth/file_path FilePth/file_path FILE-PTH/file_path recieve_address/receive_address langauge/language
    languge_cod/language_code descritpion_txet/description_text calendarrs/calendar paswenger_nmae/passenger_name
    organisation/organization centre_name/center_name temprature/temperature barometr/barometer
    maintenence_windoww/maintenance_window quater/quarter febuary/february wensday_shift/wednesday_shift
    chromosme/chromosome oligonucleotid/oligonucleotide accuont_holder/account_holder deliverySlto/delivery_slot
    loyality_card/loyalty_card kubernets/kubernetes certifcate/certificate thermostaat/thermostat pendng/pending
    cancelled/canceled shiped/shipped archved/archived issued_aafter/issued_after
""")
TYPO_BASES = [
    "calendar", "passenger", "laboratory", "insurance", "pharmacy", "carpenter", "thermostat", "bakery_branch",
    "mortgage_holder", "telescope_mount", "greenhouse", "customer_name", "rehearsal_room", "printer_queue",
    "subtitle_language",
]  # fmt: skip


def typos(name: str) -> Iterator[str]:
    """The name with one letter dropped, doubled, replaced and transposed."""
    yield name[:4] + name[5:]
    yield name[:4] + name[3:]
    yield name[:4] + "q" + name[5:]
    if name[3] != name[4]:
        yield name[:3] + name[4] + name[3] + name[5:]


NEAR += [(typo, name) for name in TYPO_BASES for typo in typos(name)]
FAR = pairs("""
    nam/name tag/tags nme/name siz/size form/from june/july warhose/warehouse clendr/calendar picture/image
    client/customer Tuesday/Thursday monday/sunday price_min/min_price id_user/user_id category/categories x/limit
    banana/timeout_ms q/query colr/colors_of_paint foo/delivery_address body/recipient bimonthly/monthly
    lagage_cod/language_code shop/workshop_manager ok/acknowledged
""")


@pytest.mark.parametrize(
    "found", [OPPOSITES, UNITS, QUANTITIES, PREFIXED], ids=["opposite", "unit", "quantity", "prefix"]
)
def test_words_that_say_another_thing_are_never_swapped(found: list[tuple[str, str]]) -> None:
    wrong = mistaken(never(in_long_names(found)))
    assert wrong == []


@pytest.mark.parametrize("found", [GLUED_OPPOSITES, OPPOSITES_AND_A_TYPO], ids=["glued", "with a typo"])
def test_an_opposite_is_seen_without_separators_and_beside_a_typo(found: list[tuple[str, str]]) -> None:
    wrong = mistaken(never(found))
    assert wrong == []


def test_a_name_with_a_unit_is_not_the_name_without() -> None:
    wrong = mistaken(never(UNIT_OR_NONE, ("parameter", "enum")))
    assert wrong == []


def test_an_id_of_another_kind_is_no_correction() -> None:
    wrong = mistaken(never(OTHER_IDS, ("parameter",)))
    assert wrong == []


def test_an_id_of_another_kind_is_no_correction_though_one_edit_away() -> None:
    wrong = mistaken(never(OTHER_IDS_ONE_EDIT_AWAY, ("parameter",)))
    assert wrong == []


def test_case_and_separators_make_no_other_name() -> None:
    whats: tuple[What, ...] = ("parameter", "enum")
    rows = [Row(a, b, what, changes, "use") for a, b in SAME_LETTERS for what in whats for changes in (False, True)]
    rows += [Row(a, b, "tool", False, "use") for a, b in SAME_LETTERS]
    rows += [Row(a, b, "tool", True, "ask") for a, b in SAME_LETTERS]
    rows += [Row(a, b, "reference", False, "use") for a, b in SAME_LETTERS]
    wrong = mistaken(rows)
    assert wrong == []


def test_a_declared_alias_counts_as_the_name() -> None:
    aliases = pairs(
        "recipient/to addressee/to q/query text/body picture/image client/customer lang/language_code n/limit"
    )
    whats: tuple[What, ...] = ("parameter", "enum")
    cases = [(what, changes) for what in whats for changes in (False, True)] + [("tool", False)]
    found = {
        correction(a, [b], what=what, changes=changes, aliases={a: b}) == (b, "use")
        for a, b in aliases
        for what, changes in cases
    }
    assert found == {True}


def unless_replaced(answer: Answer, given: str, meant: str, what: What) -> Answer:
    """The answer; but of a value with a letter that the other one lacks, that it is only listed."""
    one, other = (Counter(re.sub(r"[\W_]", "", name).casefold()) for name in (given, meant))
    return "list" if what == "enum" and one - other and other - one else answer


def test_a_near_name_is_used_on_a_read_and_asked_about_on_a_write() -> None:
    whats: tuple[What, ...] = ("parameter", "enum", "reference")
    rows = [Row(a, b, what, False, unless_replaced("use", a, b, what)) for a, b in NEAR for what in whats]
    rows += [Row(a, b, "tool", False, "use") for a, b in NEAR]
    rows += [Row(a, b, what, True, unless_replaced("ask", a, b, what)) for a, b in NEAR for what in whats]
    wrong = mistaken(rows)
    assert wrong == []


def test_a_tool_that_changes_something_is_asked_about_within_one_edit_and_listed_beyond() -> None:
    one = pairs("""
        delet_record/delete_record send_mesage/send_message craete_invoice/create_invoice archive_ordr/archive_order
        transfr_money/transfer_money calibrat_sensor/calibrate_sensor PublishArticl/publish_article
    """)
    two = pairs("""
        delet_recrd/delete_record sed_mesage/send_message craete_invocie/create_invoice transfr_mony/transfer_money
        calibrate_senser/calibrate_sensor calibrat_senser/calibrate_sensor erase/delete_record
        make_invoice/create_invoice
    """)
    wrong = mistaken(
        [Row(a, b, "tool", True, "ask") for a, b in one] + [Row(a, b, "tool", True, "list") for a, b in two]
    )
    assert wrong == []


def test_a_far_name_is_listed() -> None:
    wrong = mistaken(never(FAR))
    assert wrong == []


@pytest.mark.parametrize("rivals", [1, 2, 40])
def test_a_near_name_with_a_rival_is_listed(rivals: int) -> None:
    found = {
        correction(a, [b, *(b.upper() + "_" * number for number in range(rivals))], what=what, changes=changes)
        for a, b in NEAR
        for what in SPELLED
        for changes in (False, True)
    }
    assert found == {None}


def test_titles_and_paths_are_names_that_people_spell() -> None:
    near = pairs(
        """
        guide/instalation.mdx = guide/installation.mdx
        docs/getting-startd.md = docs/getting-started.md
        Annual Reprot of the Bakery = Annual Report of the Bakery
        On the Orgin of Species = On the Origin of Species
    """,
        "=",
    )
    far = pairs(
        """
        import-guide.md = export-guide.md
        How to connect the thermostat to the heater = How to disconnect the thermostat from the heater
        minimum wage for carpenters in the city = maximum wage for carpenters in the city
        Moby Dick = Annual Report of the Bakery
    """,
        "=",
    )
    rows = [Row(a, b, "reference", False, "use") for a, b in near]
    rows += [Row(a, b, "reference", True, "ask") for a, b in near]
    wrong = mistaken(rows + never(far, ("reference",)))
    assert wrong == []


def test_an_identifier_is_at_most_a_candidate_and_an_unrelated_one_is_not_mentioned() -> None:
    near = pairs("""
        CHEBI:15377/CHEBI:15378 chebi:15377/CHEBI:15377 invoice-2041/invoice-2014 customer-000123/customer-000132
        INVOICE-2041/invoice-2041 shipment-77120/shipment-7712 experiment-ab12/experiment-ab13
        release-candidate-4.2.0/release-candidate-4.2.1
    """)
    unrelated = pairs("""
        banana/CHEBI:15377 P04637/ticket-8841-berlin a1b2c3/warehouse-north-7 zzz/invoice-2041 x/customer-000123
        moby-dick/ENSG00000139618 9f8e7d/shipment-77120
    """)
    rows = [Row(a, b, "reference", changes, "list", "identifier") for a, b in near for changes in (False, True)]
    rows += [Row(a, b, "reference", changes, "drop", "identifier") for a, b in unrelated for changes in (False, True)]
    wrong = mistaken(rows)
    assert wrong == []


@pytest.mark.parametrize("kind", ["handle", "secret"])
def test_a_handle_or_secret_is_never_mentioned(kind: Kind) -> None:
    names = SAME_LETTERS + NEAR + FAR + pairs("sess_8f3a/sess_8f3b tok-AAAA1111/tok-aaaa1111 cursor:12/cursor:13")
    rows = [
        Row(a, b, "reference", changes, "drop", kind)
        for a, b in names for changes in (False, True)
    ]  # fmt: skip
    wrong = mistaken(rows)
    assert wrong == []


FORMS: list[tuple[Any, Any]] = [
    ("5", 5), ("-5", -5), ("0", 0), ("20", 20.0), ("0.1", 0.1), ("5.0", 5), ("1e3", 1000.0), ("true", True),
    ("false", False), ("12345678901234567890", 12345678901234567890), ("9007199254740993", 9007199254740993),
    ("a", ["a"]), (5, [5]), (0, [0]), (False, [False]), (2.5, [2.5]), ({"a": 1}, [{"a": 1}]),
    ('{"a":1}', {"a": 1}), ('{ "a" : { "b" : [1, 2] } }', {"a": {"b": [1, 2]}}), ("[1,2]", [1, 2]), ("[]", []),
    ('["red", "blue"]', ["red", "blue"]), ("{}", {}), ('[{"sku": "A-1", "n": 2}]', [{"sku": "A-1", "n": 2}]),
    ('{"ok": true, "note": null}', {"ok": True, "note": None}),
]  # fmt: skip
OTHER_VALUES: list[tuple[Any, Any]] = [
    ("5", 6), ("5", 50), ("5", -5), ("-5", 5), ("5.5", 5), ("five", 5), ("yes", True), ("true", False), ("true", 1),
    ("1", True), ("0", False), (1, True), (True, 1), (0, [False]), (True, [1]), ("a", ["b"]), ("a", ["a", "a"]),
    ("a", ["a", "b"]), (["a", "b"], ["a"]), (["a", "b"], "a"), ('{"a":1}', {"a": 2}), ('{"a":1}', {"b": 1}),
    ('{"a":1}', {"a": True}), ('{"a":1}', {"a": 1, "b": 2}), ("[1,2]", [2, 1]), ("[1,2]", [1]), ('{"a":1', {"a": 1}),
    ("9007199254740993", 9007199254740992.0), ("12345678901234567890", 12345678901234567168), ("red", "blue"),
    ("a,b", ["a,b"]),  # it may be two values: a text with several is not one value for a list of one
    ("2024-13-01", "2024-12-01"), ({"a": 1}, {"a": 2}), ("buy", ["sell"]), ("[true]", [1]), ("0.1", 0.2),
    (None, [None]), ("null", None), ('{"a": 1, "a": 2}', {"a": 2}),  # it is not certain which one was meant
]  # fmt: skip


def test_another_form_of_the_same_value_is_used_for_reads_and_writes() -> None:
    wrong = mistaken([Row(a, b, "value", changes, "use") for a, b in FORMS for changes in (False, True)])
    assert wrong == []


def test_another_value_is_listed() -> None:
    wrong = mistaken([Row(a, b, "value", changes, "list") for a, b in OTHER_VALUES for changes in (False, True)])
    assert wrong == []


NAMED_UNITS: list[tuple[str, Any, str]] = [
    ("500 ms", 500, "timeout in milliseconds"), ("500ms", 500, "timeout_ms"), ("500 ms", 500, "timeout in ms"),
    ("500 milliseconds", 500, "timeout in milliseconds"), ("500 milliseconds", 500, "timeout_ms"),
    ("1 millisecond", 1, "pause in milliseconds"), ("30 s", 30, "how long to wait, in seconds"), ("30s", 30, "delay_s"),
    ("30 sec", 30, "delay in seconds"), ("1.5 s", 1.5, "exposure in seconds"), ("-5 s", -5, "clock skew in seconds"),
    ("30 seconds", 30, "delay_seconds"), ("5 min", 5, "walk in minutes"), ("5 minutes", 5, "walk in minutes"),
    ("2 hours", 2, "duration_hours"), ("2 h", 2, "duration in hours"), ("3 days", 3, "retention in days"),
    ("10 kb", 10, "size in kb"), ("10kb", 10, "size_kb"), ("50%", 50, "discount in percent"),
    ("50 %", 50, "share in %"), ("50 percent", 50, "discount_percent"), ("10 kg", 10, "weight in kg"),
    ("5 km", 5, "radius_km"), ("12 px", 12, "width in px"), ("440 Hz", 440, "frequency in Hz"),
    ("80 cm", 80, "height of the shelf in cm"),
]  # fmt: skip
UNNAMED_UNITS: list[tuple[str, Any, str]] = [
    ("500 ms", 500, ""), ("500 ms", 500, "timeout"), ("500 ms", 500, "timeout in seconds"),
    ("500 ms", 500, "timeout_s"), ("5 s", 5, "timeout in milliseconds"), ("5 s", 5, "timeout_ms"),
    ("500 ms", 500, "the items and rooms of the forms"),
    ("5 s", 5, "number of retries"), ("5 s", 5, "steps"), ("5 min", 5, "the minimum of the range"),
    ("5 min", 5, "duration in hours"), ("2 h", 2, "the height of the house"), ("3 days", 3, "retention in weeks"),
    ("10 kb", 10, "size in bytes"), ("10 kb", 10, "size in mb"), ("10 kb", 10240, "size in bytes"),
    ("500 ms", 0.5, "timeout in seconds"), ("500 ms", 5000, "timeout in milliseconds"), ("1 kg", 1, "weight in g"),
    ("500 ms", 50, "timeout in milliseconds"), ("2 hours", 120, "duration in minutes"), ("50%", 0.5, "ratio"),
    ("50%", 50, "share between 0 and 1"), ("20%", 20, "percentile of the latency"), ("10 kg", 10, "weight in pounds"),
    ("5 km", 5, "radius in miles"), ("5 apples", 5, "how many"), ("5 cm", 5, "width in mm"), ("5 ms", 5, "count"),
]  # fmt: skip


def test_a_unit_is_stripped_only_where_schema_or_description_names_it() -> None:
    rows = [Row(a, b, "value", False, "use", about=about) for a, b, about in NAMED_UNITS]
    rows += [Row(a, b, "value", True, "ask", about=about) for a, b, about in NAMED_UNITS]
    rows += [
        Row(a, b, "value", changes, "list", about=about) for a, b, about in UNNAMED_UNITS for changes in (False, True)
    ]
    wrong = mistaken(rows)
    assert wrong == []


def test_a_name_that_is_right_is_used_even_by_a_tool_that_changes_something() -> None:
    rows = [
        Row(name, name, what, changes, "use")
        for name in ("delete_record", "x" * 300) for what in SPELLED for changes in (False, True)
    ]  # fmt: skip
    wrong = mistaken(rows)
    assert wrong == []


def test_a_text_is_no_name_and_never_corrected_by_its_spelling() -> None:
    texts = pairs("Kubernetes/kubernetes in-progress/in_progress delivery_adress/delivery_address")
    wrong = mistaken(never(texts, ("value",)))
    assert wrong == []


def test_names_are_compared_up_to_200_characters() -> None:
    rows = []
    for length, spelled, slip in ((200, "use", "use"), (201, "list", "list")):
        name = "warehouse_" + "a" * (length - 10)
        rows += [Row(name.upper(), name, what, False, spelled) for what in SPELLED]  # type: ignore[arg-type]
        rows += [Row(name[:-1], name, what, False, slip) for what in SPELLED]  # type: ignore[arg-type]
    wrong = mistaken(rows)
    assert wrong == []
    long, longer = "a" * 200, "a" * 201
    assert (near_names(long[1:], [long]), near_names(long[1:], [longer])) == ([long], [])
    assert (near_names(long, [long[1:]]), near_names(longer, [long])) == ([long[1:]], [])
