"""Record → bytes without its rulesheet, and back."""

import json
import zlib
from dataclasses import dataclass
from hashlib import sha256

from pydantic import ValidationError

from gamemaster.record import MatchRecord


@dataclass(frozen=True, slots=True)
class Packed:
    """A record as it is stored."""

    record: bytes  # JSON without the rulesheet, compressed by zlib
    rulesheet: str
    rulesheet_key: str  # the same for equal texts only, unlike `rulesheet_sha256` of the record
    token: str
    steps: int


def packed(record: MatchRecord) -> Packed:
    text = record.rulesheet
    data = zlib.compress(record.model_dump_json(exclude={"rulesheet"}).encode())
    return Packed(data, text, sha256(text.encode()).hexdigest(), record.token, len(record.steps))


def unpacked(data: bytes, rulesheet: bytes) -> MatchRecord:
    """ValueError that names the field for bytes that are not those of a record."""
    try:
        body = zlib.decompress(data).decode()
        text = zlib.decompress(rulesheet).decode()
        return MatchRecord.model_validate_json(f'{{"rulesheet": {json.dumps(text)}, {body.removeprefix("{")}')
    except zlib.error as error:
        raise ValueError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def packed_text(text: str) -> bytes:
    return zlib.compress(text.encode(), 9)
