"""A wall clock that jumps for the processes of a test alone, also under the C code of libraries."""

import mmap
import shutil
import subprocess
from pathlib import Path

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long none, *jump = &none;

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("FIDO_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) jump = map;
    if (file >= 0) close(file);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *jump;
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec is;
    clock_gettime(CLOCK_REALTIME, &is);
    now->tv_sec = is.tv_sec;
    now->tv_usec = is.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec is;
    clock_gettime(CLOCK_REALTIME, &is);
    if (now) *now = is.tv_sec;
    return is.tv_sec;
}
"""
COMPILER = shutil.which("cc")


class JumpingClock:
    """The clock of every process that is started with `environment`; deadlines must not look at it."""

    def __init__(self, folder: Path) -> None:
        assert COMPILER
        source, library, offset = folder / "clock.c", folder / "clock.so", folder / "clock.offset"
        source.write_text(PROGRAM, encoding="utf-8")
        offset.write_bytes(bytes(8))
        with open(offset, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, source], check=True, timeout=60)
        self.environment = {"LD_PRELOAD": str(library), "FIDO_TEST_CLOCK": str(offset)}

    def jump(self, seconds: int) -> None:
        """Show so many seconds more than it is, from now on."""
        self._map[:] = seconds.to_bytes(8, "little", signed=True)
