# SPDX-License-Identifier: Apache-2.0
"""What is left of a cluster on this computer, in every corner of it."""

import contextlib
import glob
import os
import subprocess


def _name_hash(name):
    """As in src/ctl/layout.c."""
    number = 2166136261
    for byte in name.encode():
        number = (number ^ byte) * 16777619 % (1 << 32)
    return number


def uplink(name):
    """The cluster's interface in this namespace."""
    return f"ferry{_name_hash(name):08x}"


def _output(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True,
                          timeout=30).stdout


def _pids():
    """Of all processes but this; those that have ended and only were not waited
    for are none."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                ended = file.read().rsplit(")", 1)[1].split()[0] == "Z"
            if int(pid) != os.getpid() and not ended:
                found.append(pid)
    return found


def _processes(text):
    """Of those who were told of something, work with it or have it mounted;
    each with where it was seen."""
    found = []
    for pid in _pids():
        for name in ("cmdline", "environ", "mountinfo"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if text.encode() in file.read():
                        found.append(f"process {pid}: {name}")
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd").startswith(text):
                found.append(f"process {pid}: cwd")
    return found


def users_of(directory):
    """The processes of a cluster that was started in a directory."""
    return sorted({int(line.split()[1].rstrip(":"))
                   for line in _processes(directory)})


def _in_cgroups(name):
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                if f"/ferry-{name}-node" in file.read():
                    found.append(f"process {pid}: cgroup")
    return found


def remains(directory, name, block=None):
    """Everything that there still is of the cluster with this name in this
    directory; its network (10.BLOCK) where it had one."""
    left = [path for path in (directory,) if os.path.lexists(path)]
    left += glob.glob(f"/run/netns/ferry-{name}-*")
    left += glob.glob(f"/sys/fs/cgroup/**/ferry-{name}-*", recursive=True)
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        left += [line for line in mounts
                 if directory in line or f"ferry-{name}-" in line]
    if os.path.exists(f"/sys/class/net/{uplink(name)}"):
        left.append(uplink(name))
    networks = [uplink(name)] + ([f"10.{block}."] if block else [])
    for argv in (("ip", "address"), ("ip", "route"), ("ip", "rule"),
                 ("nft", "list", "ruleset")):
        left += [f"{argv[0]}: {line}" for line in _output(*argv).splitlines()
                 if any(network in line for network in networks)]
    return left + _processes(directory) + _in_cgroups(name)
