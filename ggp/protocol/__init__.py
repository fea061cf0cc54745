"""The GGP protocol as values: messages, replies, scrambling, without input or output."""
