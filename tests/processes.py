"""Runs several processes at once, which find each other through JAX."""

import os
import socket
import subprocess
import sys
import time

TIMEOUT = 150  # seconds; many times what the processes need


def free_port():
    """Returns a port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(processes):
    """Returns exit codes once all have ended or one has failed; kills the others."""
    end = time.monotonic() + TIMEOUT
    try:
        while True:
            codes = [process.poll() for process in processes]
            if None not in codes or any(codes) or time.monotonic() > end:
                return codes
            time.sleep(0.05)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def resolvable_host():
    """Returns a command prefix for machines whose host name has no address.

    The processes of JAX find each other by that name, even on a single machine.
    """
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        script = 'hostname localhost && exec "$@"'
        command_line = ["unshare", "--user", "--map-root-user", "--uts"]
        return [*command_line, "sh", "-c", script, "sh"]
    return []


def together(arguments, folder, **environment):
    """Runs Python programs side by side, each with its arguments; returns their output.

    A variable of the environment that is None is not set.
    """
    # With fewer threads than steps in flight, virtual devices that wait for one another
    # deadlock.
    environment = {
        **os.environ,
        **{"JAX_PLATFORMS": "cpu", "PJRT_NPROC": "16"},
        **environment,
    }
    environment = {name: x for name, x in environment.items() if x is not None}
    running = []
    for number, command_line in enumerate(arguments):
        with (
            (folder / f"{number}.out").open("w") as out,
            (folder / f"{number}.err").open("w") as err,
        ):
            command = [*resolvable_host(), sys.executable, *map(str, command_line)]
            running.append(
                subprocess.Popen(command, env=environment, stdout=out, stderr=err)
            )
    codes = wait_for(running)
    errors = [(folder / f"{i}.err").read_text()[-3000:] for i in range(len(running))]
    assert codes == [0] * len(codes), f"exit codes {codes}\n" + "\n".join(errors)
    return [(folder / f"{i}.out").read_text() for i in range(len(running))]
