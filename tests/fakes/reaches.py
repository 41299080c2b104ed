"""Routes on which code in a worker touches what is not its own: a server, a secret, a process, the kernel.

Each takes the addresses of what there is, and raises where it fails. Without a wall nearly all succeed.
"""

import ctypes
import encodings.idna  # noqa: F401 - a user who is not root may not reach it later
import errno
import fcntl
import mmap
import os
import platform
import signal
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actors.sandbox import syscalls
from tests.fakes.burglar import AT_FDCWD, LIBC, call, checked, path, program
from tests.fakes.town import KEY, SESSION, SETTINGS

Reach = Callable[[Mapping[str, Any]], object]
REACHES: dict[int, dict[str, Reach]] = {}
"""By the rows of the fault matrix."""


def reach(row: int) -> Callable[[Reach], Reach]:
    def noted(route: Reach) -> Reach:
        REACHES.setdefault(row, {})[route.__name__] = route
        return route

    return noted


# --- reaches: network ---------------------------------------------------------------------------------------


@reach(23)
def tcp(at: Mapping[str, Any]) -> None:
    socket.create_connection(("127.0.0.1", at["tcp"])).close()


@reach(23)
def tcp6(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_INET6).connect(("::1", at["tcp6"]))


@reach(23)
def tcp_of_a_shell(at: Mapping[str, Any]) -> None:
    program("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{at['tcp']}")


@reach(23)
def tcp_listening(at: Mapping[str, Any]) -> None:
    socket.create_server(("127.0.0.1", 0)).close()


@reach(23)
def udp(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"X", ("127.0.0.1", at["udp"]))


@reach(23)
def name_lookup(at: Mapping[str, Any]) -> None:
    query = b"\0\1\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1"
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(query, ("127.0.0.53", 53))


