"""The worker process: preloads, then keeps a warm worker. None of them has a key or a foreign descriptor."""

import gc
import os
import signal
import sys

from actors.sandbox.environment import names_secret, public_environment
from actors.sandbox.quarters import keep_standard_streams
from actors.worker_host import WorkerHost
from ipc import kernel, logs


def main(argv: list[str]) -> int:
    """`python -I -m actors.worker RUN_DIR PPID`: keep a warm worker until told to stop or left alone."""
    run_dir, ppid = argv
    kernel.die_with_parent(int(ppid), signal.SIGTERM)
    _forget_secrets()
    # Preloaded for every worker; not before, or a fresh start would load it twice.
    from actors.discreet import DiscreetFormatter
    from actors.worker_actor import Worker
    from ipc.actor import run
    from ipc.endpoints import RunPlace

    keep_standard_streams()
    place = RunPlace.join(run_dir)
    logs.begin(place.run.flags.get("log_level", "warning"), DiscreetFormatter())
    gc.collect()
    gc.freeze()  # a worker's collector then writes to none of the shared pages
    host = WorkerHost(place, lambda quarters: run(Worker(place, quarters.address, quarters.mailbox)))
    if host.run():
        return 0
    reason = "Workers keep failing as soon as they start, so nothing can be delegated. The log says why."
    place.failure_file("worker").write_text(reason, encoding="utf-8")
    return 1


def _forget_secrets() -> None:
    """Keep the public variables alone."""
    public = public_environment(os.environ)
    if any(names_secret(name) for name in os.environ):
        # What is only unset stays readable in /proc; a process that starts anew has never had it.
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], public)
    for name in os.environ.keys() - public.keys():
        del os.environ[name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
