"""A comment from the file that an untrusted job left: cut, without controls, fenced, so that nothing in it is markup.

It needs the standard library alone: the job that may write comments runs this file as it is, and installs nothing.
"""

from __future__ import annotations

import re
import sys

MAX_BYTES = 60_000
"""GitHub takes 65,536 characters."""


def fenced(content: bytes) -> str:
    """Hostile bytes as a fenced block: no mention, link, image or HTML in it has an effect.

    >>> print(fenced(b"@all ``` <b>"))
    ````text
    @all ``` <b>
    ````
    """
    cut = content[:MAX_BYTES].decode("utf-8", "ignore")
    plain = "".join(char for char in cut.replace("\r\n", "\n") if char == "\n" or char.isprintable()).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    more = "\n\n(The rest is in the job's summary.)" if len(content) > MAX_BYTES else ""
    return f"{fence}text\n{plain}\n{fence}{more}"


def main() -> None:
    """Standard input to standard output."""
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    body = f"Comparison of the entries in this pull request, made by the base branch's code:\n\n{fenced(content)}\n"
    sys.stdout.buffer.write(body.encode("utf-8"))


if __name__ == "__main__":
    main()
