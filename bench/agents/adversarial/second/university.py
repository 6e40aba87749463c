"""A university's administration: enrolments, grades, rooms, exams, fees."""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Student = Annotated[str, Known("student")]
Course = Annotated[str, Known("course")]
Room = Annotated[str, Known("room", "spelled")]
Exam = Annotated[str, Known("exam", "handle")]
Term = Literal["spring", "autumn"]
Limit = Annotated[int, Field(ge=1, le=300)]


class Invigilator(Record):
    """Somebody who watches over an exam."""

    staff_id: str
    role: Literal["lead", "assistant"]
    minutes_before: int = 15


class Seating(Record):
    """How students sit in an exam."""

    plan: Literal["alphabetical", "random"]
    min_distance_cm: int
    reserve_seats: int = 0


class University(World):
    """Enrolments, grades, rooms, exams and fees of a university."""

    ids: ClassVar = {
        "student": ("2007141", "2007114", "2007411"),
        "course": ("MATH-201", "MATH-210", "PHYS-201"),
        "room": ("Hall B-114", "Hall B-141", "Lab C-7"),
        "exam": ("exm_90a1c4", "exm_90a1c9"),
    }

    @reads
    def get_transcript(
        self,
        student_id: Student,
        from_year: int,
        scale: Literal["points", "letter", "passed"] = "points",
        as_of: date | None = None,
        *,
        include_withdrawn: bool = False,
    ) -> None:
        """Return the grades of a student since a year, as they were on a day."""

    @reads
    def list_enrolments(
        self,
        course_id: Course,
        status: Literal["enrolled", "waitlisted", "completed"] = "enrolled",
        enrolled_since: date | None = None,
        programmes: list[str] | None = None,
        min_attendance_percent: Annotated[int, Field(ge=0, le=100)] | None = None,
        limit: Limit = 100,
        *,
        include_guests: bool = True,
    ) -> None:
        """Return who attends a course, of any of some programmes."""

    @reads
    def find_rooms(
        self,
        start: datetime,
        minutes: int,
        min_seats: int,
        building: Literal["north", "south", "annex"] | None = None,
        equipment: list[str] | None = None,
    ) -> None:
        """Return rooms that are free from a time on for some minutes and have all of some equipment."""

    @writes()
    def enrol_student(
        self,
        student_id: Student,
        course_id: Course,
        term: Term,
        credit_points: Annotated[int, Field(ge=1, le=15)],
        *,
        waitlist_if_full: bool = False,
    ) -> None:
        """Enrol a student in a course of the coming academic year."""

    @writes(destructive=True, idempotent=True)
    def withdraw_student(
        self,
        student_id: Student,
        course_id: Course,
        effective_on: date,
        reason: Literal["illness", "transfer", "no_show"],
        refund_percent: Annotated[int, Field(ge=0, le=100)] = 0,
    ) -> None:
        """Withdraw a student from a course."""

    @writes(destructive=True, idempotent=True)
    def record_grade(
        self,
        student_id: Student,
        course_id: Course,
        assessment: Literal["midterm", "final", "resit"],
        points: Annotated[float, Field(ge=0, le=100)],
        graded_on: date,
        comment: str = "",
    ) -> None:
        """Record a grade, in place of the one of this assessment if there is one."""

    @writes()
    def schedule_exam(
        self,
        course_id: Course,
        room: Room,
        starts_at: datetime,
        duration_minutes: Annotated[int, Field(ge=30, le=300)],
        invigilators: list[Invigilator],
        seating: Seating | None = None,
        *,
        open_book: bool = False,
    ) -> None:
        """Schedule an exam and tell all students of the course."""

    @writes(destructive=True)
    def cancel_exam(self, exam_id: Exam, cause: Literal["strike", "weather", "error"], message: str = "") -> None:
        """Cancel an exam for good and tell all students of the course."""

    @writes()
    def charge_fee(
        self,
        student_id: Student,
        kind: Literal["tuition", "resit", "library"],
        amount_cents: Annotated[int, Field(gt=0, le=900_000, description="In euro cents.")],
        due: date,
    ) -> None:
        """Charge a student a fee."""


_LEAD = {"staff_id": "T-310", "role": "lead", "minutes_before": 30}
_AIDE = {"staff_id": "T-301", "role": "assistant", "minutes_before": 15}
_LATE = {"staff_id": "T-301", "role": "assistant"}
_SEATING = {"plan": "random", "min_distance_cm": 150, "reserve_seats": 4}

