"""Runs several processes at once, which find each other through JAX."""

import os
import socket
import subprocess
import sys
import time

TIMEOUT = 150  # seconds; many times what the processes need


def free_port():
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(processes):
    """Exit codes, once all are done or one has failed; leaves none running."""
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


def with_a_name():
    """What goes before a command where this machine's name leads to no address.

    JAX's processes find each other by it, even if all of them are here.
    """
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        named = 'hostname localhost && exec "$@"'
        own = ["unshare", "--user", "--map-root-user", "--uts"]
        return [*own, "sh", "-c", named, "sh"]
    return []


def together(arguments, folder, **environment):
    """What Python programs print that run side by side, each with its arguments."""
    # See `recipes` on threads.
    environment = {
        **os.environ,
        **{"JAX_PLATFORMS": "cpu", "PJRT_NPROC": "16"},
        **environment,
    }
    started = []
    for number, own in enumerate(arguments):
        with (
            (folder / f"{number}.out").open("w") as out,
            (folder / f"{number}.err").open("w") as err,
        ):
            command = [*with_a_name(), sys.executable, *map(str, own)]
            started.append(
                subprocess.Popen(command, env=environment, stdout=out, stderr=err)
            )
    codes = wait_for(started)
    said = [(folder / f"{i}.err").read_text()[-3000:] for i in range(len(started))]
    assert codes == [0] * len(codes), f"exit codes {codes}\n" + "\n".join(said)
    return [(folder / f"{i}.out").read_text() for i in range(len(started))]
