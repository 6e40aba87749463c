"""Twenty failures of the rooms of a clinic."""

from agents.answers.worlds import Failure, earlier, fault, locked, sql, steps

DESK = earlier('open_desk {"clerk": "Ute"}', keep="desk")
BOOK = 'book_room {"room": "%s", "patient": "%s", "starts": "2031-05-12T%s", "ends": "2031-05-12T%s", "purpose": "%s"}'
MOVE = 'move_booking {"booking_id": "%s", "starts": "2031-05-12T%s", "ends": "2031-05-12T%s", "version": 1}'
REMIND = 'send_reminders {"desk": "$desk", "day": "2031-05-12"}'

FAILURES = [
    Failure(
        "read-room-dash",
        "See who is in room East 2 on 12 May 2031.",
        'find_bookings {"day": "2031-05-12", "room": "East-2"}',
        "call find_bookings with room East 2",
    ),
    Failure(
        "write-room-typo",
        "Book room East 2 for P-1003 on 12 May from 15:00 to 16:00, an examination.",
        BOOK % ("Esat 2", "P-1003", "15:00", "16:00", "examination"),
        "call book_room with room East 2",
    ),
    Failure(
        "write-room-unknown",
        "Book room North 9 (so the person said) for P-1003 on 12 May from 15:00 to 16:00, an examination.",
        BOOK % ("North 9", "P-1003", "15:00", "16:00", "examination"),
        "look first with find_rooms, or ask the person",
    ),
    Failure(
        "patient-unknown",
        "Book East 2 from 15:00 to 16:00 for the patient whose number, P-1030, the person read out.",
        BOOK % ("East 2", "P-1030", "15:00", "16:00", "examination"),
        "ask the person",
    ),
    Failure(
        "patient-without-prefix",
        "Book East 2 from 15:00 to 16:00 for patient number 1003; patients have numbers such as P-1001.",
        BOOK.replace("patient", "patientId", 1) % ("East 2", "1003", "15:00", "16:00", "examination"),
        "call book_room with patient P-1003",
    ),
    Failure(
        "names-and-enum",
        "Book West 1 for surgery of P-1003 on 12 May from 15:00 to 16:00.",
        'book_room {"roomName": "West 1", "patient": "P-1003", "start": "2031-05-12T15:00", '
        '"end_time": "2031-05-12T16:00", "purpose": "operation"}',
        "call book_room with room, starts, ends, and purpose surgery",
    ),
    Failure(
        "ends-first",
        "Book East 2 for P-1003 on 12 May from 15:00 to 16:00.",
        BOOK % ("East 2", "P-1003", "16:00", "15:00", "examination"),
        "call book_room with the times the other way round",
    ),
    Failure(
        "overlap",
        "Book an examination room for P-1003 on 12 May from 9:30 to 10:30, whichever is free.",
        BOOK % ("East 1", "P-1003", "09:30", "10:30", "examination"),
        "look first with find_bookings, or call book_room with East 2",
    ),
    Failure(
        "overlap-thrice",
        "Book East 1 for P-1003 on 12 May from 9:30 to 10:30, and no other room or time.",
        BOOK % ("East 1", "P-1003", "09:30", "10:30", "examination"),
        "ask the person",
        repeats=2,
    ),
    Failure(
        "move-onto-another",
        "Move BK-c21d in East 2 to 11:00 for half an hour; later in the day is fine, too.",
        MOVE % ("BK-c21d", "11:00", "11:30"),
        "look first with find_bookings, or call move_booking with a later time",
        sql(
            "clinic.db",
            "INSERT INTO booking VALUES ('BK-d00e', 'East 2', 'P-1003', '2031-05-12T11:00:00', "
            "'2031-05-12T12:00:00', 'examination', 1)",
        ),
    ),
    Failure(
        "move-stale",
        "Move BK-a7f3, which had version 1 when it was read, to 16:00.",
        MOVE % ("BK-a7f3", "16:00", "17:00"),
        "look first with get_booking",
        earlier(MOVE % ("BK-a7f3", "12:00", "13:00")),
    ),
    Failure(
        "move-unknown-id",
        "Move booking BK-a7e3, as a colleague wrote it down, to 16:00.",
        MOVE % ("BK-a7e3", "16:00", "17:00"),
        "look first with find_bookings, or ask the person",
    ),
    Failure(
        "get-unknown-id",
        "Read booking BK-c12d of 12 May, as a colleague wrote it down.",
        'get_booking {"booking_id": "BK-c12d"}',
        "look first with find_bookings",
    ),
    Failure(
        "desk-ended",
        "Cancel BK-c21d for Ute, at the desk that she opened this morning; the patient asked for it.",
        'cancel_booking {"desk": "$desk", "booking_id": "BK-c21d", "reason": "patient"}',
        "call open_desk for Ute, then cancel_booking",
        steps(DESK, earlier('open_desk {"clerk": "Jan"}')),
    ),
    Failure(
        "surgery-by-a-clerk",
        "Cancel BK-e90b for Ute, a clerk; the patient asked for it.",
        'cancel_booking {"desk": "$desk", "booking_id": "BK-e90b", "reason": "patient"}',
        "ask the person",
        DESK,
    ),
    Failure(
        "unknown-tool",
        "Cancel BK-c21d for Ute; the patient asked for it.",
        'delete_booking {"desk": "$desk", "booking_id": "BK-c21d", "reason": "patient"}',
        "call cancel_booking",
        DESK,
    ),
    Failure(
        "reminders-cut",
        "Remind all patients of 12 May.",
        REMIND,
        "ask the person: one reminded, one unknown, the third not",
        steps(DESK, fault("POST /messages", passes=1, is_late=True)),
    ),
    Failure(
        "reminders-blocked",
        "Remind all patients of 12 May.",
        REMIND,
        "call send_reminders only to P-1003, and tell the person of P-1002",
        DESK,
    ),
    Failure(
        "reminders-unauthenticated",
        "Remind all patients of 12 May.",
        REMIND,
        "stop: the operator has to mend the credentials; nobody was reminded",
        steps(DESK, fault("POST /messages", 401, "token expired")),
    ),
    Failure(
        "database-locked",
        "Book East 2 for P-1003 on 12 May from 15:00 to 16:00, an examination.",
        BOOK % ("East 2", "P-1003", "15:00", "16:00", "examination"),
        "wait, then the same call",
        locked("clinic.db"),
    ),
]
