"""A warehouse: bins, stock, pick orders."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Sku = Annotated[str, Known("sku")]
Bin = Annotated[str, Known("bin")]
Pieces = Annotated[int, Field(ge=1, le=5000, description="Number of pieces.")]
Condition = Literal["sealed", "opened", "damaged"]


class Box(Record):
    """A box; the inner measures."""

    length_cm: float = Field(gt=0, le=200)
    height_cm: float = Field(gt=0, le=200)
    max_weight_kg: float = Field(gt=0, le=80)


class Warehouse(World):
    """Bins, stock and pick orders of a warehouse."""

    ids: ClassVar = {
        "sku": ("BOLT-M8-040", "BOLT-M8-060", "NUT-M8"),
        "bin": ("A-03-17", "A-03-71", "B-11-02"),
        "pick order": ("PO-88120", "PO-88121"),
    }

    @reads
    def find_stock(
        self,
        sku: Sku,
        min_quantity: int = 1,
        condition: Condition = "sealed",
        received_before: date | None = None,
        *,
        include_reserved: bool = False,
    ) -> None:
        """Return the bins that hold an article."""

    @reads
    def list_bins(
        self, aisle: Literal["A", "B", "C"], sort_by: Literal["fill", "distance", "age"] = "fill", limit: int = 20
    ) -> None:
        """Return the bins of an aisle."""

    @reads
    def estimate_boxes(self, sku: Sku, quantity: Pieces, box: Box) -> None:
        """Return how many boxes some pieces need."""

    @writes()
    def move_stock(self, sku: Sku, from_bin: Bin, to_bin: Bin, quantity: Pieces, note: str = "") -> None:
        """Move pieces from one bin to another."""

    @writes()
    def receive_goods(
        self, sku: Sku, quantity: Pieces, bin_id: Bin, condition: Condition = "sealed", expires_on: date | None = None
    ) -> None:
        """Take pieces into a bin."""

    @writes(destructive=True, idempotent=True)
    def set_count(self, sku: Sku, bin_id: Bin, count: Annotated[int, Field(ge=0, le=5000)]) -> None:
        """Replace the number of pieces in a bin, after a stocktake."""

    @writes(destructive=True, idempotent=True)
    def close_order(self, order_id: Annotated[str, Known("pick order")], *, notify_customer: bool = True) -> None:
        """Close a pick order."""

    @writes(idempotent=True)
    def lock_bins(self, bins: list[str], reason: Literal["stocktake", "spill", "repair"]) -> None:
        """Lock bins."""


_BOX = {"length_cm": 40.0, "height_cm": 25.0, "max_weight_kg": 20.0}
FIND = Meant(
    "Bins with at least 50 sealed BOLT-M8-040 received before 7 September 2026, reserved ones too.",
    *("find_stock",),
    sku="BOLT-M8-040",
    min_quantity=50,
    condition="sealed",
    received_before="2026-09-07",
    include_reserved=True,
)
BINS = Meant("The 5 nearest bins of aisle A.", "list_bins", aisle="A", sort_by="distance", limit=5)
BOXES = Meant("How many boxes 1,500 NUT-M8 need.", "estimate_boxes", sku="NUT-M8", quantity=1500, box=_BOX)
MOVE = Meant(
    "Move 30 BOLT-M8-060 from A-03-17 to B-11-02, note `urgent`.",
    *("move_stock",),
    sku="BOLT-M8-060",
    from_bin="A-03-17",
    to_bin="B-11-02",
    quantity=30,
    note="urgent",
)
RECEIVE = Meant(
    "Take 200 opened NUT-M8 into A-03-71, which expire on 2 November 2027.",
    *("receive_goods",),
    sku="NUT-M8",
    quantity=200,
    bin_id="A-03-71",
    condition="opened",
    expires_on="2027-11-02",
)
COUNT = Meant("There are 45 NUT-M8 in B-11-02.", "set_count", sku="NUT-M8", bin_id="B-11-02", count=45)
CLOSE = Meant("Close PO-88120 without telling the customer.", "close_order", order_id="PO-88120", notify_customer=False)
LOCK = Meant("Lock A-03-17 and B-11-02, spilt on.", "lock_bins", bins=["A-03-17", "B-11-02"], reason="spill")
LOCK_ONE = Meant("Lock A-03-71 for repair.", "lock_bins", bins=["A-03-71"], reason="repair")

TRADE = Trade(
    Warehouse,
    [FIND, BINS, BOXES, MOVE, RECEIVE, COUNT, CLOSE, LOCK, LOCK_ONE],
    [
        FIND.but("Bins with at most 50.", "opposite", "min_quantity", max_quantity=50),
        FIND.but("Received after 7 September.", "opposite", "received_before", received_after="2026-09-07"),
        FIND.but("Unsealed ones.", "negation", condition="unsealed"),
        FIND.but("Resealed ones.", "negation", condition="resealed"),
        FIND.but("Undamaged ones.", "negation", condition="undamaged"),
        FIND.but("With those on order.", "other name", "include_reserved", include_ordered=True),
        FIND.but("Expiring before 7 September.", "other name", "received_before", expires_before="2026-09-07"),
        FIND.but("Those of the supplier NUT-M8.", "other thing", "sku", supplier_id="NUT-M8"),
        FIND.but("At least 50 percent of a bin.", "unit", "min_quantity", min_fill_percent=50),
        FIND.but("At least 50 kg of it.", "unit", min_quantity="50 kg"),
        BINS.but("Sorted by fee.", "other value", sort_by="fee"),
        BINS.but("The farthest first.", "opposite", sort_by="-distance"),
        BINS.but("By the stage they are in.", "other value", sort_by="stage"),
        BINS.but("Aisle D.", "other value", aisle="D"),
        BINS.but("Aisle A1.", "other value", aisle="A1"),
        BINS.but("The bonds of aisle A.", "other tool", tool="list_bonds"),
        BINS.but("Empty bins only.", "extra", empty_only=True),
        BOXES.but(
            "Outer measures.", "other name", box={"outer_length_cm": 40.0, "height_cm": 25.0, "max_weight_kg": 20.0}
        ),
        BOXES.but(
            "At least 20 kg each.", "opposite", box={"length_cm": 40.0, "height_cm": 25.0, "min_weight_kg": 20.0}
        ),
        BOXES.but("How many of its boxes.", "other name", "quantity", box_quantity=1500),
        BOXES.sent("unit", box={**_BOX, "length_cm": "0.4 m"}),
        MOVE.but("All but 30 pieces.", "negation", "quantity", leave_quantity=30),
        MOVE.but("30 boxes.", "unit", quantity="30 boxes"),
        MOVE.but("30 percent.", "unit", quantity="30%"),
        MOVE.but("Near B-11-02.", "other name", "to_bin", near_bin="B-11-02"),
        MOVE.but("To the aisle B.", "other thing", "to_bin", to_aisle="B"),
        MOVE.but("Copy the entry only, not the pieces.", "other tool", tool="mirror_stock"),
        MOVE.but("Remove 30 pieces.", "other tool", tool="remove_stock"),
        RECEIVE.but("Made on 2 November 2027.", "other name", "expires_on", produced_on="2027-11-02"),
        RECEIVE.but("Unopened ones.", "negation", condition="unopened"),
        RECEIVE.but("200 packs of 10.", "unit", quantity="200x10"),
        RECEIVE.but("Into any bin but A-03-71.", "negation", "bin_id", not_bin_id="A-03-71"),
        RECEIVE.but("Retrieve goods.", "opposite", tool="retrieve_goods"),
        COUNT.but("45 more than before.", "other name", "count", delta=45),
        COUNT.but("45 more than before.", "number", count="+45"),
        COUNT.but("Allow 45 at most there.", "other tool", tool="set_max_count"),
        COUNT.but("45 is the discount.", "other name", "count", discount=45),
        CLOSE.but(
            "Close PO-88120 with a picture for the customer.", "other name", "notify_customer", identify_customer=False
        ),
        CLOSE.but("Reopen PO-88120.", "negation", tool="reopen_order"),
        CLOSE.but("Clone PO-88120.", "other tool", tool="clone_order"),
        CLOSE.but("Close only what was picked.", "extra", partially=True),
        nothing("Close all orders for NUT-M8.", "other thing", "close_order", sku="NUT-M8"),
        LOCK.sent("list", bins="A-03-17 and B-11-02"),
        LOCK.but("All bins from A-03-17 to B-11-02.", "list", bins="A-03-17..B-11-02"),
        LOCK.but("All bins but these two.", "negation", "bins", except_bins=["A-03-17", "B-11-02"]),
        LOCK.but("For a pre-repair check.", "negation", reason="prerepair"),
        LOCK.but("The dock of these bins.", "other tool", tool="dock_bins"),
    ],
)
