"""Players as HTTP services: messages of the protocol in, replies out.

In reading order, from HTTP inwards: `commands` (the command line), `tolerant` (what old game masters send → sound
HTTP), `service` (HTTP ⇄ messages), `player` (one match at a time, before each deadline), `worker` (the processes that
think, as the service sees them), `pipe` (what both say to each other), `process` (what runs in them), `thinker` (what
is known of the match), `strategy` (what a strategy is), `strategies` (all of them), `engines` (the searches on the
circuit), `settings`.
"""
