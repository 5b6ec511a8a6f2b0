# SPDX-License-Identifier: Apache-2.0
"""What can be killed while a machine moves."""

import os
import signal

from embedded import PATIENCE, has_ended
from kubeapi import path_of, wait_for

LEASE = path_of("coordination.k8s.io/v1", "leases", "kubevirt",
                "virt-controller")


class Victims:
    """Kills what belongs to one machine on one node, and knows that it did."""

    def __init__(self, machine, node):
        self.machine = machine
        self.cluster = machine.cluster
        self.node = node

    def kill(self, what):
        """handler, kubelet, controller, proxy; launcher, libvirtd, qemu, pod.
        The latter are of the machine: waited for, then killed."""
        if what in PROCESSES:
            self._kill_process(PROCESSES[what])
        elif what == "pod":
            self._delete_pod()
        else:
            self._kill_program(PROGRAMS[what])

    def _kill_process(self, name):
        pid = wait_for(f"{name} on {self.node}", lambda: (
            self.machine.processes(self.node, name) or [None])[0], PATIENCE)
        os.kill(pid, signal.SIGKILL)
        wait_for(f"{name} to end", lambda: has_ended(pid), PATIENCE)

    def _delete_pod(self):
        """With a second to end by itself."""
        pod = wait_for(f"a pod on {self.node}", lambda:
                       self.machine.pod_on(self.node), PATIENCE)
        path = path_of("v1", "pods", "default", pod["metadata"]["name"])
        self.cluster.client.delete(path, {"gracePeriodSeconds": 1})
        wait_for("it to be gone", lambda: self.cluster.client.request(
            "GET", path).code == 404, PATIENCE)

    def _kill_program(self, name):
        """And starts it again."""
        if name == "ferry-controller":
            kill_controller(self.cluster)
        else:
            self.cluster.kill(name, self.node)
        self.cluster.complete()


def kill_controller(cluster):
    """With its lease, which another one would wait for."""
    cluster.kill("ferry-controller")
    cluster.client.delete(LEASE)


PROGRAMS = {"handler": "ferry-handler", "kubelet": "ferry-kubelet",
            "controller": "ferry-controller", "proxy": "ferry-proxy"}
PROCESSES = {"launcher": "ferry-launcher", "libvirtd": "libvirtd",
             "qemu": "qemu-system-x86"}
