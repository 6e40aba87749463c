"""Twenty failures of a shop's parcels."""

from agents.answers.worlds import Failure, earlier, fault, file, steps

SHIP = 'create_shipment {"order_no": "%s", "weight_g": %s, "service": "%s"}'
FIND = 'find_shipments {"order_no": "4711"}'
QUOTE = 'quote {"order_no": "%s", "weight_g": 900}'
PICKUP = 'order_pickup {"day": "2031-05-12", "window": "%s", "parcels": 12}'
LABEL = 'print_label {"tracking_no": "SH7001", "printer": "%s"}'

FAILURES = [
    Failure(
        "weight-with-unit",
        "Send order 4711, which weighs 2.5 kg, by economy.",
        SHIP % ("4711", '"2.5 kg"', "economy"),
        "call create_shipment with weight_g 2500",
    ),
    Failure(
        "enum-case",
        "Send order 4711, which weighs 900 g, by express.",
        'create_shipment {"orderNo": 4711, "grams": 900, "service": "Express"}',
        "call create_shipment with order_no, as text, and service express",
    ),
    Failure(
        "weight-too-high",
        "Send order 4711, which weighs 40 kg, by economy.",
        SHIP % ("4711", 40000, "economy"),
        "ask the person",
    ),
    Failure(
        "order-unknown",
        "Send order 4771, as the person said, which weighs 900 g, by economy.",
        SHIP % ("4771", 900, "economy"),
        "ask the person",
    ),
    Failure(
        "quote-crash",
        "Say what it costs to send order 4713, 900 g.",
        QUOTE % "4713",
        "stop: the tool has a defect; tell the person",
    ),
    Failure(
        "order-file-damaged",
        "Say what it costs to send order 4711, 900 g.",
        QUOTE % "4711",
        "stop: the data of the order is damaged; tell the person",
        file("orders/4711.json", '{"name": "A. Win'),
    ),
    Failure(
        "quote-limit",
        "Say what it costs to send order 4712, 900 g.",
        QUOTE % "4712",
        "wait, then the same call",
        steps(*[earlier(QUOTE % "4711")] * 4),
    ),
    Failure(
        "down-before-effect",
        "Send order 4711, 900 g, by economy.",
        SHIP % ("4711", 900, "economy"),
        "wait, then the same call: nothing was changed",
        fault("GET /prices", 503, headers={"Retry-After": "40"}),
    ),
    Failure(
        "country-refused",
        "Send order 4712, 900 g, by economy.",
        SHIP % ("4712", 900, "economy"),
        "stop: the carrier does not serve the country; tell the person",
    ),
    Failure(
        "conflict-at-carrier",
        "Send order 4711, 900 g, by economy.",
        SHIP % ("4711", 900, "economy"),
        "look first with find_shipments",
        fault("POST /shipments", 409, "order 4711 has shipment SH7001"),
    ),
    Failure(
        "cut-after-effect",
        "Send order 4711, 900 g, by economy.",
        SHIP % ("4711", 900, "economy"),
        "look first with find_shipments",
        fault("POST /shipments", is_late=True),
    ),
    Failure(
        "late-after-effect",
        "Send order 4711, 900 g, by economy.",
        SHIP % ("4711", 900, "economy"),
        "look first with find_shipments",
        fault("POST /shipments", is_late=True, hang_s=1.5),
    ),
    Failure(
        "forbidden-at-carrier",
        "Send order 4711, 900 g, by express.",
        SHIP % ("4711", 900, "express"),
        "ask the person: the contract has no express",
        fault("POST /shipments", 403, "contract 88 has no express"),
    ),
    Failure(
        "too-heavy-for-express",
        "Send order 4711, 25 kg, as fast as a service carries it.",
        SHIP % ("4711", 25000, "express"),
        "call create_shipment with service economy",
    ),
    Failure(
        "tracking-unknown",
        "Say where the parcel of order 4711 is; an old note says SH9999.",
        'get_shipment {"tracking_no": "SH9999"}',
        "look first with find_shipments",
    ),
    Failure(
        "cancel-busy",
        "Cancel shipment SH7001.",
        'cancel_shipment {"tracking_no": "SH7001"}',
        "wait 20 s, then the same call",
        fault("DELETE /shipments", 429, "slow down", headers={"Retry-After": "20"}),
    ),
    Failure(
        "pickup-crash",
        "Have 12 parcels collected in the afternoon of 12 May.",
        PICKUP % "afternoon",
        "look first with list_pickups, then tell the person of the defect",
    ),
    Failure(
        "pickup-late",
        "Have 12 parcels collected in the morning of 12 May.",
        PICKUP % "morning",
        "look first with list_pickups",
        fault("POST /pickups", is_late=True, hang_s=3.0),
    ),
    Failure(
        "printer-jam",
        "Print the label of SH7001, on any printer.",
        LABEL % "hall",
        "call print_label with printer dock",
        file("printers/hall", "jam"),
    ),
    Failure(
        "find-broken-thrice",
        "Say which shipments order 4711 has.",
        FIND,
        "stop, and tell the person",
        fault("GET /shipments", 500, "stack trace in module 7"),
        repeats=2,
    ),
]
