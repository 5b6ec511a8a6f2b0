# SPDX-License-Identifier: Apache-2.0
"""What is silent fails a test, and does not hold it up."""

import os

import pytest

from lines import Lines, read_all, read_line


@pytest.fixture(name="pipe")
def pipe_():
    """Both ends of a pipe, of bytes."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as out:
        with os.fdopen(writer, "wb", buffering=0) as said:
            yield out, said


def test_a_line_that_does_not_come_fails_with_a_message(pipe):
    out, said = pipe
    said.write(b"half a line")
    with pytest.raises(AssertionError, match="no line in 0 s"):
        read_line(out, 0)


def test_an_end_that_does_not_come_fails_with_a_message(pipe):
    out, said = pipe
    said.write(b"some\nlines\n")
    with pytest.raises(AssertionError, match="no end of what is said in 0 s"):
        read_all(out, 0)


def test_what_comes_is_read_up_to_the_end(pipe):
    out, said = pipe
    said.write(b"first\nsecond\nand more")
    said.close()
    assert read_line(out) == b"first\n"
    assert read_all(out) == b"second\nand more"
    assert read_line(out) == read_all(out) == b""


def test_lines_are_found_and_the_rest_is_what_follows(pipe):
    out, said = pipe
    said.write(b"one\ntwo\n\xff\nend")
    lines = Lines(out)
    assert lines.find(lambda line: b"w" in line) == b"two\n"
    with pytest.raises(AssertionError, match="nothing more is said after"):
        lines.find(lambda line: b"three" in line, 0)
    said.close()
    assert lines.rest().endswith(b"end")
