"""What a worker is and has: each in a fresh process, since nothing of it can be taken back."""

import json

from actors.sandbox import wall
from actors.sandbox.environment import public_environment
from tests.fakes.launch import script

INSIDE = """
import ctypes, json, os, resource, signal, threading
from actors.sandbox import wall
read, write = os.pipe()
host = os.getpid()
child = os.fork()
if child == 0:
    os.close(read)
    try:
        {inside}
    except wall.SandboxError as error:
        said = {{"error": str(error)}}
    os.write(write, json.dumps(said).encode())
    os._exit(0)
os.close(write)
print(os.read(read, 65536).decode())
os.waitpid(child, 0)
"""


def inside(code: str) -> dict[str, object]:
    run = script(INSIDE.format(inside=code))
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def test_a_worker_has_bounded_memory_files_and_log_no_core_and_no_new_privileges() -> None:
    given_up = inside(
        """wall.limit()
        libc = ctypes.CDLL(None)
        said = {
            "memory": resource.getrlimit(resource.RLIMIT_AS),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "file": resource.getrlimit(resource.RLIMIT_FSIZE),
            "dumpable": libc.prctl(3, 0, 0, 0, 0),
            "no_new_privileges": libc.prctl(39, 0, 0, 0, 0),
        }"""
    )
    assert given_up == {
        "memory": [wall.MEMORY_BYTES] * 2,
        "core": [0, 0],
        "files": [wall.OPEN_FILES] * 2,
        "file": [wall.FILE_BYTES] * 2,
        "dumpable": 0,
        "no_new_privileges": 1,
    }


def test_an_environment_is_public_only_by_name_and_never_with_the_name_of_a_secret() -> None:
    public = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r", "FIDO_MODE": "plan"}
    secret = (
        "OPENAI_API_KEY FIDO_API_KEY FIDO_BASE_URL AWS_SECRET_ACCESS_KEY GITHUB_TOKEN SSH_AUTH_SOCK "
        "PGPASSWORD XDG_TOKEN MY_OWN DOCKER_HOST DATABASE_URL http_proxy LD_PRELOAD RIPGREP_CONFIG_PATH"
    )
    assert public_environment(public | dict.fromkeys(secret.split(), "x")) == public
