"""Players as HTTP services: messages of the protocol in, replies out."""
