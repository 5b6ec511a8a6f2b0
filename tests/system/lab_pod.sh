#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Turns fresh mount and PID namespaces into a pod and becomes its first
# process: lab_pod.sh DIR COMMAND... where DIR holds what the pod may write to.
#
# The pod sees the host's files, but its own /run, /var, /dev and libvirt
# configuration. There is no /dev/kvm: libvirtd would probe it, and a kvm that
# is there but does not work costs more than none.
set -eu

dir=$1
shift

mkdir -p "$dir/dev"
mount -t tmpfs -o mode=755 tmpfs "$dir/dev"
mkdir "$dir/dev/pts" "$dir/dev/shm" "$dir/dev/net"
for node in null zero full random urandom tty net/tun userfaultfd; do
	[ -e "/dev/$node" ] || continue
	: >"$dir/dev/$node"
	mount --bind "/dev/$node" "$dir/dev/$node"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$dir/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$dir/dev/shm"
ln -s pts/ptmx "$dir/dev/ptmx"
ln -s /proc/self/fd "$dir/dev/fd"

mount --bind "$dir/etc/libvirt" /etc/libvirt
mount --bind "$dir/etc/passwd" /etc/passwd
mount --bind "$dir/etc/group" /etc/group
mount --bind "$dir/var" /var
mount --bind "$dir/run" /run
mount --move "$dir/dev" /dev

exec "$@"
