# SPDX-License-Identifier: Apache-2.0
"""The text of the runbook (docs/operations.md), taken apart.

An entry is a heading of the third level with an anchor before it, or below
"Alerts" the name of an alert, which is its own anchor. Its parts begin with
"**Check.**" and the like; what is to be typed stands in blocks of "sh".
"""

import os
import re

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
RUNBOOK = os.path.join(REPOSITORY, "docs", "operations.md")
ALERTS = "Alerts"

_SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.S | re.M)
_ENTRY = re.compile(
    r'^(?:<a id="([a-z0-9-]+)"></a>\n)?### (.*?)\n(.*?)'
    r"(?=^<a id=|^### |\Z)", re.S | re.M)
_PART = re.compile(r"^\*\*(Symptom|Meaning|Check|Fix|Check and fix)\.\*\*"
                   r"(.*?)(?=^\*\*|\Z)", re.S | re.M)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)


def read(path=RUNBOOK):
    with open(path, encoding="utf-8") as file:
        return file.read()


def heading_anchor(title):
    """What a web page makes of a heading."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def _entries(text, of_alerts):
    return {anchor or heading_anchor(title): dict(_PART.findall(body))
            for section, content in _SECTION.findall(text)
            for anchor, title, body in _ENTRY.findall(content)
            if (section == ALERTS) == of_alerts}


def entries(text=None):
    """{name: {part: text}} of what can go wrong."""
    return _entries(read() if text is None else text, False)


def alerts(text=None):
    """The same of the alerts."""
    return _entries(read() if text is None else text, True)


def commands(part):
    """The lines to type of the text of a part."""
    return [line for block in _COMMANDS.findall(part)
            for line in block.splitlines()]
