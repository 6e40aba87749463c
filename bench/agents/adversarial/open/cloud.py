"""Cloud infrastructure: machines, volumes, rules, secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Instance = Annotated[str, Known("instance", "handle")]
Volume = Annotated[str, Known("volume", "handle")]
Region = Literal["eu-west-1", "eu-west-2", "us-east-1"]
Bucket = Annotated[str, Known("bucket", "spelled")]


class Rule(Record):
    """A rule of a firewall."""

    direction: Literal["inbound", "outbound"]
    from_port: int = Field(ge=1, le=65535)
    to_port: int = Field(ge=1, le=65535)
    source_cidr: str
    protocol: Literal["tcp", "udp", "icmp"] = "tcp"


class Cloud(World):
    """Machines, volumes, buckets and firewalls of an account."""

    ids: ClassVar = {
        "instance": ("i-0a41f7", "i-0a41f9", "i-77c0de"),
        "volume": ("vol-31b2", "vol-31b8"),
        "bucket": ("logs-2025", "logs-2026", "prod-backups", "preprod-data"),
    }

    @reads
    def list_instances(
        self,
        region: Region,
        state: Literal["running", "stopped", "terminated"] = "running",
        min_cpu_percent: Annotated[int, Field(ge=0, le=100)] = 0,
        launched_after: datetime | None = None,
        page_size: Annotated[int, Field(ge=1, le=100)] = 50,
        *,
        include_spot: bool = False,
    ) -> None:
        """Return machines."""

    @reads
    def get_metrics(
        self,
        instance_id: Instance,
        metric: Literal["cpu", "memory", "disk_read", "disk_write"],
        period_s: Annotated[int, Field(ge=60)] = 300,
    ) -> None:
        """Return the mean of a metric in each period."""

    @reads
    def list_objects(
        self, bucket: Bucket, prefix: str = "", max_keys: Annotated[int, Field(ge=1, le=1000)] = 100
    ) -> None:
        """Return the objects of a bucket."""

    @writes(idempotent=True)
    def stop_instance(
        self,
        instance_id: Instance,
        grace_period_s: Annotated[int, Field(ge=0, le=600)] = 30,
        *,
        hibernate: bool = False,
    ) -> None:
        """Stop a machine."""

    @writes(destructive=True)
    def resize_volume(self, volume_id: Volume, size_gb: Annotated[int, Field(ge=1, le=16_000)]) -> None:
        """Change the size of a volume."""

    @writes(destructive=True, idempotent=True)
    def delete_objects(self, bucket: Bucket, keys: list[str]) -> None:
        """Delete objects of a bucket."""

    @writes()
    def add_firewall_rule(
        self, instance_id: Instance, rule: Rule, priority: Annotated[int, Field(ge=100, le=4096)] = 1000
    ) -> None:
        """Let traffic through."""

    @writes(destructive=True, idempotent=True)
    def scale_group(
        self,
        region: Region,
        min_nodes: Annotated[int, Field(ge=0, le=50)],
        max_nodes: Annotated[int, Field(ge=1, le=50)],
    ) -> None:
        """Set how few and how many nodes a region has."""

    @writes(idempotent=True)
    def attach_volume(
        self, volume_id: Volume, instance_id: Instance, mode: Literal["read_only", "read_write"] = "read_write"
    ) -> None:
        """Attach a volume to a machine."""


_RULE = {"direction": "inbound", "from_port": 8080, "to_port": 8090, "source_cidr": "10.0.0.0/8", "protocol": "tcp"}
LIST = Meant(
    "25 running machines of eu-west-1, at least 60 percent busy, launched after 6 March 2026, 9:00 UTC, spot too.",
    *("list_instances",),
    region="eu-west-1",
    state="running",
    min_cpu_percent=60,
    launched_after="2026-03-06T09:00:00Z",
    page_size=25,
    include_spot=True,
)
METRICS = Meant(
    "The memory of i-0a41f7 in periods of 10 minutes.",
    "get_metrics",
    instance_id="i-0a41f7",
    metric="memory",
    period_s=600,
)
OBJECTS = Meant(
    "200 objects of logs-2026 under `app/`.", "list_objects", bucket="logs-2026", prefix="app/", max_keys=200
)
STOP = Meant(
    "Stop i-77c0de within 2 minutes, to disk.",
    "stop_instance",
    instance_id="i-77c0de",
    grace_period_s=120,
    hibernate=True,
)
RESIZE = Meant("Make vol-31b2 2,000 GB large.", "resize_volume", volume_id="vol-31b2", size_gb=2000)
DELETE = Meant("Delete a.log and b.log of logs-2025.", "delete_objects", bucket="logs-2025", keys=["a.log", "b.log"])
RULE = Meant(
    "Let TCP from 10.0.0.0/8 into i-0a41f9 on the ports 8080 to 8090, priority 2000.",
    *("add_firewall_rule",),
    instance_id="i-0a41f9",
    rule=_RULE,
    priority=2000,
)
SCALE = Meant("2 to 10 nodes in us-east-1.", "scale_group", region="us-east-1", min_nodes=2, max_nodes=10)
ATTACH = Meant(
    "Attach vol-31b8 to i-0a41f7 for reading.",
    "attach_volume",
    volume_id="vol-31b8",
    instance_id="i-0a41f7",
    mode="read_only",
)
DELETE_ONE = Meant("Delete old.tar of prod-backups.", "delete_objects", bucket="prod-backups", keys=["old.tar"])

TRADE = Trade(
    Cloud,
    [LIST, METRICS, OBJECTS, STOP, RESIZE, DELETE, RULE, SCALE, ATTACH, DELETE_ONE],
    [
        LIST.but("Launched before 6 March.", "opposite", "launched_after", launched_before="2026-03-06T09:00:00Z"),
        LIST.but("At most 60 percent.", "opposite", "min_cpu_percent", max_cpu_percent=60),
        LIST.but("At least 60 CPUs.", "unit", "min_cpu_percent", min_cpu_count=60),
        LIST.sent("unit", "min_cpu_percent", min_cpu_ratio=0.6),
        LIST.but("Page 25.", "other name", "page_size", page=25),
        LIST.but("Spot ones only.", "other name", "include_spot", only_spot=True),
        LIST.but("Not running.", "negation", state="not-running"),
        LIST.but("Unstopped.", "negation", state="unstopped"),
        LIST.but("Region eu-west-3.", "other value", region="eu-west-3"),
        LIST.but("Region us-west-1.", "other value", region="us-west-1"),
        LIST.but("Region eu-east-1.", "opposite", region="eu-east-1"),
        LIST.but("Distances between machines.", "other tool", tool="list_distances"),
        METRICS.but("The disk's writes and reads.", "other value", metric="disk_read_write"),
        METRICS.but("GPU.", "other value", metric="gpu"),
        METRICS.but("Nonmemory.", "negation", metric="nonmemory"),
        METRICS.but("In 600 periods.", "other name", "period_s", periods=600),
        METRICS.sent("unit", period_s="10 min"),
        METRICS.sent("unit", "period_s", period_ms=600_000),
        METRICS.but("Of the volume.", "other thing", "instance_id", volume_id="vol-31b2"),
        OBJECTS.but("Of logs-2024.", "sibling id", bucket="logs-2024"),
        OBJECTS.but("Of nonprod-backups.", "negation", bucket="nonprod-backups"),
        OBJECTS.but("Of prod-data.", "negation", bucket="prod-data"),
        OBJECTS.but("At least 200.", "opposite", "max_keys", min_keys=200),
        OBJECTS.but("Names that end in `app/`.", "opposite", "prefix", suffix="app/"),
        OBJECTS.but("Without those under `app/`.", "negation", "prefix", exclude_prefix="app/"),
        STOP.but("Start it.", "opposite", tool="start_instance"),
        STOP.but("Delete it.", "other tool", tool="terminate_instance"),
        STOP.but("Stop instances that look like it.", "other tool", tool="stop_instances_like"),
        STOP.but("In 2 minutes.", "other name", "grace_period_s", delay_s=120),
        STOP.but("Dehibernate.", "negation", "hibernate", dehibernate=True),
        STOP.sent("unit", grace_period_s="2m"),
        RESIZE.but("2,000 GB more.", "number", size_gb="+2000"),
        RESIZE.but("2,000 GB more.", "other name", "size_gb", add_gb=2000),
        RESIZE.but("2,000 MB.", "unit", "size_gb", size_mb=2000),
        RESIZE.but("2,000 MB.", "unit", size_gb="2000 MB"),
        RESIZE.but("At most 2,000 GB.", "other name", "size_gb", max_size_gb=2000),
        RESIZE.but("Resize the bucket.", "other thing", "volume_id", bucket="logs-2025"),
        DELETE.but("Keep these, delete all others.", "opposite", "keys", keep_keys=["a.log", "b.log"]),
        DELETE.but("Undelete them.", "negation", tool="undelete_objects"),
        DELETE.but("Of logs-2024.", "sibling id", bucket="logs-2024"),
        DELETE.sent("list", keys="a.log b.log"),
        DELETE.but("Only those older than 30 days.", "extra", older_than_days=30),
        RULE.but(
            "To that network.",
            "opposite",
            rule={"direction": "inbound", "from_port": 8080, "to_port": 8090, "destination_cidr": "10.0.0.0/8"},
        ),
        RULE.but("Deny it.", "opposite", rule={**_RULE, "action": "deny"}),
        RULE.but("Unbound.", "negation", rule={**_RULE, "direction": "unbound"}),
        RULE.but("SCTP.", "other value", rule={**_RULE, "protocol": "sctp"}),
        RULE.but("DTCP.", "other value", rule={**_RULE, "protocol": "dtcp"}),
        RULE.but("Remove the rule.", "opposite", tool="remove_firewall_rule"),
        SCALE.but("2 nodes more.", "other name", "min_nodes", add_nodes=2),
        SCALE.but("10 nodes now.", "other name", "max_nodes", desired_nodes=10),
        ATTACH.but("Detach it.", "negation", tool="detach_volume"),
        ATTACH.but("Written once.", "other value", mode="write_only"),
        nothing("Stop all machines of eu-west-1.", "other thing", "stop_instance", region="eu-west-1"),
        DELETE_ONE.but("Of preprod-backups.", "negation", bucket="preprod-backups"),
    ],
)
