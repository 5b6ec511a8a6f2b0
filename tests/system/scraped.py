# SPDX-License-Identifier: Apache-2.0
"""What /metrics said, to be asked by name and labels."""

import re

_SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Scraped:
    """The samples of one answer."""

    def __init__(self, text):
        self.text = text
        self.samples = []
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            name, labels, value = _SAMPLE.match(line).groups()
            self.samples.append(
                (name, dict(_LABEL.findall(labels or "")), float(value)))

    def find(self, family, /, **labels):
        """The values of all samples of that name with these labels."""
        return [value for found, has, value in self.samples
                if found == family and labels.items() <= has.items()]

    def value(self, family, /, **labels):
        """The one value of them."""
        found = self.find(family, **labels)
        assert len(found) == 1, f"{family} {labels}: {found}"
        return found[0]

    def labels(self, family):
        """The names of the labels of all samples of that name."""
        return {label for found, has, _ in self.samples if found == family
                for label in has}
