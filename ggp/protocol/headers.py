"""Values of HTTP headers and addresses that both sides of the protocol use."""

DEFAULT_PORT = 9147  # of a player
CONTENT_TYPE = "text/acl"
ACCEPT = "text/delim"
SENDER = "GAMESERVER"
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type",
}  # so that a page in a browser can talk to a player


def request_headers(receiver: str) -> dict[str, str]:
    """What a game master sends beside a message; Content-Type and Content-Length belong to the HTTP client."""
    return {"Accept": ACCEPT, "Sender": SENDER, "Receiver": receiver}