@reach(23)
def raw_packets(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@reach(23)
def link_layer(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@reach(23)
def netlink(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


@reach(23)
def kernel_crypto(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)


# --- reaches: sockets of this machine -----------------------------------------------------------------------


@reach(24)
def unix_stream(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_UNIX).connect(at["stream"])


@reach(24)
def unix_datagram(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"X", at["datagram"])


@reach(24)
def unix_datagram_of_a_pair(at: Mapping[str, Any]) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    other.close()
    one.sendto(b"X", at["datagram"])


@reach(24)
def abstract(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_UNIX).connect("\0" + at["abstract"])


@reach(24)
def abstract_name_taken(at: Mapping[str, Any]) -> None:
    socket.socket(socket.AF_UNIX).bind("\0" + at["abstract"] + "-mine")


@reach(24)
def own_mailbox_connected(at: Mapping[str, Any]) -> None:
    socket.socket(fileno=3).connect(at["stream"])


# --- reaches: secrets ---------------------------------------------------------------------------------------


@reach(25)
def secret(at: Mapping[str, Any]) -> bytes:
    return Path(at["secret"]).read_bytes()


@reach(25)
def secret_through_a_symlink(at: Mapping[str, Any]) -> bytes:
    return Path(at["symlink"]).read_bytes()


@reach(25)
def secret_through_proc(at: Mapping[str, Any]) -> bytes:
    return Path(f"/proc/self/root{at['secret']}").read_bytes()


@reach(25)
def secret_by_a_path_that_was_opened(at: Mapping[str, Any]) -> bytes:
    return Path(f"/proc/self/fd/{os.open(at['secret'], os.O_PATH)}").read_bytes()


@reach(25)
def secret_of_another_program(at: Mapping[str, Any]) -> None:
    program("cat", at["secret"])


@reach(25)
def settings_in_the_workspace(at: Mapping[str, Any]) -> bytes:
    return (Path(at["workspace"]) / SETTINGS).read_bytes()


@reach(25)
def another_session_in_the_workspace(at: Mapping[str, Any]) -> bytes:
    return (Path(at["workspace"]) / SESSION).read_bytes()


@reach(25)
def key_in_the_workspace(at: Mapping[str, Any]) -> bytes:
    return (Path(at["workspace"]) / KEY).read_bytes()


@reach(25)
def addresses_of_all_sockets(at: Mapping[str, Any]) -> bytes:
    return Path("/proc/self/net/unix").read_bytes()


@reach(25)
def connections_of_all(at: Mapping[str, Any]) -> bytes:
    return Path("/proc/thread-self/net/tcp").read_bytes()


@reach(25)
def mounts(at: Mapping[str, Any]) -> bytes:
    return Path("/proc/self/mountinfo").read_bytes()


@reach(25)
def secret_by_handle(at: Mapping[str, Any]) -> int:
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
    mount = ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, path(Path(at["secret"])), handle, ctypes.byref(mount), 0)
    return call("open_by_handle_at", os.open("/usr", os.O_RDONLY), handle, os.O_RDONLY)


@reach(25)
def secret_attribute(at: Mapping[str, Any]) -> bytes:
    return os.getxattr(at["secret"], "user.mark")


@reach(25)
def names_beside_a_secret(at: Mapping[str, Any]) -> list[str]:
    return os.listdir(Path(at["secret"]).parent)


@reach(25)
def doings_beside_a_secret(at: Mapping[str, Any]) -> int:
    watch = checked(LIBC.inotify_init1(0))
    return checked(LIBC.inotify_add_watch(watch, path(Path(at["secret"]).parent), 0xFFF))


@reach(25)
def sessions_beside_this(at: Mapping[str, Any]) -> bytes:
    return (Path(at["run"]) / "run.json").read_bytes()


@reach(25)
def memory_shared_by_a_key(at: Mapping[str, Any]) -> int:
    return checked(LIBC.shmget(0, 4096, 0o1600))


@reach(25)
def environment_of_the_host(at: Mapping[str, Any]) -> bytes:
    return Path(f"/proc/{os.getppid()}/environ").read_bytes()


@reach(25)
def command_of_the_host(at: Mapping[str, Any]) -> bytes:
    return Path(f"/proc/{os.getppid()}/cmdline").read_bytes()


@reach(25)
def memory_of_the_host(at: Mapping[str, Any]) -> int:
    return os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)


@reach(25)
def memory_of_the_host_by_a_call(at: Mapping[str, Any]) -> None:
    here, there = ctypes.create_string_buffer(8), ctypes.addressof(LIBC_MARK)
    local = struct.pack("<QQ", ctypes.addressof(here), 8)
    remote = struct.pack("<QQ", there, 8)
    call("process_vm_readv", os.getppid(), local, 1, remote, 1, 0)


LIBC_MARK = ctypes.create_string_buffer(b"a secret")


@reach(25)
def descriptors_of_the_host(at: Mapping[str, Any]) -> list[str]:
    return os.listdir(f"/proc/{os.getppid()}/fd")


@reach(25)
def descriptor_of_the_host(at: Mapping[str, Any]) -> int:
    return os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY)


@reach(25)
def descriptor_of_the_host_by_a_call(at: Mapping[str, Any]) -> int:
    return call("pidfd_getfd", os.pidfd_open(os.getppid()), 2, 0)


# --- reaches: processes -------------------------------------------------------------------------------------


@reach(26)
def signal_sent(at: Mapping[str, Any]) -> None:
    os.kill(at["bystander"], signal.SIGCONT)


@reach(26)
def signal_to_the_host(at: Mapping[str, Any]) -> None:
    os.kill(os.getppid(), signal.SIGCONT)


@reach(26)
def signal_to_a_group(at: Mapping[str, Any]) -> None:
    os.killpg(os.getpgid(at["bystander"]), signal.SIGCONT)


@reach(26)
def signal_to_a_thread(at: Mapping[str, Any]) -> None:
    call("tgkill", at["bystander"], at["bystander"], signal.SIGCONT)


