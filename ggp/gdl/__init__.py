"""The Game Description Language: text → terms → rulesheet → logic program, and its analysis without playing.

Reading order: `terms`; `reader`, from text to nodes and terms; `rulesheet`, from nodes to rules; `logic_program`, from
rules to flat clauses; `dependencies` and `domains`, which analyse clauses; `validator`, which reports mistakes. Every
engine is a `state_machine`; `evidence` plays random matches on one.
"""
