"""What went wrong with a request, as a value that every part can raise and that becomes problem+json (RFC 9457)."""

import json
from collections.abc import Mapping
from http import HTTPStatus

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the name that the RFC gives it
    """A request that is not fulfilled; `detail` is one line of text."""

    def __init__(
        self, status: int, detail: str, *, fields: Mapping[str, object] | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.fields = dict(fields or {})  # members in addition to those of the RFC
        self.retry_after = retry_after  # seconds
        self.headers: dict[str, str] = {}

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase

    def as_json(self, instance: str) -> bytes:
        document = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        return json.dumps({**document, "instance": instance, **self.fields}).encode()


def not_found(what: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, what)


def refused(detail: str, **fields: object) -> Problem:
    """What was asked for is understood and not possible."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, fields=fields)


def conflict(detail: str) -> Problem:
    """It was possible once, or will be."""
    return Problem(HTTPStatus.CONFLICT, detail)


def busy(detail: str, retry_after: float = 2.0) -> Problem:
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, retry_after=retry_after)
