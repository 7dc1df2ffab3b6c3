"""Becomes the program named on the command line, which then dies when the process that started it dies.

Run by path, as its own small interpreter, so that nothing has to happen between fork and exec in a process with
threads. ``leash.py PARENT PROGRAM ARGUMENT...``
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked to be told
            sys.exit(1)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
