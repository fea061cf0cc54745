"""Search: a state machine and a state → which move to choose."""
