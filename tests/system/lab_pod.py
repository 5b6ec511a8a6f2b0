# SPDX-License-Identifier: Apache-2.0
"""A pod's worth of namespaces with a libvirtd of its own.

The pod has its own network, mounts and process numbers; lab_pod.sh makes the
mounts. Everything the pod writes is below its directory, which is how the
node, and ferry-proxy there, reach its sockets: /run/ferry/x.sock in the pod is
DIRECTORY/run/ferry/x.sock outside.
"""

import glob
import os
import shutil
import tempfile
import uuid

import libvirt

from lab_space import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))

SOCKETS = "/run/ferry"  # in the pod, as in every other pod

# libvirtd looks up this user before it reads that it shall use root.
_PASSWD = """root:x:0:0:root:/root:/bin/sh
libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin
nobody:x:65534:65534::/:/usr/sbin/nologin
"""
_GROUP = "root:x:0:\nlibvirt-qemu:x:64055:\nkvm:x:64056:\nnogroup:x:65534:\n"

_LIBVIRTD_CONF = """
auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_group = "root"
unix_sock_rw_perms = "0700"
listen_tls = 0
listen_tcp = 0
log_level = 3
log_outputs = "3:stderr"
host_uuid = "{uuid}"
"""
_QEMU_CONF = """
user = "root"
group = "root"
security_driver = "none"
security_default_confined = 0
dynamic_ownership = 0
remember_owner = 0
cgroup_controllers = [ ]
namespaces = [ ]
stdio_handler = "file"
clear_emulator_capabilities = 0
max_core = 0
"""

# The default handler prints every error, also those that a test expects.
libvirt.registerErrorHandler(lambda *unused: None, None)


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Pod:
    """One pod; start() it, then wait_ready()."""

    def __init__(self, space, network, name, cache):
        self.name = name
        self.network = network
        self.directory = os.path.join(space.directory, name)
        self._space = space
        self._cache = os.path.join(cache, "capabilities")
        self.process = None

    def outside(self, path):
        """Where a path of the pod is on the host."""
        return self.directory + path

    @property
    def libvirt_socket(self):
        return self.outside("/run/libvirt/libvirt-sock")

    @property
    def capabilities(self):
        return self.outside("/var/cache/libvirt/qemu/capabilities")

    def start(self):
        for path in ("/run/lock", "/var/log", "/var/tmp", "/run/libvirt",
                     SOCKETS):
            os.makedirs(self.outside(path), exist_ok=True)
        _write(self.outside("/etc/passwd"), _PASSWD)
        _write(self.outside("/etc/group"), _GROUP)
        _write(self.outside("/etc/libvirt/libvirtd.conf"),
               _LIBVIRTD_CONF.format(uuid=uuid.uuid4()))
        _write(self.outside("/etc/libvirt/qemu.conf"), _QEMU_CONF)
        if os.path.isdir(self._cache):
            shutil.copytree(self._cache, self.capabilities)
        self.process = self._space.spawn(
            f"{self.name}-libvirtd",
            ["unshare", "--mount", "--propagation", "private", "--pid",
             "--fork", "--kill-child=KILL", "--mount-proc",
             os.path.join(HERE, "lab_pod.sh"), self.directory,
             "tini", "-s", "--", "libvirtd"],
            self.network,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                 "LANG": "C.UTF-8"})

    def wait_ready(self, timeout=60):
        """Until libvirtd answers and knows QEMU."""
        def answers():
            assert self.process.running(), \
                f"{self.name}: libvirtd ended: {self.process.output()}"
            try:
                return self.connect()
            except libvirt.libvirtError:
                return None

        connection = wait_until(answers, timeout, f"libvirtd of {self.name}")
        try:
            connection.getDomainCapabilities(None, "x86_64", None, "qemu")
        finally:
            connection.close()
        self._keep_capabilities()

    def _keep_capabilities(self):
        """Keeps what libvirtd found out about QEMU for later pods. It checks
        by itself whether that still holds."""
        known = os.listdir(self._cache) if os.path.isdir(self._cache) else []
        if set(os.listdir(self.capabilities)) <= set(known):
            return
        parent = os.path.dirname(self._cache)
        os.makedirs(parent, exist_ok=True)
        copy = tempfile.mkdtemp(dir=parent)
        shutil.copytree(self.capabilities, copy, dirs_exist_ok=True)
        shutil.rmtree(self._cache, ignore_errors=True)
        try:
            os.rename(copy, self._cache)
        except OSError:  # another run was faster
            shutil.rmtree(copy, ignore_errors=True)

    def connect(self):
        """A new connection to the pod's libvirtd, the caller's to close.

        Calls that should act while another one is blocked need their own:
        libvirt 9.0 lets calls on one connection wait for each other.
        """
        return libvirt.open("qemu+unix:///system?socket="
                            + self.libvirt_socket)

    def kill(self):
        """The whole pod at once, as when its first process is killed."""
        self.process.kill()

    def logs(self):
        return ([self.process.log] if self.process else []) + sorted(
            glob.glob(self.outside("/var/log/libvirt/qemu/*.log")) +
            glob.glob(self.outside("/var/log/*.console")))
