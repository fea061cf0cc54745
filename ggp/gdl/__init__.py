"""The Game Description Language: text → terms → rulesheet → program, and what can be said of it without playing."""
