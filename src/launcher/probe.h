/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_PROBE_H
#define LAUNCHER_PROBE_H

/*
 * probe - what a node is told by: its own surroundings, and its CPU.
 *
 * Threading: the process that calls these has one thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;

#define PROBE_KVM_TIMEOUT_MS 5000U

/*
 * Goes on in a new process, the first of a namespace: whatever it leaves ends
 * with it, and it ends with the one that called, also when that is killed.
 * Returns in both: in the new one with -1 in *ret_status, in the other when
 * that has ended, with its exit status.
 */
int probe_apart(int *ret_status, struct err *err);

/*
 * After probe_apart(): private mounts as in a launcher's pod. /dev without
 * kvm unless kvm is true, its own /proc, empty /run/libvirt and directories of
 * libvirt, /etc/passwd and /etc/group with the user that libvirt looks for.
 */
int probe_enter(bool kvm, struct err *err);

/*
 * Whether a vCPU runs by KVM: one is made, and executes a loop as fast as a CPU
 * does, within timeout_ms. In a process of its own, which is killed when it
 * hangs. The device being there proves nothing.
 */
bool probe_kvm(uint64_t timeout_ms);

/*
 * Whether KVM works as far as is known in a pod that has /dev/kvm: what
 * host.json in host_dir says; without one, what is seen now if look is true.
 */
bool probe_known_kvm(const char *host_dir, bool look);

#endif
