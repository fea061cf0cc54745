"""The values of the API; the OpenAPI document is generated from them."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from gamemaster.faults import Cause, FaultKind
from gamemaster.player import LONGEST_NAME
from gamemaster.settings import LONGEST_CLOCK
from gamemaster.web.settings import MOST_PLAYERS, checked_name
from ggp.protocol import evaluation as protocol

Status = Literal[
    "preparing",
    "running",
    "terminal",
    "step limit",
    "forfeit",
    "adjudicated",
    "broken",
    "void",
    "aborted",
    "failed",
    "interrupted",
    "given up",
]
Kind = Literal["bot", "human", "external", "chance"]
Name: TypeAlias = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(checked_name)]  # of a player
Clock: TypeAlias = Annotated[int, Field(ge=1, le=LONGEST_CLOCK)]  # whole seconds
Offset: TypeAlias = Annotated[int, Field(ge=0, le=100_000_000)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=200)]
Cell: TypeAlias = tuple[str, str]  # data-board and data-cell of the picture


class Part(BaseModel):
    """A value of the API."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProblemDetail(BaseModel):
    """Why a request was not fulfilled (RFC 9457)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    instance: str


class Service(Part):
    """What this is and where to begin."""

    name: str
    version: str
    needs_token: bool = Field(description="Whether requests that change something need a token.")
    may_write: bool = Field(description="Whether this request came with what is needed.")
    links: dict[str, str]


class GameHead(Part):
    """A game in a list."""

    id: str
    title: str
    description: str
    roles: tuple[str, ...]
    tags: tuple[str, ...]
    is_shipped: bool
    url: str
    picture: str = Field(description="Where a picture from the middle of a match is.")


class Games(Part):
    """Games that were searched for."""

    total: int
    games: tuple[GameHead, ...]


class RoleStatistics(Part):
    """What came of the matches for one role."""

    role: str
    matches: int
    mean_goal: float | None


class Statistics(Part):
    """What came of the matches of a game that are kept here."""

    matches: int
    mean_steps: float | None
    roles: tuple[RoleStatistics, ...]
    fastest: str | None = Field(description="The player that took the least time for a move on average.")
    fastest_seconds: float | None


class Move(Part):
    """A move, and the clicks on the picture that make it, in order; none where clicks do not say it."""

    move: str
    clicks: tuple[tuple[Cell, ...], ...] = Field(description="For each click the cells of which one is to be clicked.")


class State(Part):
    """A state of a game, as it is drawn and as facts."""

    step: int
    facts: tuple[str, ...]
    terminal: bool
    goals: dict[str, int | None]
    legal: dict[str, tuple[Move, ...]]
    svg: str = Field(description="The picture; empty where there is none.")
    text: str = Field(description="The picture as text.")
    problem: str | None = Field(description="Why the rules say no more of the state.")


class Game(GameHead):
    """A game with everything that is known of it."""

    role_descriptions: dict[str, str]
    source: str = Field(description="Where the rules come from.")
    readings: tuple[str, ...] = Field(description="How ambiguous sentences of the source were read.")
    truths: dict[str, Any] = Field(description="What is known of the game, such as its value or perft numbers.")
    has_percepts: bool = Field(description="Whether the roles are told different things, as in GDL-II.")
    rulesheet: str
    statistics: Statistics


class Engine(Part):
    """What the engine made of a game."""

    engine: str
    fallback: str | None = Field(description="Why it is not the fastest engine.")
    facts: int | None
    moves: int | None
    gates: int | None
    phases: int | None
    playouts_per_second: float
    mean_length: float | None = Field(description="Steps of a random match.")
    mean_goals: dict[str, float | None] = Field(description="Of random matches.")
    seconds: float = Field(description="From the rules to the first random match.")


class Paste(Part):
    """A rulesheet of one's own."""

    name: Annotated[str, Field(max_length=60)] = "A game"
    rulesheet: str


class Finding(Part):
    """Something that is wrong or dubious; line and column count from 1."""

    severity: Literal["error", "warning"]
    check: str
    message: str
    line: int
    column: int


class Evidence(Part):
    """What random matches showed."""

    matches: int
    ended: int
    longest: int
    notes: tuple[str, ...]


class Check(Part):
    """What there is to say about a rulesheet."""

    findings: tuple[Finding, ...]
    is_playable: bool
    problem: str | None
    roles: tuple[str, ...]
    start: State | None
    evidence: Evidence | None


class Player(Part):
    """Who takes a role."""

    name: str
    kind: Kind | None = Field(description="Null in a list of matches of a store, which does not keep it.")
    bot: str | None = None


class Origin(Part):
    """The match from which another goes on."""

    match: str
    step: int


class MatchHead(Part):
    """A match in a list."""

    id: str
    game: str
    tournament: str = Field(description="Empty where it belongs to none.")
    status: Status
    reason: str | None
    resigned: str | None = Field(description="The role whose player resigned, in an aborted match.")
    forfeited: tuple[str, ...] = Field((), description="Roles whose players had too many faults in a row.")
    players: dict[str, Player]
    goals: dict[str, int | None] | None
    steps: int
    faults: int
    started: AwareDatetime
    finished: AwareDatetime | None
    url: str


