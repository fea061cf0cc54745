"""Rules are evaluated in processes of their own: `pool` (asks them), `analysis` (searches on request), `process` (what
runs in one), `derivation` (the states that agree with what a role was told; a rulesheet that begins in
another state).
"""
