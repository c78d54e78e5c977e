"""Kills a program when its test run is killed, so that no program outlives its test run."""

import subprocess

WAIT_AND_KILL = 'read -r _; kill -s KILL -- "$1"'


class Guard:
    """A shell that reads a pipe from this process, and kills a program as soon as the pipe is closed.

    The kernel closes the pipe at the end of this process, even after SIGKILL. A negative `pid` means all processes of a
    process group, as in kill(1).
    """

    def __init__(self, pid: int) -> None:
        command = ["/bin/sh", "-c", WAIT_AND_KILL, "guard", str(pid)]
        self._shell = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def end(self) -> None:
        """End the guard without killing the program."""
        self._shell.kill()
        self._shell.communicate()
