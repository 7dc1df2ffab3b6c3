"""What can be set, with its default, its limits and one sentence about it. Everything else is made of this."""

from ipaddress import ip_address
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

from phalanx.dialects import wishes
from phalanx.dialects.following import Marks
from phalanx.engine.settings import Settings
from phalanx.model.policy import BUDGET_MAX, Policy
from phalanx.model.rules import Rules

API_VERSION: Final = "phalanx.dev/v1alpha1"
KIND: Final = "Configuration"

_RULES, _POLICY, _SETTINGS = Rules(), Policy(), Settings()  # defaults live with their owners, never twice
_DAY = 86_400.0
_DNS = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


def says(text: str) -> Meta:
    """The sentence about a field, for the page and for the printed configuration."""
    return Meta(description=text)


def _spelt(pattern: str, rule: str, most: int) -> Meta:
    """Texts of one form. ``rule`` is what a person is told in place of the pattern."""
    return Meta(pattern=f"^{pattern}$", min_length=1, max_length=most, extra={"rule": rule})


Seconds = Annotated[float, Meta(ge=1, le=30 * _DAY)]
ShortSeconds = Annotated[float, Meta(ge=0.1, le=3600)]
SchedulerName = Annotated[str, _spelt(_DNS, "is not a scheduler's name: small letters, digits, - and .", 253)]
LabelKey = Annotated[str, _spelt(f"({_DNS}/)?{_LABEL_NAME}", "is not a label key, such as phalanx.dev/queue", 317)]
NamespaceName = Annotated[
    str, _spelt("[a-z0-9]([-a-z0-9]*[a-z0-9])?", "is not a namespace's name: small letters, digits and -", 63)
]
Address = Annotated[str, Meta(max_length=64, extra={"rule": "is not an IP address", "read": ip_address})]
File = Annotated[str, Meta(max_length=4096)]