@reach(26)
def signal_through_a_pidfd(at: Mapping[str, Any]) -> None:
    signal.pidfd_send_signal(os.pidfd_open(at["bystander"]), signal.SIGCONT)


@reach(26)
def signal_queued(at: Mapping[str, Any]) -> None:
    about = struct.pack("<iiii", signal.SIGCONT, 0, -1, 0).ljust(128, b"\0")
    call("rt_sigqueueinfo", at["bystander"], signal.SIGCONT, about)


@reach(26)
def signal_of_another_program(at: Mapping[str, Any]) -> None:
    program("sh", "-c", f"kill -CONT {at['bystander']}")


@reach(26)
def signal_as_owner_of_a_descriptor(at: Mapping[str, Any]) -> None:
    fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, at["bystander"])


@reach(26)
def traced(at: Mapping[str, Any]) -> None:
    call("ptrace", 0x4206, at["bystander"], 0, 0)  # PTRACE_SEIZE


@reach(26)
def slowed(at: Mapping[str, Any]) -> None:
    os.setpriority(os.PRIO_PROCESS, at["bystander"], 19)


@reach(26)
def pinned(at: Mapping[str, Any]) -> None:
    os.sched_setaffinity(at["bystander"], {0})


@reach(26)
def limited(at: Mapping[str, Any]) -> None:
    # The soft limit, and not below what is in use: the bystander has to survive where there is no wall.
    checked(LIBC.prlimit(at["bystander"], 7, struct.pack("<QQ", 64, 4096), None))


@reach(26)
def locked(at: Mapping[str, Any]) -> None:
    fcntl.flock(os.open(at["readable"], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


@reach(26)
def leased(at: Mapping[str, Any]) -> None:
    file = Path(at["workspace"]) / "linked" / "other"
    fcntl.fcntl(os.open(file, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)


@reach(26)
def untied_from_the_host(at: Mapping[str, Any]) -> None:
    checked(LIBC.prctl(1, 0, 0, 0, 0))


# --- reaches: the kernel ------------------------------------------------------------------------------------


@reach(26)
def a_child_in_a_namespace(at: Mapping[str, Any]) -> None:
    if call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


@reach(26)
def a_namespace(at: Mapping[str, Any]) -> None:
    checked(LIBC.unshare(0x10000000))


@reach(26)
def a_child_of_the_host(at: Mapping[str, Any]) -> None:
    if call("clone", 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


@reach(26)
def a_file_in_memory(at: Mapping[str, Any]) -> int:
    return os.memfd_create("x")


@reach(26)
def a_ring(at: Mapping[str, Any]) -> int:
    return call("io_uring_setup", 1, bytes(120))


@reach(26)
def a_key(at: Mapping[str, Any]) -> int:
    return call("add_key", b"user", b"x", b"y", 1, -3)


@reach(26)
def a_call_that_is_new(at: Mapping[str, Any]) -> int:
    return checked(LIBC.syscall(syscalls.UNKNOWN_FROM, 0, 0, 0, 0))


@reach(26)
def a_call_in_another_architecture(at: Mapping[str, Any]) -> None:
    if platform.machine() != "x86_64":
        raise OSError(errno.ENOSYS, "int 0x80")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")  # getpid of i386
    child = os.fork()
    if child == 0:
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise PermissionError(errno.EPERM, "killed")


@reach(22)
def the_log_emptied(at: Mapping[str, Any]) -> None:
    os.ftruncate(1, 0)


@reach(22)
def the_log_overwritten(at: Mapping[str, Any]) -> int:
    return os.open("/proc/self/fd/1", os.O_WRONLY)


@reach(22)
def more_files_in_its_own_folder(at: Mapping[str, Any]) -> None:
    (Path(os.environ["HOME"]) / "new").write_text("X", encoding="utf-8")


@reach(22)
def a_descriptor_that_the_host_had(at: Mapping[str, Any]) -> int:
    return os.write(at["inherited"], b"X")
