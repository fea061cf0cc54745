"""Players each of which does one thing badly, and what the checks have to find."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gamemaster.check.session import Verdict
from ggp.errors import GgpError
from ggp.protocol.messages import (
    Abort,
    Info,
    Message,
    Play,
    PlayPercepts,
    Preview,
    Start,
    Stop,
    parse_message,
)
from tests.gamemaster.check.scripted import Drop, Silence, SoundPlayer


@dataclass(frozen=True)
class Spoilt:
    """A kind of player, and the check that finds it out."""

    make: Callable[[], SoundPlayer]
    check: str
    verdict: Verdict
    seen: str  # a part of what is told


class PlaysIllegally(SoundPlayer):
    def move(self) -> str:
        return "(fly away)"


class PlaysUnreadably(SoundPlayer):
    def move(self) -> str:
        return "(take 1"


class TakesTime(SoundPlayer):
    def __init__(self, seconds: float, kind: type[Message]) -> None:
        super().__init__()
        self._seconds = seconds
        self._kind = kind

    async def reply(self, message: Message) -> str | bytes:
        if isinstance(message, self._kind):
            await asyncio.sleep(self._seconds)
        return await super().reply(message)


class Says(SoundPlayer):
    """One reply to all messages of a kind."""

    def __init__(self, kind: type[Message], words: str | bytes) -> None:
        super().__init__()
        self._kind = kind
        self._words = words

    async def reply(self, message: Message) -> str | bytes:
        return self._words if isinstance(message, self._kind) else await super().reply(message)


class Ignores(SoundPlayer):
    """Never answers a kind of message, nor does anything about it."""

    def __init__(self, kind: type[Message]) -> None:
        super().__init__()
        self._kind = kind

    async def reply(self, message: Message) -> str | bytes:
        if isinstance(message, self._kind):
            raise Silence
        return await super().reply(message)


class NeverStops(SoundPlayer):
    async def reply(self, message: Message) -> str | bytes:
        return "done" if isinstance(message, Stop) else await super().reply(message)


class NeverAborts(SoundPlayer):
    async def reply(self, message: Message) -> str | bytes:
        return "aborted" if isinstance(message, Abort) else await super().reply(message)


class AlwaysAvailable(SoundPlayer):
    async def reply(self, message: Message) -> str | bytes:
        return "available" if isinstance(message, Info) else await super().reply(message)


class TakesAnyStart(SoundPlayer):
    """Forgets its match for another."""

    async def start(self, message: Start) -> str | bytes:
        self.name = ""
        return await super().start(message)


class OnlyClaimsReady(SoundPlayer):
    async def start(self, message: Start) -> str | bytes:
        await super().start(message)
        return "ready"


class EndsAnyMatch(SoundPlayer):
    async def reply(self, message: Message) -> str | bytes:
        if isinstance(message, Stop | Abort):
            self.name = ""
            return "done"
        return await super().reply(message)


class PlaysAnyMatch(SoundPlayer):
    """Takes PLAY for its own match whatever its name."""

    async def reply(self, message: Message) -> str | bytes:
        return await (self.play(message) if isinstance(message, Play) else super().reply(message))

    async def play(self, message: Play | PlayPercepts) -> str | bytes:
        return await super().play(message) if self.name else "nil"

    def follow(self, message: Play | PlayPercepts) -> None:
        if isinstance(message, Play) and message.moves is None:
            self.state = self.game.machine.initial_state
        super().follow(message)


class AppliesTwice(SoundPlayer):
    async def play(self, message: Play | PlayPercepts) -> str | bytes:
        self.follow(message)
        return self.move()


class FailsWithoutMatch(SoundPlayer):
    async def reply(self, message: Message) -> str | bytes:
        if isinstance(message, Play) and not self.name:
            return self.response("KeyError", "500 Internal Server Error")
        return await super().reply(message)


class FailsWhenLost(SoundPlayer):
    def follow(self, message: Play | PlayPercepts) -> None:
        if isinstance(message, Play) and message.moves is not None:
            for role, move in zip(self.game.roles, message.moves, strict=True):
                if move not in self.game.machine.legal_moves(self.state, role):
                    raise Drop
        super().follow(message)


class RefusesByStatus(FailsWhenLost):
    """Answers what comes at the wrong moment as web services do."""

    async def answer(self, text: str) -> str | bytes:
        try:
            answer = await super().answer(text)
        except Drop:
            return self.response("unknown step", "400 Bad Request")
        return self.response("busy", "409 Conflict") if answer == "busy" else answer


class DiesOf(SoundPlayer):
    """Accepts no connection any more once it has heard something; for ever, or for some seconds."""

    longest = 1_000_000

    def __init__(self, word: str, seconds: float | None = None) -> None:
        super().__init__()
        self._word = word
        self._seconds = seconds

    async def answer(self, text: str) -> str | bytes:
        if self._word not in text:
            return await super().answer(text)
        self.die()
        if self._seconds is not None:
            asyncio.get_running_loop().call_later(self._seconds, self.come_back)
        raise Drop


class HangsAfter(SoundPlayer):
    """Answers nothing any more once it has heard something."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    async def answer(self, text: str) -> str | bytes:
        if any(self._word in heard for heard in self.heard):
            raise Silence
        return await super().answer(text)