class Part(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Some fields that belong together."""


class Timeouts(Part, frozen=True):
    """For gangs that name none themselves."""

    schedule_seconds: Annotated[
        Seconds, says("From the first pod released until the minimum is bound; then all is released again.")
    ] = _RULES.schedule
    ready_seconds: Annotated[Seconds, says("From then until the minimum is ready.")] = _RULES.ready
    recovery_seconds: Annotated[
        Seconds, says("From a loss below the minimum until the gang has its minimum again.")
    ] = _RULES.recovery


class Placing(Part, frozen=True):
    """Which of several good places is taken."""

    candidates: Annotated[
        Literal["pack", "spread", "balance"],
        says("Which domain first: the tightest, the roomiest, or the tightest with its pods evenly inside it."),
    ] = _POLICY.candidates  # type: ignore[assignment]  # a test holds the two together
    nodes: Annotated[
        Literal["compact", "reuse"], says("Inside the domain: the fewest nodes, or partly used ones first.")
    ] = _POLICY.nodes  # type: ignore[assignment]
    budget: Annotated[
        Annotated[int, Meta(ge=1_000, le=BUDGET_MAX)],
        says("Units of work for one decision; beyond it the answer is Undecided. Counted, not timed."),
    ] = _POLICY.budget


class Numbers(Part, frozen=True):
    """Numbers of the loop that are no business of a single gang."""

    bind_again_seconds: Annotated[
        ShortSeconds, says("A bind without an answer is asked for again after this; it is safe to repeat.")
    ] = _SETTINGS.bind_again
    bind_tries: Annotated[
        Annotated[int, Meta(ge=1, le=100)], says("Refusals of one pod before the whole gang is released.")
    ] = _SETTINGS.bind_tries
    backoff_seconds: Annotated[ShortSeconds, says("The wait after a first failure, doubled with each further one.")] = (
        _SETTINGS.backoff
    )
    backoff_most_seconds: Annotated[ShortSeconds, says("The longest such wait.")] = _SETTINGS.backoff_most
    pods_grace_seconds: Annotated[
        ShortSeconds, says("How long pods may be missing before anybody is told, and between two times it is.")
    ] = _SETTINGS.pods_grace
    succession_seconds: Annotated[
        ShortSeconds,
        says("So long a pod that was placed for a deleted gang is no member of a new one of that name."),
    ] = _SETTINGS.succession
    suspension_seconds: Annotated[
        ShortSeconds,
        says("So long a Job may take to be seen suspended, for its gang leaves; then its pods are deleted by us."),
    ] = _SETTINGS.suspension
    starving_seconds: Annotated[Seconds, says("Who has waited this long is passed by nobody any more.")] = (
        _SETTINGS.starving
    )


class Binds(Part, frozen=True):
    """How pods are bound."""

    concurrency: Annotated[Annotated[int, Meta(ge=1, le=1024)], says("Binds on their way at once.")] = 32
    timeout_seconds: Annotated[
        ShortSeconds,
        says("A bind, or other write for a gang, without an answer by then is neither done nor undone: we look again."),
    ] = 10.0


class Reporting(Part, frozen=True):
    """What is written about gangs."""

    delay_seconds: Annotated[
        ShortSeconds, says("A status is written at most once in this time, with what is true then.")
    ] = 1.0
    writes_per_second: Annotated[
        Annotated[float, Meta(ge=0.1, le=10_000)], says("Statuses and events together, over all gangs.")
    ] = 50.0
    events: Annotated[bool, says("Whether events are written, one per gang and change.")] = True


class Listen(Part, frozen=True):
    """Where /healthz, /readyz and /metrics are served."""

    address: Annotated[
        Address, says("Loopback unless you say otherwise; 0.0.0.0 or :: lets kubelets and Prometheus in.")
    ] = "127.0.0.1"
    port: Annotated[Annotated[int, Meta(ge=0, le=65_535)], says("0: any free one; the log says which.")] = 9440

    @property
    def is_public(self) -> bool:
        """Whether others than this machine can ask."""
        return not ip_address(self.address).is_loopback


class Logs(Part, frozen=True):
    """What is told on standard error."""

    format: Annotated[
        Literal["auto", "json", "text"], says("auto: text on a terminal, else one JSON object a line.")
    ] = "auto"
    level: Annotated[Literal["debug", "info", "warning", "error"], says("Lines below it are left out.")] = "info"


class Connection(Part, frozen=True):
    """How the API server is asked. There is no limit of requests a second: the server has its own."""

    connections: Annotated[
        Annotated[int, Meta(ge=4, le=2048)], says("Open at once, watches among them; more than binds.concurrency.")
    ] = 96
    request_seconds: Annotated[ShortSeconds, says("How long one request may take, binds and watches aside.")] = 30.0


class Records(Part, frozen=True):
    """Decisions as lines for phalanx replay (docs/records.md)."""

    file: Annotated[File, says("Every decision is appended to it; empty: none is kept.")] = ""


class Configuration(Part, frozen=True):
    """Everything that can be set."""

    api_version: Annotated[Literal["phalanx.dev/v1alpha1"], says("Always this.")] = API_VERSION
    kind: Annotated[Literal["Configuration"], says("Always this.")] = KIND
    scheduler_names: Annotated[
        Annotated[tuple[SchedulerName, ...], Meta(min_length=1, max_length=16)],
        says("Pods with one of these in spec.schedulerName are ours to bind."),
    ] = ("phalanx",)
    default_enforcement: Annotated[
        Literal["Bind", "Gate"], says("For gangs that do not say: we bind, or we open gates and another one binds.")
    ] = "Bind"
    queue_labels: Annotated[
        Annotated[tuple[LabelKey, ...], Meta(max_length=16)],
        says("A workload with one of these labels, whose pods another scheduler binds, is gated and placed by us."),
    ] = (wishes.QUEUE, wishes.KUEUE_QUEUE)
    namespaces: Annotated[
        Annotated[tuple[NamespaceName, ...], Meta(max_length=1000)],
        says("Only workloads of these are placed; none named: of all."),
    ] = ()
    write_foreign_status: Annotated[
        bool, says("Whether we also write the status of kinds that belong to other projects.")
    ] = False
    timeouts: Timeouts = Timeouts()
    placing: Placing = field(name="policy", default=Placing())
    numbers: Numbers = field(name="engine", default=Numbers())
    binds: Binds = Binds()
    reporting: Reporting = Reporting()
    listen: Listen = Listen()
    logs: Logs = Logs()
    client: Connection = Connection()
    records: Records = Records()

    def marks(self) -> Marks:
        """Which workloads and pods are ours."""
        return Marks(self.scheduler_names, self.queue_labels, self.namespaces, self.rules())

    def policy(self) -> Policy:
        """The parameters of placement."""
        return Policy(self.placing.candidates, self.placing.nodes, self.placing.budget)

    def settings(self) -> Settings:
        """The numbers of the engine."""
        own = self.numbers
        return Settings(
            bind_again=own.bind_again_seconds,
            bind_tries=own.bind_tries,
            backoff=own.backoff_seconds,
            backoff_most=own.backoff_most_seconds,
            pods_grace=own.pods_grace_seconds,
            succession=own.succession_seconds,
            suspension=own.suspension_seconds,
            starving=own.starving_seconds,
        )

    def rules(self) -> Rules:
        """How a gang is treated that says nothing about it."""
        times = self.timeouts
        return Rules(
            enforcement=self.default_enforcement,
            schedule=times.schedule_seconds,
            ready=times.ready_seconds,
            recovery=times.recovery_seconds,
        )
