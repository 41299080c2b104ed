"""What a worker gives up: each in a fresh process, since nothing of it can be taken back."""

import json
import signal

from actors import sandbox
from tests.fakes.launch import Watched, script

INSIDE = """
import ctypes, json, os, resource, signal
from actors import sandbox
read, write = os.pipe()
host = os.getpid()
{before}
child = os.fork()
if child == 0:
    os.close(read)
    try:
        {inside}
    except sandbox.SandboxError as error:
        said = {{"error": str(error)}}
    os.write(write, json.dumps(said).encode())
    os._exit(0)
os.close(write)
print(os.read(read, 65536).decode())
os.waitpid(child, 0)
"""
APPLY = "sandbox.apply(host, {0, 1, 2, write}, {'PATH': '/bin'})"


def inside(code: str, before: str = "") -> dict[str, object]:
    run = script(INSIDE.format(inside=code, before=before))
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def test_a_worker_has_bounded_memory_no_core_no_privileges_and_dies_with_its_host() -> None:
    given_up = inside(
        f"""{APPLY}
        libc = ctypes.CDLL(None)
        death = ctypes.c_int()
        libc.prctl(2, ctypes.byref(death), 0, 0, 0)
        said = {{
            "memory": resource.getrlimit(resource.RLIMIT_AS),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "death": death.value,
            "dumpable": libc.prctl(3, 0, 0, 0, 0),
            "no_new_privileges": libc.prctl(39, 0, 0, 0, 0),
        }}"""
    )
    assert given_up == {
        "memory": [sandbox.MEMORY_BYTES] * 2,
        "core": [0, 0],
        "files": [sandbox.OPEN_FILES] * 2,
        "death": signal.SIGKILL,
        "dumpable": 0,
        "no_new_privileges": 1,
    }


def test_a_worker_that_wants_too_much_memory_is_refused_it() -> None:
    said = inside(
        f"""{APPLY}
        try:
            bytearray(sandbox.MEMORY_BYTES)
            said = {{"got": True}}
        except MemoryError:
            said = {{"got": False}}"""
    )
    assert said == {"got": False}


def test_the_sandbox_refuses_to_stand_around_one_of_two_threads() -> None:
    said = inside(
        f"""import threading
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        {APPLY}"""
    )
    assert "2 threads" in str(said["error"])


def test_a_process_whose_host_has_ended_does_not_live_on() -> None:
    run = script(
        INSIDE.format(inside=APPLY.replace("host", "host + 1"), before="").replace(
            "os.waitpid(child, 0)", "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
        )
    )
    assert run.returncode not in (0, 1)
    assert not run.stdout.strip()


def test_the_sandbox_refuses_and_names_a_descriptor_that_is_not_listed() -> None:
    said = inside(APPLY, before="leaked = os.open('/etc/hostname', os.O_RDONLY)")
    assert "/etc/hostname" in str(said["error"])


def test_the_sandbox_refuses_a_key_in_the_environment_and_does_not_print_it() -> None:
    said = inside(APPLY.replace("'PATH': '/bin'", "'FIDO_API_KEY': 'sk-very-secret'"))
    assert "FIDO_API_KEY" in str(said["error"])
    assert "sk-very-secret" not in str(said["error"])


def test_an_environment_is_public_only_by_name_and_never_with_the_name_of_a_secret() -> None:
    public = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r", "FIDO_MODE": "plan"}
    secret = (
        "OPENAI_API_KEY FIDO_API_KEY FIDO_BASE_URL AWS_SECRET_ACCESS_KEY GITHUB_TOKEN SSH_AUTH_SOCK "
        "PGPASSWORD XDG_TOKEN MY_OWN DOCKER_HOST DATABASE_URL http_proxy LD_PRELOAD RIPGREP_CONFIG_PATH"
    )
    assert sandbox.public_environment(public | dict.fromkeys(secret.split(), "x")) == public


def test_only_the_standard_streams_stay_open_and_input_is_empty() -> None:
    run = script(
        "import os, sys\nfrom actors import sandbox\nos.dup2(os.open('/etc/hostname', os.O_RDONLY), 40)\n"
        "sandbox.keep_standard_streams()\nprint(sorted(sandbox.open_descriptors()), repr(sys.stdin.read()))"
    )
    assert run.stdout == "[0, 1, 2] ''\n", run.stderr


def test_a_worker_ends_when_its_host_is_killed() -> None:
    run = script(
        INSIDE.format(inside=f"{APPLY}; os.write(write, b'in'); signal.pause()", before="").replace(
            "os.waitpid(child, 0)", "print(child, flush=True); os.kill(host, signal.SIGKILL)"
        )
    )
    assert run.returncode == -signal.SIGKILL
    child = int(run.stdout.split()[-1])
    try:
        with Watched(child) as process:
            assert process.ends_within()
    except ProcessLookupError:
        pass
