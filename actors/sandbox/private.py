"""What lies in a person's home and is for no subagent, also where the workspace is that home."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from actors.directories import state_directory, user_file

SECRETS_OF_A_HOME: Final = (
    ".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".pki",
    ".netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli",
    ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/containers", ".terraform.d",
    ".vault-token", ".config/op", ".config/rclone", ".config/doctl",
    ".npmrc", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".pgpass", ".my.cnf", ".mozilla", ".thunderbird",
    ".config/google-chrome", ".config/chromium",
)  # fmt: skip
"""Where the usual programs keep keys, passwords and cookies; a secret anywhere else is a file like others."""

_CONFIG: Final = ".config/"
"""In the place of which `XDG_CONFIG_HOME` may name another folder."""


def private_places(environ: Mapping[str, str], run_root: Path) -> tuple[Path, ...]:
    """Files and folders, links followed; they need not be there (yet).

    Fido's own come first: the settings, which may hold a key, other sessions, sockets.
    """
    settings, home = user_file(environ), Path(environ.get("HOME") or Path.home())
    named = (settings.parent, settings, state_directory(environ), run_root)
    of_home = (home / name for name in SECRETS_OF_A_HOME)
    of_config = (
        settings.parents[1] / name.removeprefix(_CONFIG)
        for name in SECRETS_OF_A_HOME
        if name.startswith(_CONFIG)
    )
    # Of a loop of links, `resolve` would raise; what is behind one can't be read anyway.
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in (*named, *of_home, *of_config)))
