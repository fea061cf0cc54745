"""What this computer has; nothing heavy is imported here."""

import os

from ggp.errors import SettingsError


def check_memory(mebibytes: int) -> None:
    """SettingsError for a --memory that is more than this computer has, where that is known."""
    if os.name != "posix":
        return
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    if mebibytes > most:
        raise SettingsError(f"--memory: this computer has {most:,} MiB, not {mebibytes:,}")
