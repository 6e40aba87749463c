"""A smart home: rooms, devices, scenes."""

from __future__ import annotations

from datetime import time
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Room = Annotated[str, Known("room", "spelled")]
Device = Annotated[str, Known("device", "handle")]
Percent = Annotated[int, Field(ge=0, le=100, description="In percent.")]


class Window(Record):
    """When something holds."""

    start_time: time
    end_time: time
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]]


class Home(World):
    """Rooms and devices of a house."""

    ids: ClassVar = {
        "room": ("bedroom", "bathroom", "kitchen", "living room"),
        "device": ("dev-51aa", "dev-51ab", "dev-90c2"),
        "scene": ("evening", "away", "movie night"),
    }

    @reads
    def get_readings(
        self,
        room: Room,
        sensor: Literal["temperature", "humidity", "motion"],
        last_hours: Annotated[int, Field(le=168)] = 24,
    ) -> None:
        """Return what a sensor measured."""

    @reads
    def list_devices(
        self,
        room: Room | None = None,
        state: Literal["active", "standby", "offline"] = "active",
        *,
        include_hidden: bool = False,
    ) -> None:
        """Return the devices of a room, or of the house."""

    @writes(idempotent=True)
    def set_heating(
        self, room: Room, target_celsius: Annotated[float, Field(ge=5, le=30)], window: Window | None = None
    ) -> None:
        """Set how warm a room is to be."""

    @writes(idempotent=True)
    def set_light(
        self,
        device_id: Device,
        brightness: Percent,
        color: Literal["warm", "neutral", "cool"] = "warm",
        fade_s: float = 0.0,
    ) -> None:
        """Set a lamp."""

    @writes(destructive=True, idempotent=True)
    def unlock_door(self, device_id: Device, for_seconds: Annotated[int, Field(ge=5, le=600)]) -> None:
        """Unlock a door for some time."""

    @writes(idempotent=True)
    def start_scene(
        self, scene: Annotated[str, Known("scene", "spelled")], rooms: list[str], *, mute_sounds: bool = False
    ) -> None:
        """Start a scene in rooms."""

    @writes(destructive=True)
    def disarm_alarm(self, zone: Literal["indoor", "perimeter"], code: str) -> None:
        """Disarm a zone of the alarm."""

    @writes(idempotent=True)
    def open_blinds(self, room: Room, opening_percent: Percent) -> None:
        """Open the blinds of a room as far as that."""


_NIGHT = {"start_time": "22:00:00", "end_time": "06:30:00", "days": ["mon", "fri"]}
READ = Meant(
    "The humidity of the bathroom in the last 48 hours.",
    "get_readings",
    room="bathroom",
    sensor="humidity",
    last_hours=48,
)
DEVICES = Meant(
    "Devices of the kitchen on standby, hidden ones too.",
    "list_devices",
    room="kitchen",
    state="standby",
    include_hidden=True,
)
HEAT = Meant(
    "Heat the bedroom to 18 degrees Celsius from 22:00 to 6:30 on Mondays and Fridays.",
    *("set_heating",),
    room="bedroom",
    target_celsius=18.0,
    window=_NIGHT,
)
LIGHT = Meant(
    "Set dev-51aa to 40 percent, neutral, within 3 seconds.",
    *("set_light",),
    device_id="dev-51aa",
    brightness=40,
    color="neutral",
    fade_s=3.0,
)
UNLOCK = Meant("Unlock dev-90c2 for 120 seconds.", "unlock_door", device_id="dev-90c2", for_seconds=120)
SCENE = Meant(
    "Start movie night in the living room and the kitchen, with the sounds on mute.",
    *("start_scene",),
    scene="movie night",
    rooms=["living room", "kitchen"],
    mute_sounds=True,
)
DISARM = Meant("Disarm the perimeter with code 4417.", "disarm_alarm", zone="perimeter", code="4417")
BLINDS = Meant("Open the blinds of the bedroom to 75 percent.", "open_blinds", room="bedroom", opening_percent=75)
AWAY = Meant("Start the scene away in the bathroom.", "start_scene", scene="away", rooms=["bathroom"])

