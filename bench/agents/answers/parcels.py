"""A shop's parcels: orders as files, a carrier behind HTTP, and a program that prints labels."""

import asyncio
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
from pydantic import Field

from failsoft import (
    NOT_DONE,
    Alias,
    BaseTool,
    CallContext,
    Infeasible,
    NotFound,
    Public,
    RateLimit,
    Reference,
    Retry,
    Unavailable,
    operation,
)

ORDERS = {
    "4711": {"name": "A. Winter", "country": "DE", "state": "packed"},
    "4712": {"name": "B. Costa", "country": "PT", "state": "packed"},
    "4713": {"name": "C. Okoye", "country": "NG", "state": "packed"},
    "4714": {"name": "D. Weiss", "country": "AT", "state": "paid"},
}
ZONES = {"DE": 1, "AT": 2, "PT": 2}
PRINTER = """
import pathlib, sys, time
state = pathlib.Path(sys.argv[1]).read_text()
if state == "slow":
    time.sleep(30)
if state == "jam":
    sys.exit("lp: jam in tray 2, job 118 held")
if state == "down":
    sys.exit(75)
"""


class ParcelTooHeavy(Infeasible):
    """No service carries a parcel of that weight.

    Raised when: the parcel is heavier than the service carries.
    Caller: take a service that carries more, or split the parcel.
    """

    weight_g: Public[int]
    most_g: Public[int]
    service: Public[str]
    code = "PARCEL_TOO_HEAVY"
    message = "{service} carries {most_g} g at most; the parcel has {weight_g} g."
    hints = ("Economy carries 31,500 g, express 20,000 g",)


class PrinterJammed(Unavailable):
    """Paper is stuck in the printer.

    Raised when: the printing program reports a jam.
    Caller: print on another printer, or tell the person.
    Operator: clear the tray.
    """

    printer: Public[str]
    code = "LABEL_PRINTER_JAMMED"
    message = "Paper is stuck in printer {printer}."


def known_order(tool: "Parcels", order_no: str) -> None:
    """Raise unless there is such an order."""
    if not (tool.folder / "orders" / f"{order_no}.json").exists():
        raise NotFound(message=f"There is no order {order_no}.")


def known_printer(tool: "Parcels", printer: str) -> None:
    """Raise unless there is such a printer."""
    printers = sorted(path.name for path in (tool.folder / "printers").iterdir())
    if printer not in printers:
        raise NotFound(message=f"There is no printer {printer!r}.", suggestions=printers)


OrderNo = Annotated[
    str,
    Reference(known_order),
    Alias("order", "order_number"),
    Field(pattern=r"^\d{4}$", description="Number of an order, four digits."),
]
TrackingNo = Annotated[str, Field(description="Tracking number (`SH...`), from `create_shipment` or `find_shipments`.")]
Weight = Annotated[int, Field(ge=1, le=31500, description="Weight in grams.")]
Service = Literal["economy", "express"]


