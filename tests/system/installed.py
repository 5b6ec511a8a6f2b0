# SPDX-License-Identifier: Apache-2.0
"""The programs that somebody has who let `./run` install what it needs, on a
Debian with nothing else."""

import functools
import os
import re
import shutil
import subprocess

from proxies import REPOSITORY

RUN = os.path.join(REPOSITORY, "run")
STATUS = "/var/lib/dpkg/status"
LISTS = "/var/lib/dpkg/info"
PLACES = ("/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_FIELD = re.compile(r"^([\w-]+): (.*)$", re.M)
# Besides those that are required: what installs the others.
BARE = ("apt",)
# Debian's kubernetes-client, unless there is another one; see `run`.
OTHERS = ("kubectl",)


def groups_of(command):
    """The groups of packages that a command of `./run` needs."""
    with open(RUN, encoding="utf-8") as file:
        return re.search(rf"^{command}\)\n\tneed (.*)$", file.read(),
                         re.M).group(1).split()


def packages_of(command):
    """Their names, as `./run` itself says them."""
    with open(RUN, encoding="utf-8") as file:
        function = re.search(r"^packages\(\)\n{.*?^}$", file.read(),
                             re.M | re.S).group()
    script = f'{function}\nfor group; do packages "$group"; done'
    return subprocess.run(
        ["bash", "-euc", script, "packages", *groups_of(command)], check=True,
        cwd=REPOSITORY, stdout=subprocess.PIPE, text=True).stdout.split()


@functools.cache
def _known():
    """{name: fields} of the packages that this machine has."""
    with open(STATUS, encoding="utf-8") as file:
        found = [dict(_FIELD.findall(text))
                 for text in file.read().split("\n\n") if text.strip()]
    return {fields["Package"]: fields for fields in found
            if fields["Status"].endswith(" installed")}


def _names(relation):
    return re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]*)", relation)


def with_dependencies(wanted):
    """The packages, what they depend on, and what every Debian has."""
    provided = {}
    for name, fields in _known().items():
        for virtual in _names(fields.get("Provides", "")):
            provided.setdefault(virtual, []).append(name)
    left = [*wanted, *BARE, *(name for name, fields in _known().items()
                              if fields.get("Priority") == "required")]
    found = set()
    while left:
        name = left.pop()
        left += [] if name in found else provided.get(name, [])
        if name in found or name not in _known():
            continue
        found.add(name)
        for field in ("Pre-Depends", "Depends"):
            left += _names(_known()[name].get(field, ""))
    return found


def _files(package):
    for name in (package, f"{package}:amd64"):
        path = os.path.join(LISTS, f"{name}.list")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read().split("\n")
    return []


def make_path(command, directory):
    """Fills a directory with links to the programs of what a command of
    `./run` installs, and to no others: a PATH."""
    owned = {os.path.realpath(path)
             for package in with_dependencies(packages_of(command))
             for path in _files(package)
             if os.path.dirname(path) in PLACES}
    for place in PLACES:
        for name in os.listdir(place):
            path = os.path.join(place, name)
            link = os.path.join(directory, name)
            if os.path.realpath(path) in owned and not os.path.lexists(link):
                os.symlink(path, link)
    for name in OTHERS:
        if not os.path.lexists(os.path.join(directory, name)):
            os.symlink(shutil.which(name), os.path.join(directory, name))
    return str(directory)
