"""The words of Python in messages of the command, which has options instead."""

import re

_QUOTED = r"[\w.@-]+\((?!…)(?:[^()]|\([^()]*\))*\)|(?<!\w)'(?:\\.|[^'\\])*'|\"[^\"]*\""


def words_of_python(message):
    """Lists arguments and calls outside of names of metrics and of quotes.

    >>> words_of_python("recall(rel=2): 'a=1'; pass `undefined=`, missing='zero', jrm.join")
    ['undefined=', 'missing=', 'jrm.']
    """
    calls = re.findall(r"\bjrm\.\w+\(", message)
    return calls + re.findall(
        r"\b[a-z_]{2,}=|jrm\.|`\w+`", re.sub(_QUOTED, "…", message)
    )
