"""`holdfast store` in a process that kills itself at one of its steps: verb, folder, step.

A step of a load is a statement that goes to the database; one of a dump is a change that it makes in its folder.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from holdfast.__main__ import main
from holdfast.store.rows.database import Transaction

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.chmod", "os.utime"}
EVER = 1_000_000


class Steps:
    """Those that are done; it dies before the next one of a number.

    Args:
        last: that number.
    """

    def __init__(self, last: int) -> None:
        self.done = 0
        self._last = last

    def count(self) -> None:
        if self.done == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.done += 1

    def follow_statements(self) -> None:
        ask, each = Transaction.ask, Transaction.each

        def counted_ask(transaction: Transaction, *given: Any) -> Any:
            transaction.sync()  # what was sent before has been carried out
            self.count()
            return ask(transaction, *given)

        def counted_each(transaction: Transaction, *given: Any) -> None:
            self.count()
            each(transaction, *given)

        Transaction.ask, Transaction.each = counted_ask, counted_each  # type: ignore[method-assign]

    def follow_files(self, folder: str) -> None:
        def look(event: str, arguments: tuple[Any, ...]) -> None:
            writes = event == "open" and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
            if (event in CHANGES or writes) and str(arguments[0]).startswith(folder):
                self.count()

        sys.addaudithook(look)


if __name__ == "__main__":
    verb, place, step = sys.argv[1:]
    steps = Steps(int(step))
    if verb == "dump":
        steps.follow_files(place)
    else:
        steps.follow_statements()
    code = main(["store", verb, place, "--json"])
    sys.stdout.write(f"{steps.done}\n")
    sys.exit(code)
