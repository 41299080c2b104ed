"""System calls that a worker, or a walled command, does not have, with their numbers: x86_64, aarch64.

From asm/unistd_64.h and asm-generic/unistd.h of Linux 6.18. None: this processor has no such call.
"""

from typing import Final

Numbers = tuple[int | None, int | None]

MACHINES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""By `uname -m`: the column, and what seccomp calls the architecture."""
UNKNOWN_FROM: Final = 470
"""The first number that this table knows nothing of."""


# fmt: off
OWN_WORK: Final[dict[str, Numbers]] = {
    # A file's mode, owner, times and attributes: Landlock leaves them to whoever owns the file.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10), "getxattrat": (464, 464),
    "listxattr": (194, 11), "llistxattr": (195, 12), "flistxattr": (196, 13), "listxattrat": (465, 465),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_getattr": (468, 468), "file_setattr": (469, 469),
    # Names and sizes: Landlock, too, but it learned of truncation late.
    "creat": (85, None), "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47),
    "mkdir": (83, None), "mkdirat": (258, 34), "mknod": (133, None), "mknodat": (259, 33),
    "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36),
    # Locks on what may only be read, looking on at folders that may not be.
    "flock": (73, 32), "inotify_init": (253, None), "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    # Files without a path.
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    # Other processes: their memory, descriptors, speed.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setaffinity": (203, 122),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}
"""Refused to a worker: what a command does that works on files."""

OUTSIDE: Final[dict[str, Numbers]] = {
    # Sockets: the one to the parent is made and bound before.
    "socket": (41, 198), "bind": (49, 200), "listen": (50, 201), "connect": (42, 203),
    # Memory that others can see.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "semget": (64, 190), "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
    # Files by their number, ways around this filter, and the kernel's least trodden paths.
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "syslog": (103, 116), "lookup_dcookie": (212, 18), "modify_ldt": (154, None), "uselib": (134, None),
    # The system: mounts and namespaces, modules, clock, name.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, None), "ioperm": (173, None),
    "vhangup": (153, 58),
}
"""Refused to a worker and to a walled command: what reaches beyond files and own processes."""

DENIED: Final = OWN_WORK | OUTSIDE
"""Refused to a worker whatever they are asked."""

SIGNALS: Final[dict[str, Numbers]] = {
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
"""Refused where Landlock can't keep signals inside; `kill` and `tgkill` then reach oneself alone."""

HIDDEN: Final[dict[str, Numbers]] = {"clone3": (435, 435), "openat2": (437, 437)}
"""Not there, as if the kernel were older: what they ask for lies in memory, where a filter can't look."""

PRETENDED: Final[dict[str, Numbers]] = {"sched_setscheduler": (144, 119)}
"""Nothing is done, and no error told: libzmq gives each of its threads the policy that it has, or aborts."""

JUDGED: Final[dict[str, Numbers]] = {
    "open": (2, None), "openat": (257, 56), "socketpair": (53, 199), "ioctl": (16, 29), "fcntl": (72, 25),
    "prctl": (157, 167), "prlimit64": (302, 261), "clone": (56, 220), "kill": (62, 129), "tgkill": (234, 131),
}
"""Refused or not by an argument."""
# fmt: on