class Parcels(BaseTool):
    """Sends the parcels of a shop."""

    def __init__(self, folder: Path, carrier_url: str, **parts: Any) -> None:
        super().__init__(**parts)
        self.folder = folder
        self.carrier_url = carrier_url
        (folder / "orders").mkdir()
        for number, order in ORDERS.items():
            (folder / "orders" / f"{number}.json").write_text(json.dumps(order))
        (folder / "printers").mkdir()
        for name in ("hall", "dock"):
            (folder / "printers" / name).write_text("ready")

    async def startup(self) -> None:
        """Open the connections to the carrier."""
        self.http = httpx.AsyncClient(base_url=self.carrier_url, timeout=0.6)

    async def shutdown(self) -> None:
        """Close them."""
        await self.http.aclose()

    def order(self, order_no: str) -> dict[str, str]:
        """Return an order that exists."""
        order: dict[str, str] = json.loads((self.folder / "orders" / f"{order_no}.json").read_text())
        return order

    @operation(read_only=True, timeout=4.0, recovery=[Retry(attempts=2, base_s=0.02), RateLimit("4/minute")])
    async def quote(self, order_no: OrderNo, weight_g: Weight) -> list[dict[str, Any]]:
        """Return what each service costs for an order."""
        zone = ZONES[self.order(order_no)["country"]]
        response = await self.http.get("/prices", params={"zone": zone})
        return [p for p in response.raise_for_status().json() if p["most_g"] >= weight_g]

    @operation(read_only=True, timeout=2.0)
    async def find_shipments(self, order_no: OrderNo) -> list[dict[str, Any]]:
        """List the shipments of an order."""
        response = await self.http.get("/shipments", params={"order": order_no})
        found: list[dict[str, Any]] = response.raise_for_status().json()
        return found

    @operation(read_only=True, timeout=2.0)
    async def get_shipment(self, tracking_no: TrackingNo) -> dict[str, Any]:
        """Return a shipment, and where it is."""
        response = await self.http.get(f"/shipments/{tracking_no}")
        shipment: dict[str, Any] = response.raise_for_status().json()
        return shipment

    @operation(effects=True, timeout=3.0, verify_with="find_shipments")
    async def create_shipment(
        self, order_no: OrderNo, weight_g: Annotated[Weight, Alias("grams")], service: Service, call: CallContext
    ) -> dict[str, Any]:
        """Hand a packed order to the carrier; the answer has the tracking number."""
        order = self.order(order_no)
        prices = (await self.http.get("/prices", params={"service": service})).raise_for_status().json()
        most_g = max(price["most_g"] for price in prices)
        if weight_g > most_g:
            raise ParcelTooHeavy(weight_g=weight_g, most_g=most_g, service=service)

        async def book() -> dict[str, Any]:
            wanted = {"order": order_no, "country": order["country"], "weight_g": weight_g, "service": service}
            response = await self.http.post("/shipments", json=wanted, headers=call.http_headers())
            booked: dict[str, Any] = response.raise_for_status().json()
            return booked

        async def look() -> Any:
            response = await self.http.get("/shipments", params={"order": order_no})
            return next(iter(response.raise_for_status().json()), NOT_DONE)

        shipment: dict[str, Any] = await call.effect("book", run=book, probe=look)
        return shipment

    @operation(idempotent=True, destructive=True, timeout=2.0)
    async def cancel_shipment(self, tracking_no: TrackingNo) -> None:
        """Cancel a shipment that the carrier has not collected."""
        (await self.http.delete(f"/shipments/{tracking_no}")).raise_for_status()

    @operation(read_only=True, timeout=2.0)
    async def list_pickups(self, day: date) -> list[dict[str, Any]]:
        """List the pickups that are ordered for a day."""
        found: list[dict[str, Any]] = (await self.http.get("/pickups", params={"day": str(day)})).json()
        return found

    @operation(timeout=1.2, verify_with="list_pickups")
    async def order_pickup(
        self, day: date, window: Literal["morning", "afternoon"], parcels: Annotated[int, Field(ge=1, le=200)]
    ) -> dict[str, Any]:
        """Have the carrier collect parcels on a day."""
        hour = {"morning": 8}[window]  # the afternoon was forgotten: KeyError
        wanted = {"day": str(day), "from_hour": hour, "parcels": parcels}
        response = await self.http.post("/pickups", json=wanted, timeout=5.0)
        pickup: dict[str, Any] = response.raise_for_status().json()
        return pickup

    @operation(timeout=1.5)
    async def print_label(
        self, tracking_no: TrackingNo, printer: Annotated[str, Reference(known_printer, kind="spelled")] = "hall"
    ) -> str:
        """Print the label of a shipment, on the printer `hall` or `dock`."""
        program = [sys.executable, "-c", PRINTER, str(self.folder / "printers" / printer), tracking_no]
        pipe = subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*program, stdout=pipe, stderr=pipe)
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if b"jam" in err:
            raise PrinterJammed(printer=printer, effect="none", suggestions=["The other printer"])
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, "lp", out, err)
        return f"printed on {printer}"