class KnowsTheGame(SoundPlayer):
    """Plays no other."""

    async def start(self, message: Start) -> str | bytes:
        return await super().start(message) if "(heap 6)" in message.rules else "busy"


class RefusesOddWords(SoundPlayer):
    async def start(self, message: Start) -> str | bytes:
        return "busy" if "->" in message.rules else await super().start(message)


class ReadsLatin(SoundPlayer):
    async def answer(self, text: str) -> str | bytes:
        reply = await super().answer(text.encode().decode("latin-1"))
        return reply if isinstance(reply, bytes) else reply.encode("latin-1", "replace").decode("latin-1")


class WantsUpperCase(SoundPlayer):
    async def answer(self, text: str) -> str | bytes:
        return "nil" if text.startswith(("( start", "( play")) else await super().answer(text)


class ReadsOneLine(SoundPlayer):
    async def answer(self, text: str) -> str | bytes:
        return await super().answer(text.partition("\r\n")[0])


class KnowsNoPercepts(SoundPlayer):
    async def play(self, message: Play | PlayPercepts) -> str | bytes:
        return "nil" if isinstance(message, PlayPercepts) else await super().play(message)


class IgnoresWhatIsNone(SoundPlayer):
    """As ggp-base's players: what is no message is never answered."""

    async def answer(self, text: str) -> str | bytes:
        try:
            parse_message(text)
        except GgpError:
            raise Silence from None
        return await super().answer(text)


class ReadyForAnything(SoundPlayer):
    async def answer(self, text: str) -> str | bytes:
        return "ready" if text.startswith("( START") and "nobody" in text else await super().answer(text)


class CountsWrongly(SoundPlayer):
    def __init__(self, difference: int) -> None:
        super().__init__()
        self._difference = difference

    def response(self, body: str, status: str = "200 OK") -> bytes:
        sound = super().response(body, status)
        length = len(body.encode())
        return sound.replace(f"Length: {length}".encode(), f"Length: {length + self._difference}".encode())


class CountsNothing(SoundPlayer):
    def response(self, body: str, status: str = "200 OK") -> bytes:
        return f"HTTP/1.0 {status}\r\n\r\n{body}".encode()


class StaysConnected(SoundPlayer):
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super().converse(reader, writer)
        await reader.read()


class OneAtATime(SoundPlayer):
    """Takes its next connection when it has done with the one before."""

    def __init__(self) -> None:
        super().__init__()
        self._door = asyncio.Lock()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._door:
            await super().converse(reader, writer)


class OneAtATimeSlowly(OneAtATime):
    async def play(self, message: Play | PlayPercepts) -> str | bytes:
        await asyncio.sleep(1.9)
        return await super().play(message)


class Floods(SoundPlayer):
    def response(self, body: str, status: str = "200 OK") -> bytes:
        return super().response(body + " " * 100_000, status)


class LikeGgpBase(OneAtATime, IgnoresWhatIsNone, AppliesTwice):
    """What ggp-base's sample players were seen to do."""

    async def reply(self, message: Message) -> str | bytes:
        if isinstance(message, Preview):
            raise Silence
        return await super().reply(message)


class LikeSancho(LikeGgpBase):
    """Uses its startclock, answers STOP late and then starts again."""

    async def reply(self, message: Message) -> str | bytes:
        reply = await super().reply(message)
        if isinstance(message, Start) and reply == "ready":
            await asyncio.sleep(1.8)
        if isinstance(message, Stop) and reply == "done":
            await asyncio.sleep(1.5)
            self.die()
            asyncio.get_running_loop().call_later(1.5, self.come_back)
        return reply


