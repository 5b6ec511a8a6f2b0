# SPDX-License-Identifier: Apache-2.0
"""What a process says, line by line, and no wait without a deadline.

A pipe is read by a thread: a process that falls silent with its pipe open fails
the test that waits for it, instead of holding up all of them.
"""

import contextlib
import io
import queue
import threading
import time

DEADLINE = 120  # seconds


def _in_time(read, what, deadline):
    """What read() gives; if it is not there by then the test fails."""
    said = queue.Queue()

    def run():
        try:
            said.put((read(), None))
        except (OSError, ValueError) as error:
            said.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = said.get(timeout=deadline)
    except queue.Empty:
        raise AssertionError(f"no {what} in {deadline} s") from None
    if error:
        raise error
    return result


def read_line(stream, deadline=DEADLINE):
    """The next line; "" or b"" at the end."""
    return _in_time(stream.readline, "line", deadline)


def read_all(stream, deadline=DEADLINE):
    """All that is said, to the end."""
    return _in_time(stream.read, "end of what is said", deadline)


class Lines:
    """All lines of a stream, which nobody else reads from now on."""

    def __init__(self, stream):
        self._stream = stream
        self._nothing = "" if isinstance(stream, io.TextIOBase) else b""
        self._lines = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._stream:
            self._lines.put(line)
        self._lines.put(None)

    def empty(self):
        """Whether there is nothing to read now."""
        return self._lines.empty()

    def next(self, deadline=DEADLINE):
        """The next line with its end; None after the last."""
        try:
            line = self._lines.get(timeout=max(deadline, 0))
        except queue.Empty:
            raise AssertionError("nothing more is said") from None
        if line is None:
            self._lines.put(None)
        return line

    def find(self, wanted, deadline=DEADLINE):
        """The next line that wanted() is true of."""
        until = time.monotonic() + deadline
        seen = []
        while True:
            try:
                line = self.next(until - time.monotonic())
            except AssertionError as error:
                raise AssertionError(f"{error} after {seen[-20:]}") from None
            assert line is not None, f"it ended after {seen[-20:]}"
            seen.append(line)
            if wanted(line):
                return line

    def rest(self, deadline=DEADLINE):
        """All that is still said, to the end."""
        until = time.monotonic() + deadline
        seen = []
        while (line := self.next(until - time.monotonic())) is not None:
            seen.append(line)
        return self._nothing.join(seen)

    def close(self):
        """After the process has ended."""
        self._thread.join(DEADLINE)
        with contextlib.suppress(OSError):
            self._stream.close()


def ended(popen, lines):
    """The code of a process, what is left of its lines, and its errors."""
    out = lines.rest()
    errors = Lines(popen.stderr)
    err = errors.rest()
    code = popen.wait(DEADLINE)
    lines.close()
    errors.close()
    return code, out, err
