"""Rooms of a clinic: bookings in SQLite, and reminders through an HTTP service for messages."""

import sqlite3
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

import httpx
from pydantic import BaseModel, Field

from failsoft import (
    Alias,
    BaseTool,
    CallContext,
    Conflict,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    Public,
    Reference,
    UpstreamError,
    operation,
)

SCHEMA = """
PRAGMA foreign_keys = ON;
CREATE TABLE room (name TEXT PRIMARY KEY, floor INTEGER NOT NULL, kind TEXT NOT NULL);
CREATE TABLE patient (id TEXT PRIMARY KEY, name TEXT NOT NULL, phone TEXT);
CREATE TABLE booking (
    id TEXT PRIMARY KEY,
    room TEXT NOT NULL REFERENCES room (name),
    patient TEXT NOT NULL REFERENCES patient (id),
    starts TEXT NOT NULL,
    ends TEXT NOT NULL,
    purpose TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT ends_after_it_starts CHECK (ends > starts),
    UNIQUE (room, starts)
);
CREATE TABLE cancelled (booking TEXT PRIMARY KEY, reason TEXT NOT NULL);
INSERT INTO room VALUES ('East 1', 1, 'examination'), ('East 2', 1, 'examination'), ('West 1', 2, 'surgery'),
    ('Imaging North', 0, 'imaging');
INSERT INTO patient VALUES ('P-1001', 'Ines Maurer', '0151 1'), ('P-1002', 'Tom Adler', '0151 2'),
    ('P-1003', 'Rosa Lind', '0151 3'), ('P-1004', 'Jon Berg', NULL);
INSERT INTO booking (id, room, patient, starts, ends, purpose) VALUES
    ('BK-a7f3', 'East 1', 'P-1001', '2031-05-12T09:00:00', '2031-05-12T10:00:00', 'examination'),
    ('BK-c21d', 'East 2', 'P-1002', '2031-05-12T09:00:00', '2031-05-12T09:30:00', 'examination'),
    ('BK-e90b', 'West 1', 'P-1003', '2031-05-12T11:00:00', '2031-05-12T14:00:00', 'surgery');
"""


class RoomTaken(Conflict):
    """Another booking of the room overlaps.

    Raised when: the room is booked for a part of the time.
    Caller: take another time, or another room of the same kind.
    """

    room: Public[str]
    starts: Public[str]
    ends: Public[str]
    code = "ROOM_TAKEN"
    message = "{room} is booked from {starts} to {ends}."
    hints = ("Take another time or another room of the same kind",)


class BookingChanged(Conflict):
    """Somebody changed the booking since it was read.

    Raised when: `version` is not the version of the booking.
    Caller: read the booking again, and decide whether the change is still wanted.
    """

    booking_id: Public[str]
    version: Public[int]
    code = "BOOKING_CHANGED"
    message = "Booking {booking_id} has version {version} by now."


class DeskClosed(PreconditionFailed):
    """The desk session is not open.

    Raised when: the session has ended, or was never opened.
    Caller: open a desk, and call again with its id.
    """

    code = "DESK_CLOSED"
    message = "This desk session has ended."


class RemindersStopped(UpstreamError):
    """Some patients of the day were reminded, and the others were not.

    Raised when: the service for messages fails in the middle of a day's reminders.
    Caller: tell the person who has been reminded; remind the others once the service works.
    """

    sent: Public[list[str]]
    left: Public[list[str]]
    code = "REMINDERS_STOPPED"
    message = "Reminded: {sent}. Not reminded: {left}."
    hints = ("Send the others one by one with `only`",)


class Booking(BaseModel):
    """A booking of a room."""

    id: str
    room: str
    patient: str
    starts: datetime
    ends: datetime
    purpose: str
    version: int


async def known_room(tool: "ClinicRooms", name: str) -> None:
    """Raise unless the clinic has the room."""
    rooms = [row["name"] for row in tool.rows("SELECT name FROM room")]
    if name not in rooms:
        raise NotFound(message=f"There is no room {name!r}.", suggestions=rooms, next_step={"tool": "find_rooms"})


async def known_patient(tool: "ClinicRooms", patient: str) -> None:
    """Raise unless the patient is registered."""
    if not tool.rows("SELECT 1 FROM patient WHERE id = ?", patient):
        raise NotFound(message=f"No patient has the number {patient}.")


Room = Annotated[str, Reference(known_room, kind="spelled"), Field(description="Name of a room, from `find_rooms`.")]
BookingId = Annotated[str, Field(description="Id of a booking (`BK-...`), from `find_bookings` or `book_room`.")]
Desk = Annotated[str, Field(description="Id of your desk session, from `open_desk`.")]
Purpose = Literal["examination", "surgery", "imaging"]