TRADE = Trade(
    Home,
    [READ, DEVICES, HEAT, LIGHT, UNLOCK, SCENE, DISARM, BLINDS, AWAY],
    [
        READ.but("The first 48 hours of its life.", "opposite", "last_hours", first_hours=48),
        READ.but("The emotion of the persons in the bathroom.", "other value", sensor="emotion"),
        READ.but("The promotion that runs there.", "other value", sensor="promotion"),
        READ.but("The hall, which this house does not have.", "other value", room="bathhall"),
        READ.but("The bath house in the garden.", "other value", room="bathhouse"),
        READ.but("The headings of the display.", "other tool", tool="get_headings"),
        READ.sent("unit", "last_hours", last_days=2),
        READ.sent("unit", last_hours="2 days"),
        DEVICES.but("Inactive devices.", "negation", state="inactive"),
        DEVICES.but("Online devices.", "opposite", state="online"),
        DEVICES.but("Reactive devices, as the vendor calls them.", "other value", state="reactive"),
        DEVICES.but("Services of the kitchen.", "other tool", tool="list_services"),
        DEVICES.but("Only hidden devices.", "other name", "include_hidden", only_hidden=True),
        DEVICES.but("All but those of the kitchen.", "negation", "room", except_room="kitchen"),
        HEAT.but("Not under 18 degrees.", "other name", "target_celsius", min_celsius=18.0),
        HEAT.sent("unit", "target_celsius", target_fahrenheit=64.4),
        HEAT.sent("unit", target_celsius="64.4 F"),
        HEAT.sent("unit", target_celsius="291.15 K"),
        HEAT.but("18 degrees warmer.", "number", target_celsius="+18"),
        HEAT.but("Cooler by 18 degrees.", "other name", "target_celsius", delta_celsius=-18.0),
        HEAT.but("Cool the bedroom down.", "opposite", tool="set_cooling"),
        HEAT.but("Except in that time.", "negation", "window", except_window=_NIGHT),
        HEAT.but(
            "Until 22:00.", "opposite", window={"before_time": "22:00:00", "end_time": "06:30:00", "days": ["mon"]}
        ),
        HEAT.but("The bedroom of the guests.", "other value", room="guest bedroom"),
        LIGHT.but("40 percent darker.", "other name", "brightness", darkness=40),
        LIGHT.but("40 percent more.", "number", brightness="+40"),
        LIGHT.but("40 lumen.", "unit", brightness="40 lm"),
        LIGHT.but("Change the neutral light's name.", "other name", "color", color_name="neutral"),
        LIGHT.but("Lukewarm.", "other value", color="lukewarm"),
        LIGHT.but("Uncool.", "negation", color="uncool"),
        LIGHT.sent("unit", fade_s="3000 ms"),
        LIGHT.but("Fade in 3 steps.", "other name", "fade_s", fade_steps=3),
        LIGHT.but("The night light.", "other tool", tool="set_nightlight"),
        UNLOCK.but("Lock dev-90c2 for 120 seconds.", "opposite", tool="lock_door"),
        UNLOCK.but("In 120 seconds.", "other name", "for_seconds", in_seconds=120),
        UNLOCK.sent("unit", "for_seconds", for_minutes=2),
        UNLOCK.sent("unit", for_seconds="2 min"),
        UNLOCK.but("Unlock the floor of the lift.", "other tool", tool="unlock_floor"),
        SCENE.sent("list", rooms="living room and kitchen"),
        SCENE.but("Stop movie night.", "opposite", tool="stop_scene"),
        SCENE.but("Restart the scene that ran.", "negation", tool="restart_scene"),
        SCENE.but("Unmute the sounds that were on mute.", "negation", "mute_sounds", unmuted_sounds_only=True),
        SCENE.but("In all rooms but these.", "negation", "rooms", other_than_rooms=["living room", "kitchen"]),
        SCENE.but("Movie night 2, another scene.", "other value", scene="movie night 2"),
        DISARM.but("Arm the perimeter.", "opposite", tool="arm_alarm"),
        DISARM.but("Disarm the outdoor zone.", "opposite", zone="outdoor"),
        DISARM.but("Test the alarm.", "other tool", tool="test_alarm"),
        BLINDS.but("In 75 minutes.", "other name", "opening_percent", opening_minutes=75),
        BLINDS.but("Tilt by 75 degrees.", "unit", opening_percent="75 degrees"),
        BLINDS.but("Close them.", "opposite", tool="close_blinds"),
        nothing(
            "Open the blinds of the device dev-51aa.",
            "other thing",
            "open_blinds",
            device_id="dev-51aa",
            opening_percent=75,
        ),
        AWAY.but("Start the scene awake, another one.", "other value", scene="awake"),
    ],
)