TRANSCRIPT = Meant(
    "The letter grades of student 2007141 since 2024, as they were on 9 July 2026, with withdrawn courses.",
    *("get_transcript",),
    student_id="2007141",
    from_year=2024,
    scale="letter",
    as_of="2026-07-09",
    include_withdrawn=True,
)
LISTED = Meant(
    "At most 150 students who are enrolled in MATH-201 since 9 July 2026 or later, of the programmes physics or "
    "computer science, and attended at least 75 percent, without guests.",
    *("list_enrolments",),
    course_id="MATH-201",
    status="enrolled",
    enrolled_since="2026-07-09",
    programmes=["physics", "computer science"],
    min_attendance_percent=75,
    limit=150,
    include_guests=False,
)
WAITING = Meant(
    "Who of the programme chemistry is on the waiting list of PHYS-201.",
    *("list_enrolments",),
    course_id="PHYS-201",
    status="waitlisted",
    programmes=["chemistry"],
)
ROOMS = Meant(
    "Rooms of the north building with at least 80 seats, a projector and a microphone, free from 08:00 UTC on 6 "
    "October 2026 for 150 minutes.",
    *("find_rooms",),
    start="2026-10-06T08:00:00Z",
    minutes=150,
    min_seats=80,
    building="north",
    equipment=["projector", "microphone"],
)
ENROL = Meant(
    "Enrol 2007141 in MATH-210 in autumn for 6 credit points, and do not put them on the waiting list if it is full.",
    *("enrol_student",),
    student_id="2007141",
    course_id="MATH-210",
    term="autumn",
    credit_points=6,
    waitlist_if_full=False,
)
WITHDRAW = Meant(
    "Withdraw 2007114 from PHYS-201 on 6 October 2026 because of illness, with 60 percent of the fee refunded.",
    *("withdraw_student",),
    student_id="2007114",
    course_id="PHYS-201",
    effective_on="2026-10-06",
    reason="illness",
    refund_percent=60,
)
GRADE = Meant(
    "Record 72.5 points for 2007411 in the final exam of MATH-201, graded on 9 July 2026, with the comment 'second "
    "marker agreed'.",
    *("record_grade",),
    student_id="2007411",
    course_id="MATH-201",
    assessment="final",
    points=72.5,
    graded_on="2026-07-09",
    comment="second marker agreed",
)
EXAM = Meant(
    "Schedule an open-book exam of MATH-210 in Hall B-114 at 08:00 UTC on 6 October 2026 for 120 minutes, with T-310 "
    "as lead, 30 minutes before, and T-301 as assistant, 15 minutes before; random seats 150 cm apart, 4 in reserve.",
    *("schedule_exam",),
    course_id="MATH-210",
    room="Hall B-114",
    starts_at="2026-10-06T08:00:00Z",
    duration_minutes=120,
    invigilators=[_LEAD, _AIDE],
    seating=_SEATING,
    open_book=True,
)
CLOSED = Meant(
    "Schedule a closed-book exam of PHYS-201 in Lab C-7 at 12:00 UTC on 7 October 2026 for 90 minutes, with T-310 as "
    "lead, 30 minutes before.",
    *("schedule_exam",),
    course_id="PHYS-201",
    room="Lab C-7",
    starts_at="2026-10-07T12:00:00Z",
    duration_minutes=90,
    invigilators=[_LEAD],
    open_book=False,
)
CANCEL = Meant(
    "Cancel exam exm_90a1c4 because of the weather, with the message 'A new day will follow'.",
    *("cancel_exam",),
    exam_id="exm_90a1c4",
    cause="weather",
    message="A new day will follow",
)
FEE = Meant(
    "Charge 2007114 a resit fee of 45 euros, due on 6 November 2026.",
    *("charge_fee",),
    student_id="2007114",
    kind="resit",
    amount_cents=4500,
    due="2026-11-06",
)