class Matches(Part):
    """Some of the matches that were asked for, the last first."""

    total: int
    offset: int
    matches: tuple[MatchHead, ...]


class FaultDetail(Part):
    """Why an answer was not used."""

    kind: FaultKind
    detail: str
    answer: str | None
    cause: Cause = Field(description="A fault of the game master, which was held up, does not count.")


class StartDetail(Part):
    """What a player made of START."""

    seconds: float
    answer: str | None
    fault: FaultDetail | None


class Evaluation(protocol.Evaluation):
    """What a player said that it thought when it was asked for a move; goal values 0 to 100 of its role."""

    text: str = Field(description="The variation as text, without the moves of the others where one role moves.")


class Step(Part):
    """One joint move; seconds are those until the answer came."""

    number: int
    moves: dict[str, str]
    seconds: dict[str, float]
    faults: dict[str, FaultDetail]
    evaluations: dict[str, Evaluation] = Field(description="What players think; none while the user plays.")
    time: AwareDatetime


class Ticking(Part):
    """What a match that goes on is waiting for."""

    phase: Literal["preparing", "start", "step", "over"]
    step: int
    remaining: float | None = Field(description="Seconds, at the moment of sending; null where no clock runs.")
    total: float | None = Field(description="Seconds that the clock began with.")
    waiting: tuple[str, ...] = Field(description="Roles whose answer is not known to have come.")
    left: dict[str, float] = Field({}, description="Human role → seconds for all its moves, where it has such a clock.")


class Match(MatchHead):
    """A match with all its steps."""

    roles: tuple[str, ...]
    startclock: int
    playclock: int
    increment: float | None = Field(description="As in NewMatch.")
    seed: int | None = Field(description="Null while the match goes on, since chance and bots follow from it.")
    scramble: bool
    engine: str
    origin: Origin | None
    start: dict[str, StartDetail]
    joint_moves: tuple[Step, ...] = Field(description="The steps, in order, from `first` of the query on.")
    is_live: bool
    is_hidden: bool = Field(description="Whether moves and states are kept from spectators until the end.")
    clock: Ticking
    links: dict[str, str]


class Human(Part):
    """A human who plays in the browser."""

    kind: Literal["human"]
    name: Name = "you"


class Bot(Part):
    """A bot, which the service starts."""

    kind: Literal["bot"]
    bot: Annotated[str, Field(max_length=60)] = Field(
        description="mcts, montecarlo, random, legal, or one that the operator has added."
    )
    name: Name = ""


class External(Part):
    """An external player, at a host that the operator allows."""

    kind: Literal["external"]
    url: Annotated[str, Field(max_length=300)]
    name: Name = ""


NewPlayer: TypeAlias = Annotated[Human | Bot | External, Field(discriminator="kind")]


class MatchWanted(Part):
    """Who plays a match, and by which clocks, in seconds."""

    players: dict[str, NewPlayer] = Field(description="Role → who takes it; not `random`.", max_length=MOST_PLAYERS)
    startclock: Clock = 30
    playclock: Clock = 60
    increment: Annotated[int, Field(ge=0, le=3600)] | None = Field(
        None, description="With it, playclock is for all moves of a human, and grows by it with each; null: for one."
    )
    think: Clock | None = Field(None, description="Seconds that bots take for a move against humans at most.")


class NewMatch(MatchWanted):
    """A match that is to be played."""

    game: Annotated[str, Field(max_length=200)]
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = Field(None, description="For bots only, or by the operator.")


class Branch(MatchWanted):
    """A match that goes on from a state of another one."""

    step: Annotated[int, Field(ge=0, le=1_000_000)]


class StartedMatch(Part):
    """A match that begins; the secret links of humans, and the key, are told only here."""

    match: str
    url: str
    key: str = Field(description="The right to end the match, as a bearer token; browsers get it as a cookie.")
    links: dict[str, str] = Field(description="Role → its human's secret link; of a match that follows, one's own.")


class HumanView(Part):
    """What a human in a match sees."""

    role: str
    match: Match
    state: State | None = Field(description="The current one; none if known, or if the role is told percepts only.")
    asked: int | None = Field(description="The step for which a move is wanted.")
    legal: tuple[Move, ...]
    percepts: tuple[tuple[str, ...], ...] = Field(description="What the role was told after each step, as in GDL-II.")
    own_moves: tuple[str, ...] = Field(description="What the role did in each step, where it is told percepts only.")
    may_undo: bool
    may_hint: bool
    next: str | None = Field(description="The page of the match that followed this one.")
    is_external: bool = Field(description="Whether another game master runs the match, and may begin one more.")


class NewEndpoint(Part):
    """A human who wants to play for other game masters."""

    name: Name = "you"


class Endpoint(Part):
    """The HTTP endpoint of a human, for game masters on this computer."""

    name: str
    address: str = Field(description="The URL that a game master is to be told.")
    url: str = Field(description="The page to keep open.")
    link: str | None = Field(description="The page of the match that is being played.")