class ClinicRooms(BaseTool):
    """Rooms of a clinic, and who has booked them."""

    def __init__(self, folder: Path, messages_url: str, **parts: Any) -> None:
        super().__init__(**parts)
        self.path = folder / "clinic.db"
        self.desks: dict[str, str] = {}
        self.messages_url = messages_url
        with closing(sqlite3.connect(self.path)) as db:
            db.executescript(SCHEMA)

    async def startup(self) -> None:
        """Open the connections to the service for messages."""
        self.http = httpx.AsyncClient(base_url=self.messages_url, timeout=0.6)

    async def shutdown(self) -> None:
        """Close them."""
        await self.http.aclose()

    def connect(self) -> sqlite3.Connection:
        """Open the database for one call."""
        db = sqlite3.connect(self.path, timeout=0.3)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        return db

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        with closing(self.connect()) as db:
            return db.execute(sql, values).fetchall()

    @operation(read_only=True)
    def find_rooms(self, kind: Purpose | None = None, floor: Annotated[int, Field(ge=0, le=3)] | None = None) -> Any:
        """List the rooms of the clinic, by kind and floor."""
        rooms = self.rows("SELECT * FROM room ORDER BY name")
        return [dict(r) for r in rooms if kind in {None, r["kind"]} and floor in {None, r["floor"]}]

    @operation(read_only=True)
    def find_bookings(self, day: date, room: Room | None = None, patient: str | None = None) -> list[Booking]:
        """List the bookings of a day, of all rooms or of one."""
        found = self.rows("SELECT * FROM booking WHERE starts LIKE ? ORDER BY starts", f"{day}%")
        return [Booking(**r) for r in found if room in {None, r["room"]} and patient in {None, r["patient"]}]

    @operation(read_only=True)
    def get_booking(self, booking_id: BookingId) -> Booking:
        """Return a booking, with the version that `move_booking` asks for."""
        found = self.rows("SELECT * FROM booking WHERE id = ?", booking_id)
        if not found:
            raise NotFound(message=f"There is no booking {booking_id}.")
        return Booking(**found[0])

    @operation(atomic=True, verify_with="find_bookings")
    def book_room(
        self,
        room: Room,
        patient: Annotated[str, Reference(known_patient), Alias("patient_id"), Field(pattern=r"^P-\d{4}$")],
        starts: datetime,
        ends: datetime,
        purpose: Purpose,
    ) -> Booking:
        """Book a room for a patient."""
        with closing(self.connect()) as db, db:
            overlap = db.execute(
                "SELECT * FROM booking WHERE room = ? AND starts < ? AND ends > ?",
                (room, ends.isoformat(), starts.isoformat()),
            ).fetchone()
            if overlap:
                raise RoomTaken(room=room, starts=overlap["starts"], ends=overlap["ends"])
            values = (f"BK-{uuid4().hex[:4]}", room, patient, starts.isoformat(), ends.isoformat(), purpose)
            db.execute(
                "INSERT INTO booking (id, room, patient, starts, ends, purpose) VALUES (?, ?, ?, ?, ?, ?)", values
            )
        return self.get(values[0])

    @operation(atomic=True)
    def move_booking(
        self, booking_id: BookingId, starts: datetime, ends: datetime, version: Annotated[int, Field(ge=1)]
    ) -> Booking:
        """Move a booking to another time; `version` is what `get_booking` said."""
        booking = self.get(booking_id)
        if booking.version != version:
            raise BookingChanged(
                booking_id=booking_id,
                version=booking.version,
                next_step={"tool": "get_booking", "arguments": {"booking_id": booking_id}},
            )
        with closing(self.connect()) as db, db:
            db.execute(
                "UPDATE booking SET starts = ?, ends = ?, version = version + 1 WHERE id = ?",
                (starts.isoformat(), ends.isoformat(), booking_id),
            )
        return self.get(booking_id)

    def get(self, booking_id: str) -> Booking:
        """Return a booking that exists."""
        found = {row["id"]: row for row in self.rows("SELECT * FROM booking")}
        return Booking(**found[booking_id])  # KeyError: an id that was never checked

    @operation
    def open_desk(self, clerk: str, role: Literal["clerk", "manager"] = "clerk") -> dict[str, str]:
        """Begin a desk session; `cancel_booking` and `send_reminders` ask for its id."""
        if role == "manager" and clerk != "Vera":
            raise PermissionDenied(message=f"{clerk} is not a manager.", effect="none")
        desk = uuid4().hex
        self.desks = {desk: role}  # one desk at a time: the one before has ended
        return {"desk": desk}

    def at(self, desk: str) -> str:
        """Return the role of who sits at the desk."""
        if desk not in self.desks:
            raise DeskClosed(effect="none", next_step={"tool": "open_desk"})
        return self.desks[desk]

    @operation(destructive=True, verify_with="get_booking")
    def cancel_booking(self, desk: Desk, booking_id: BookingId, reason: Literal["patient", "clinic"]) -> None:
        """Cancel a booking. Surgery is cancelled by managers only."""
        role = self.at(desk)
        booking = self.get(booking_id)
        if booking.purpose == "surgery" and role != "manager":
            raise PermissionDenied(message="Surgery is cancelled by managers only.", effect="none")
        with closing(self.connect()) as db, db:
            db.execute("DELETE FROM booking WHERE id = ?", (booking_id,))
            db.execute("INSERT INTO cancelled VALUES (?, ?)", (booking_id, reason))

    @operation(timeout=3.0)
    async def send_reminders(
        self, desk: Desk, day: date, call: CallContext, only: list[str] | None = None
    ) -> dict[str, list[str]]:
        """Send a message to each patient who has a booking on a day, or `only` to these patients."""
        self.at(desk)
        bookings = self.rows("SELECT * FROM booking WHERE starts LIKE ? ORDER BY id", f"{day}%")
        patients = [b["patient"] for b in bookings if only is None or b["patient"] in only]
        sent: list[str] = []
        for patient in patients:
            try:
                response = await self.http.post("/messages", json={"to": patient}, headers=call.http_headers())
                response.raise_for_status()
            except httpx.HTTPError as exc:
                if not sent:
                    raise
                raise RemindersStopped(sent=sent, left=patients[len(sent) :], effect="applied") from exc
            sent.append(patient)
        return {"sent": sent}
