"""Players without names → players with the names that they give in answer to INFO."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from gamemaster.faults import Fault, shown
from gamemaster.player import Player
from gamemaster.settings import MatchSettings
from gamemaster.transport import Question, Session, ask_all
from ggp.errors import MessageError
from ggp.protocol.messages import Info, format_message
from ggp.protocol.replies import parse_info


async def introduced(session: Session, players: Mapping[str, Player], settings: MatchSettings) -> dict[str, Player]:
    """The players, those without a name under the one that they give, or under their host and port.

    Many players do not answer INFO; that is no fault.
    """
    nameless = {role: player for role, player in players.items() if not player.name}
    questions = {
        role: Question(
            player.url, "player", format_message(Info(), player.dialect), settings.info_wait, settings.max_answer_bytes
        )
        for role, player in nameless.items()
    }
    replies = await ask_all(session, questions)
    names = {role: _name(reply.answer) or urlsplit(nameless[role].url).netloc for role, reply in replies.items()}
    return {role: replace(player, name=names.get(role, player.name)) for role, player in players.items()}


def _name(answer: str | Fault) -> str:
    if isinstance(answer, Fault):
        return ""
    try:
        return shown(parse_info(answer).name)
    except MessageError:
        return ""