class Chosen(Part):
    """A human's move."""

    move: Annotated[str, Field(max_length=20_000)]
    step: Annotated[int, Field(ge=0, le=1_000_000)] = Field(description="For which it was asked.")


class AnalysisRequest(Part):
    """How a state is to be analysed."""

    seconds: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 3.0
    role: Annotated[str, Field(max_length=200)] | None = None
    lines: Annotated[int, Field(ge=1, le=10)] = 3
    stream: bool = Field(False, description="Whether to report on the way: a line of JSON each, the last one final.")


class Line(Part):
    """A line of play; goal values 0 to 100 by role."""

    moves: tuple[dict[str, str], ...]
    text: str
    visits: int
    goals: dict[str, float | None]
    bounds: dict[str, tuple[float, float]]


class Analysis(Part):
    """What a search found out of a state."""

    role: str
    best: str | None
    is_solved: bool
    is_final: bool
    seconds: float
    visits: int
    playouts: int
    playouts_per_second: float
    depth: int
    lines: tuple[Line, ...]


class Verdict(Part):
    """Whether a record holds."""

    holds: bool
    problem: str | None


class Empty(Part):
    """Nothing more to say."""


class Rematch(Part):
    """How a match is played once more."""

    swap: bool = Field(False, description="Whether every player takes the role after their own, the last the first.")


class StepsWanted(Part):
    """Which steps of a match are told."""

    first: Offset = Field(0, description="Only the steps from this one on, for those who know the others.")


class HumanWanted(StepsWanted):
    """What a human is told."""

    first_percepts: Offset = Field(0, description="Only the percepts and own moves from this step on.")
    known: Offset | None = Field(None, description="The number of the last state that was told.")


class MatchesWanted(Part):
    """Which matches are listed."""

    offset: Offset = 0
    limit: Count = 50
    game: Annotated[str, Field(max_length=200)] = ""
    player: Annotated[str, Field(max_length=200)] = ""
    tournament: Annotated[str, Field(max_length=200)] | None = None
    status: Literal["", "running", "finished", "failed", "given up"] = ""


class GamesWanted(Part):
    """Which games are listed."""

    search: Annotated[str, Field(max_length=200)] = ""
    tags: Annotated[str, Field(max_length=200, description="Tags that each has, with commas between them.")] = ""

    @property
    def all_tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tag.strip() for tag in self.tags.split(",") if tag.strip()))


class Tiltyard(BaseModel):
    """The record as ggp-base and Tiltyard write it."""

    model_config = ConfigDict(extra="allow")

    matchId: str  # noqa: N815 - their names
    states: list[str]
    moves: list[list[str]]


Json: TypeAlias = dict[str, Any]


class Rated(Part):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


class StandingLine(Part):
    """A player of a tournament."""

    rank: int
    player: str
    matches: int
    wins: int
    draws: int
    losses: int
    points: float
    mean_goal: float | None
    rating: Rated | None = Field(description="Elo points; null for who has met nobody.")


class MeetingLine(Part):
    """What came of the matches between two players, seen from the first."""

    player: str
    opponent: str
    wins: int
    draws: int
    losses: int
    planned: int | None = Field(description="How many matches there will be, where that is known.")


class RoleLine(Part):
    """What a role of a game was worth."""

    game: str
    role: str
    matches: int
    wins: int
    draws: int
    losses: int
    mean_goal: float | None
    advantage: Rated | None = Field(description="Elo points over the average role.")


class GameStandings(Part):
    """The standings in one game."""

    game: str
    matches: int
    mean_steps: float
    lines: tuple[StandingLine, ...]


class ConductLine(Part):
    """How a player behaved; seconds."""

    player: str
    moves: int
    seconds: float
    longest: float
    faults: dict[FaultKind, int]


class SequentialTest(Part):
    """How the test stands whether the first player is better."""

    player: str
    opponent: str
    llr: float = Field(description="The logarithm of the likelihood ratio.")
    lower: float
    upper: float
    decision: Literal["H0", "H1", "open"]
    pairs: int
    elo: Rated


class TournamentHead(Part):
    """A tournament in a list."""

    name: str
    status: Literal["new", "running", "interrupted", "complete"]
    url: str
    format: str
    games: tuple[str, ...]
    players: tuple[str, ...]
    finished: int = Field(description="Matches with a result.")
    running: int
    failed: int
    total: int | None = Field(description="All matches, where the schedule knows them.")
    created: AwareDatetime
    note: str


class Tournament(TournamentHead):
    """A tournament with its standings."""

    lines: tuple[StandingLine, ...]
    meetings: tuple[MeetingLine, ...]
    roles: tuple[RoleLine, ...]
    tables: tuple[GameStandings, ...]
    conduct: tuple[ConductLine, ...]
    test: SequentialTest | None
    under_way: tuple[MatchHead, ...] = Field(description="Matches that are being played.")


class Tournaments(Part):
    """All tournaments."""

    tournaments: tuple[TournamentHead, ...]
