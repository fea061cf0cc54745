"""What the commands do: specifications, stores and reports between files, terminal and network."""

from gamemaster.tournament.console.checking import check
from gamemaster.tournament.console.making import write_new
from gamemaster.tournament.console.running import resume, run_file, run_new
from gamemaster.tournament.console.showing import export, show_status

__all__ = ["check", "export", "resume", "run_file", "run_new", "show_status", "write_new"]
