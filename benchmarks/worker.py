"""Runs one contender in a process of its own, driven by lines of JSON on stdin."""

import importlib
import json
import os
import resource
import sys
import time


def _import_seconds(module: str) -> float | None:
    begin = time.perf_counter()
    try:
        importlib.import_module(module)
    except ImportError:
        return None  # reported when it is asked for its first workload
    return time.perf_counter() - begin


def main() -> None:
    """Prepares and times workloads as asked, one line in, one line out."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not be taken for an answer
    from contenders import CONTENDERS, MODULES
    from workloads import Workload

    name, call, compiled = sys.argv[1], None, []
    imported = {module: _import_seconds(module) for module in MODULES.get(name, ())}
    if "jax" in sys.modules:
        import jax

        jax.monitoring.register_event_duration_secs_listener(
            lambda event, seconds, **_: (
                compiled.append(seconds) if "backend_compile" in event else None
            )
        )
    answers.write("ready\n")
    for line in sys.stdin:
        task = json.loads(line)
        try:
            if "workload" in task:
                fields = task["workload"]
                work = Workload(**fields | {"shape": tuple(fields["shape"])})
                call = CONTENDERS[name](work, work.data())
                begin = time.perf_counter()
                if call is not None:
                    call()
                answer = {
                    "can": call is not None,
                    "first_s": time.perf_counter() - begin,
                    "import_s": imported,
                }
                compiled.clear()
            else:
                assert call is not None
                begin = time.perf_counter()
                call()
                answer = {"s": time.perf_counter() - begin, "compiled": len(compiled)}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            answer["peak_mib"] = peak
        except KeyError:
            answer = {"can": False}  # the contender does not know this task
        except ImportError as error:
            answer = {"can": False, "missing": str(error)}
        except Exception as error:  # a peer that fails loses its cell, not the table
            answer = {"can": False, "failed": f"{type(error).__name__}: {error}"[:200]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