class StartsAgain(SoundPlayer):
    """Ends after each STOP, as Java champions do: a connection that comes at once is cut off, the next ones refused."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._is_ending = False

    async def answer(self, text: str) -> str | bytes:
        if self._is_ending:
            self._is_ending = False
            self.die()
            asyncio.get_running_loop().call_later(self._seconds, self.come_back)
            raise Drop
        self._is_ending = "STOP" in text and self.name != "" and self.name in text
        return await super().answer(text)


class KnowsThreeMessages(SoundPlayer):
    """START, PLAY and STOP, as in the beginning of the protocol."""

    async def answer(self, text: str) -> str | bytes:
        known = text.lower().lstrip("( \r\n\t").startswith(("start", "play", "stop"))
        return await super().answer(text) if known else self.response("", "501 Not Implemented")


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NOT_HTTP = b"ready, always ready"
REDIRECTION = b"HTTP/1.0 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"
HOSTILE = "ready\x1b]0;owned\x07\x1b[31m"

SPOILT = {
    "illegal": Spoilt(
        PlaysIllegally, "moves, ggp-base", "bad", "step 0: '(fly away)': (fly away) is not a move of this game"
    ),
    "unreadable": Spoilt(
        PlaysUnreadably, "moves, dresden", "bad", "step 0: '(take 1': answer:1:1: '(' is never closed"
    ),
    "slow": Spoilt(lambda: TakesTime(1.95, Play), "time, ggp-base", "could be better", "a slow network would make it"),
    "late": Spoilt(lambda: TakesTime(2.5, Play), "time, ggp-base", "could be better", "at most 2.50 s of 2 s"),
    "too late": Spoilt(lambda: TakesTime(3.5, Play), "time, ggp-base", "bad", "4 of 4 answers too late or missing"),
    "move too late": Spoilt(lambda: TakesTime(3.5, Play), "moves, ggp-base", "bad", "step 0: answered after 3.50 s"),
    "late START": Spoilt(
        lambda: TakesTime(2.5, Start), "START, ggp-base", "could be better", "later than the startclock"
    ),
    "very late START": Spoilt(lambda: TakesTime(3.5, Start), "START, ggp-base", "bad", "the startclock is 2 s"),
    "no answer to START": Spoilt(lambda: Ignores(Start), "START, ggp-base", "bad", "no complete answer within 6 s"),
    "other word": Spoilt(
        lambda: Says(Stop, "bye"), "STOP, ggp-base", "could be better", "'bye' after 0.00 s, not 'done'"
    ),
    "always busy": Spoilt(lambda: Says(Start, "busy"), "START, dresden", "bad", "no other match of this check"),
    "no answer to STOP": Spoilt(lambda: Ignores(Stop), "STOP, ggp-base", "could be better", "the game master waits"),
    "late STOP": Spoilt(lambda: TakesTime(2.5, Stop), "STOP, ggp-base", "could be better", "later than the playclock"),
    "STOP without effect": Spoilt(NeverStops, "START, dresden", "bad", "'busy' after 0.00 s, although"),
    "no answer to ABORT": Spoilt(lambda: Ignores(Abort), "ABORT", "could be better", "many players give none"),
    "ABORT without effect": Spoilt(NeverAborts, "START after ABORT", "bad", "'busy' after 0.00 s"),
    "no INFO": Spoilt(lambda: Ignores(Info), "INFO", "could be better", "many players give none"),
    "unreadable INFO": Spoilt(lambda: Says(Info, "(()"), "INFO", "could be better", "neither name nor status"),
    "busy from the start": Spoilt(lambda: Says(Info, "busy"), "INFO", "could be better", "with somebody else?"),
    "late INFO": Spoilt(lambda: TakesTime(1.5, Info), "INFO", "could be better", "game masters wait 1 s"),
    "never busy": Spoilt(AlwaysAvailable, "INFO in a match", "could be better", "does not say 'busy'"),
    "one connection": Spoilt(OneAtATimeSlowly, "INFO during PLAY", "could be better", "one connection at a time"),
    "any START": Spoilt(
        TakesAnyStart, "second START", "bad", "then the match that was running went wrong: step 2: 'busy'"
    ),
    "START only claimed": Spoilt(
        OnlyClaimsReady, "second START", "bad", "but it does not play: PLAY was answered 'busy'"
    ),
    "begins anew": Spoilt(TakesAnyStart, "START repeated", "bad", "went wrong: step 2"),
    "PLAY of any match": Spoilt(PlaysAnyMatch, "PLAY of another match", "bad", "went wrong"),
    "STOP of any match": Spoilt(EndsAnyMatch, "STOP of another match", "bad", "'done' after 0.00 s, not 'busy'; then"),
    "ABORT of any match": Spoilt(EndsAnyMatch, "ABORT of another match", "bad", "went wrong: step 2: 'busy'"),
    "PLAY applied twice": Spoilt(AppliesTwice, "PLAY repeated", "could be better", "takes a repetition for a new step"),
    "lost way": Spoilt(FailsWhenLost, "PLAY left out", "could be better", "the connection ended before an answer"),
    "PLAY without match": Spoilt(FailsWithoutMatch, "PLAY without START", "could be better", "HTTP status 500"),
    "PLAY after the end": Spoilt(FailsWithoutMatch, "PLAY after STOP", "could be better", "HTTP status 500"),
    "no PREVIEW": Spoilt(lambda: Ignores(Preview), "PREVIEW", "could be better", "hardly any player knows it"),
    "dies of PREVIEW": Spoilt(lambda: DiesOf("PREVIEW"), "PREVIEW", "bad", "then no connection: Connection refused"),
    "knows the words": Spoilt(KnowsTheGame, "scrambled rules", "bad", "START was answered 'busy'"),
    "odd words": Spoilt(RefusesOddWords, "odd names", "bad", "START was answered 'busy'"),
    "Latin-1": Spoilt(ReadsLatin, "letters beyond ASCII", "could be better", "not accepted"),
    "upper case": Spoilt(WantsUpperCase, "lower case", "could be better", "'nil'"),
    "one line": Spoilt(ReadsOneLine, "many lines", "could be better", "HTTP status 400"),
    "no GDL-II": Spoilt(KnowsNoPercepts, "GDL-II", "bad", "step 0: 'nil'"),
    "ignores what is none": Spoilt(
        IgnoresWhatIsNone, "unknown word", "could be better", "no complete answer within 1 s"
    ),
    "dies of what is none": Spoilt(lambda: DiesOf("DANCE"), "unknown word", "bad", "then no connection: Connection"),
    "dies for a while": Spoilt(lambda: DiesOf("DANCE", 2.0), "unknown word", "bad", "then no connection for 2."),
    "dies of what is deep": Spoilt(
        lambda: DiesOf("(((((((((("), "deep message", "bad", "Connection refused: it has to be started again"
    ),
    "starts again": Spoilt(
        lambda: StartsAgain(1.5),
        "restart after STOP",
        "could be better",
        "it could not be reached after STOP, for up to 1.",
    ),
    "hangs after what is none": Spoilt(lambda: HangsAfter("DANCE"), "unknown word", "bad", "INFO was not answered any"),
    "ready for nonsense": Spoilt(ReadyForAnything, "unknown role", "could be better", "although it cannot be"),
    "one connection, held": Spoilt(OneAtATime, "silent connection", "could be better", "others: no complete answer"),
    "too large a length": Spoilt(
        lambda: CountsWrongly(3), "answers", "bad", "3 bytes before the end that Content-Length"
    ),
    "too small a length": Spoilt(
        lambda: CountsWrongly(-1), "answers", "bad", "1 bytes more than Content-Length announced"
    ),
    "no length": Spoilt(CountsNothing, "answers", "could be better", "without Content-Length"),
    "floods": Spoilt(Floods, "START, ggp-base", "bad", "an answer of more than 65536 bytes"),
    "stays connected": Spoilt(StaysConnected, "connection", "could be better", "stays open"),
    "no HTTP": Spoilt(lambda: Says(Start, NOT_HTTP), "answers", "bad", "START: not HTTP"),
    "half a head": Spoilt(
        lambda: Says(Start, b"HTTP/1.0 200 OK\r\nContent-"), "answers", "bad", "START: no end of the"
    ),
    "half a chunk": Spoilt(lambda: Says(Start, CHUNKED + b"f\r\nready"), "answers", "bad", "ended within the chunks"),
    "half a size": Spoilt(lambda: Says(Start, CHUNKED + b"5"), "answers", "bad", "ended within the chunks"),
    "redirects": Spoilt(lambda: Says(Play, REDIRECTION), "moves, ggp-base", "bad", "HTTP status 302 Found"),
    "hostile": Spoilt(
        lambda: Says(Start, HOSTILE), "START, ggp-base", "could be better", r"'ready\x1b]0;owned\x07\x1b["
    ),
}