TRADE = Trade(
    University,
    [TRANSCRIPT, LISTED, WAITING, ROOMS, ENROL, WITHDRAW, GRADE, EXAM, CLOSED, CANCEL, FEE],
    [
        # Transcripts and lists
        TRANSCRIPT.sent("name form", "from_year", fromYear=2024),
        TRANSCRIPT.sent("name typo", "include_withdrawn", include_withdrwan=True),
        TRANSCRIPT.sent("value form", student_id=2007141),
        TRANSCRIPT.sent("value case", scale="Letter"),
        TRANSCRIPT.sent("value typo", scale="leter"),
        TRANSCRIPT.sent("opposite", "include_withdrawn", hide_withdrawn=False),
        TRANSCRIPT.sent("date", as_of="09/07/2026"),
        TRANSCRIPT.sent("date", as_of="9 July 2026"),
        TRANSCRIPT.but("Grades until 2024.", "opposite", "from_year", to_year=2024),
        TRANSCRIPT.but("Grades of courses that began before 2024.", "opposite", "from_year", before_year=2024),
        TRANSCRIPT.but("Only what the student withdrew from.", "other name", "include_withdrawn", only_withdrawn=True),
        TRANSCRIPT.but("With courses that removed them.", "other name", "include_withdrawn", include_removed=True),
        TRANSCRIPT.but("The grades as averages of 4.0 at best.", "other value", scale="gpa"),
        TRANSCRIPT.but("What the student did not pass.", "negation", scale="not_passed"),
        TRANSCRIPT.but("The grades of 2007140.", "sibling id", student_id="2007140"),
        TRANSCRIPT.but("The grades of all students of MATH-201.", "other thing", "student_id", course_id="MATH-201"),
        TRANSCRIPT.but("The grades of teacher T-310's courses.", "other thing", student_id="T-310"),
        TRANSCRIPT.but("The timetable of 2007141.", "other tool", "scale include_withdrawn", tool="get_timetable"),
        TRANSCRIPT.but("Send the transcript to the student.", "other tool", "as_of", tool="send_transcript"),
        nothing("The transcripts of all students.", "other tool", "get_transcripts", from_year=2024),
        nothing("Enrolment 88120.", "other tool", "list_enrolment", enrolment_id="88120"),
        nothing("All courses of spring.", "other tool", "list_courses", term="spring"),
        LISTED.sent("name form", "min_attendance_percent", **{"min-attendance-percent": 75}),
        LISTED.sent("name typo", tool="list_enrollments"),
        LISTED.sent("value form", programmes='["physics", "computer science"]'),
        LISTED.sent("list", programmes="physics, computer science"),
        LISTED.sent("opposite", "include_guests", exclude_guests=True),
        LISTED.sent("unit", min_attendance_percent="75%"),
        LISTED.sent("unit", "min_attendance_percent", min_attendance_ratio=0.75),
        LISTED.sent("other name", "limit", page_size=150),
        LISTED.but("At most 75 percent.", "opposite", "min_attendance_percent", max_attendance_percent=75),
        LISTED.but("At least 75 points.", "other name", "min_attendance_percent", min_grade_percent=75),
        LISTED.but("Absent for at least 75 percent.", "opposite", "min_attendance_percent", min_absence_percent=75),
        LISTED.but("At least 75 hours.", "unit", "min_attendance_percent", min_attendance_hours=75),
        LISTED.but("Enrolled before 9 July.", "opposite", "enrolled_since", enrolled_before="2026-07-09"),
        LISTED.but("Withdrawn since 9 July.", "opposite", "enrolled_since", withdrawn_since="2026-07-09"),
        LISTED.but(
            "Of other programmes than these.", "negation", "programmes", not_programmes=["physics", "computer science"]
        ),
        LISTED.but("Of both programmes at once.", "list", programmes="physics+computer science"),
        LISTED.but("Those who have left the course.", "opposite", status="withdrawn"),
        LISTED.but("Those who were enrolled earlier, before the course opened.", "negation", status="pre-enrolled"),
        LISTED.but("Those who have not finished it, and who may be enrolled or wait.", "negation", status="incomplete"),
        LISTED.but("Guests alone.", "other name", "include_guests", guests_only=True),
        LISTED.but("Those in MATH-202.", "sibling id", course_id="MATH-202"),
        LISTED.but("Those who sit in exam exm_90a1c4.", "other thing", "course_id", exam_id="exm_90a1c4"),
        WAITING.sent("value form", programmes="chemistry"),
        WAITING.but("Those who were invited and have not answered.", "other value", status="invited"),
        WAITING.but("How many they are.", "other tool", "programmes", tool="count_enrolments"),
        # Rooms
        ROOMS.sent("list", equipment="projector and microphone"),
        ROOMS.sent("unit", "minutes", hours=2.5),
        ROOMS.sent("unit", minutes="2 h 30"),
        ROOMS.sent("date", start="06.10.2026 08:00 UTC"),
        ROOMS.sent("value typo", building="nroth"),
        ROOMS.sent("other name", "start", starts_at="2026-10-06T08:00:00Z"),
        ROOMS.but("With at most 80 seats.", "opposite", "min_seats", max_seats=80),
        ROOMS.but("With at least 80 square metres.", "other name", "min_seats", min_area_m2=80),
        ROOMS.but("With a projector or a microphone.", "list", equipment="projector | microphone"),
        ROOMS.but("Without a projector.", "negation", "equipment", without_equipment=["projector"]),
        ROOMS.sent("other name", "minutes", end="2026-10-06T10:30:00Z"),
        ROOMS.but("In the west building.", "other value", building="west"),
        ROOMS.but("In any building but the north one.", "negation", building="not north"),
        ROOMS.but("For at most 80 euros an hour.", "currency", max_price_eur=80),
        ROOMS.but("Free homes for students.", "other tool", "equipment minutes", tool="find_dorm_rooms"),
        nothing("When Hall B-114 is free.", "other tool", "find_room", room="Hall B-114"),
        nothing(
            "Reserve Hall B-114.",
            "other tool",
            "book_room",
            room="Hall B-114",
            start="2026-10-06T08:00:00Z",
            minutes=150,
        ),
        # Enrolments
        ENROL.sent("name form", tool="enrolStudent"),
        ENROL.sent("name typo", tool="enroll_student"),
        ENROL.sent("value case", term="AUTUMN"),
        ENROL.sent("other value", term="fall"),
        ENROL.sent("value form", credit_points="6"),
        ENROL.sent("opposite", "waitlist_if_full", fail_if_full=True),
        ENROL.but("Unenrol 2007141.", "negation", "term credit_points waitlist_if_full", tool="unenrol_student"),
        ENROL.but("Enrol them again where they were withdrawn.", "other tool", tool="reinstate_student"),
        ENROL.but("Enrol them in the term between autumn and spring.", "other value", term="winter"),
        ENROL.but("Enrol them even if the course is full.", "other name", "waitlist_if_full", enrol_if_full=True),
        ENROL.but("Enrol them if they have 6 points at least.", "other name", "credit_points", min_credit_points=6),
        ENROL.but("Enrol them for 60 hours.", "unit", "credit_points", contact_hours=60),
        ENROL.but("Enrol them for 30 credit points.", "bound", credit_points=30),
        ENROL.sent("other name", "credit_points", credits=6),
        ENROL.but("Enrol 2007145.", "sibling id", student_id="2007145"),
        ENROL.but("Enrol them in the programme PRG-4.", "other thing", "course_id", programme_id="PRG-4"),
        ENROL.but("Enrol all who wait for MATH-210.", "other tool", "student_id", tool="enrol_students"),
        ENROL.but("Enrol 2007141 and 2007114.", "list", student_id="2007141,2007114"),
        ENROL.but("Enrol them until 6 October only.", "extra", until="2026-10-06"),
        ENROL.but("Enrol teacher T-310.", "other tool", "student_id", tool="enrol_teacher", teacher_id="T-310"),
        WITHDRAW.sent("date", effective_on="10/06/2026"),
        WITHDRAW.sent("unit", "refund_percent", refund_ratio=0.6),
        WITHDRAW.sent("unit", refund_percent="0.6 of the fee"),
        WITHDRAW.sent("other tool", tool="drop_student"),
        WITHDRAW.but("Refund 60 euros.", "unit", "refund_percent", refund_eur=60),
        WITHDRAW.but("Refund 60 dollars.", "currency", "refund_percent", refund_usd=60),
        WITHDRAW.but("Keep them until 6 October at least.", "opposite", "effective_on", not_before="2026-10-06"),
        WITHDRAW.but("Withdraw them from the university.", "other tool", "course_id", tool="exmatriculate_student"),
        WITHDRAW.but("Withdraw them because they cheated.", "other value", reason="misconduct"),
        WITHDRAW.but("Withdraw them because they came without being asked.", "opposite", reason="show"),
        WITHDRAW.but("Suspend them from the course for a month.", "other tool", tool="suspend_student"),
        WITHDRAW.but("Withdraw the whole course.", "other tool", "student_id refund_percent", tool="withdraw_course"),
        WITHDRAW.but("Refund 120 percent.", "bound", refund_percent=120),
        # Grades
        GRADE.sent("number", points="72,5"),
        GRADE.sent("unit", points="72.5/100"),
        GRADE.sent("other name", "points", score=72.5),
        GRADE.sent("name form", "graded_on", gradedOn="2026-07-09"),
        GRADE.but("Record the letter B.", "unit", points="B"),
        GRADE.but("Add 5 points to what there is.", "other name", "points", bonus_points=5.0),
        GRADE.but("Take 5 points off.", "opposite", "points", deduct_points=5.0),
        GRADE.but("Record 105 points.", "bound", points=105.0),
        GRADE.but("Record it for the homework.", "other value", assessment="homework"),
        GRADE.but("Record it for the mock exam before the final one.", "negation", assessment="pre-final"),
        GRADE.but("Graded by T-310, nobody knows when.", "other name", "graded_on", graded_by="T-310"),
        GRADE.but("Delete the grade.", "opposite", "points comment", tool="delete_grade"),
        GRADE.but("Record that they were there.", "other tool", "points assessment", tool="record_attendance"),
        GRADE.but("Publish it to the student on 9 July.", "other name", "graded_on", publish_on="2026-07-09"),
        GRADE.but("Record it for 2007411 and 2007141.", "list", student_id=["2007411", "2007141"]),
        GRADE.but("Record it for the exam exm_90a1c9.", "other thing", "course_id", exam_id="exm_90a1c9"),
        # Exams and fees
        EXAM.sent("opposite", "open_book", closed_book=False),
        EXAM.sent("unit", "duration_minutes", duration_hours=2),
        EXAM.sent("unit", seating={"plan": "random", "min_distance_m": 1.5, "reserve_seats": 4}),
        EXAM.sent("list", invigilators={"lead": "T-310", "assistant": "T-301"}),
        EXAM.sent("list", "seating", seating_plan="random", seating_min_distance_cm=150, seating_reserve_seats=4),
        EXAM.sent("value case", room="hall b-114"),
        EXAM.but("With T-301 as an examiner.", "other value", invigilators=[_LEAD, {**_AIDE, "role": "examiner"}]),
        EXAM.but("T-301 stays 15 minutes longer.", "opposite", invigilators=[_LEAD, {**_LATE, "minutes_after": 15}]),
        EXAM.sent("opposite", "starts_at", ends_at="2026-10-06T10:00:00Z"),
        EXAM.but("At most 150 cm apart.", "opposite", seating={"plan": "random", "max_distance_cm": 150}),
        EXAM.but("Seats that are not random and not by name.", "negation", seating={**_SEATING, "plan": "nonrandom"}),
        EXAM.but("In Hall B-115.", "sibling id", room="Hall B-115"),
        EXAM.but("In Hall B-114 and Hall B-141 both.", "list", room="Hall B-114 + Hall B-141"),
        EXAM.but("For 8 hours.", "bound", duration_minutes=480),
        EXAM.but("With electronic devices, and no books.", "other name", "open_book", open_laptop=True),
        EXAM.but("Schedule a lecture.", "other tool", "invigilators open_book", tool="schedule_lecture"),
        EXAM.but("Move exm_90a1c4 there.", "other tool", "course_id", tool="reschedule_exam", exam_id="exm_90a1c4"),
        CLOSED.sent("opposite", "open_book", closed_book=True),
        CLOSED.sent("value form", invigilators=_LEAD),
        CLOSED.sent("date", starts_at="7/10/2026 12:00 UTC"),
        CANCEL.but("Restore the exam that was cancelled.", "opposite", "cause", tool="restore_exam"),
        CANCEL.but("Cancel the exam of MATH-201.", "other thing", "exam_id", course_id="MATH-201"),
        CANCEL.but("Cancel 2007141's place in the exam.", "extra", student_id="2007141"),
        CANCEL.but("Cancel exm_90a1c5.", "sibling id", exam_id="exm_90a1c5"),
        CANCEL.but("Postpone it by 7 days.", "other name", "cause", postpone_days=7),
        CANCEL.but("Cancel it, since the teacher is ill.", "other value", cause="illness"),
        CANCEL.but("Cancel the lesson.", "other tool", "exam_id", tool="cancel_lesson", lesson_id="ls_4"),
        CANCEL.but("Cancel all exams of that day.", "other tool", "exam_id", tool="cancel_exams", day="2026-10-06"),
        FEE.sent("unit", "amount_cents", amount_eur=45),
        FEE.sent("unit", amount_cents="45 EUR"),
        FEE.sent("unit", amount_cents="45.00"),
        FEE.sent("number", amount_cents="4,500"),
        FEE.but("A fee of 45 dollars.", "currency", amount_cents="45 USD"),
        FEE.but("A fee of 4,500 pence.", "currency", "amount_cents", amount_pence=4500),
        FEE.but("Pay 45 euros back.", "opposite", "due", tool="refund_fee"),
        FEE.but("Waive the fee.", "negation", "due", tool="uncharge_fee"),
        FEE.but("Charge it for the first exam, no resit.", "other value", kind="exam"),
        FEE.but("A fee of 12,000 euros.", "bound", amount_cents=1_200_000),
        FEE.but("45 euros each month.", "extra", every_months=1),
        FEE.but("Due 6 November at noon.", "date", due="2026-11-06T12:00:00Z"),
        FEE.but("Raise the fee by 45 euros.", "other name", "amount_cents", increase_cents=4500),
        FEE.but("Charge all students of MATH-201.", "other thing", "student_id", course_id="MATH-201"),
    ],
)
