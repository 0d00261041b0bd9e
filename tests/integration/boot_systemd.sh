#!/bin/sh
# Boots a systemd as process 1 of new namespaces, over a copy-on-write view of this machine's root that is gone when it
# ends. It lives in the network namespace and the control group that it is given.
#   boot_systemd.sh NETWORK-NAMESPACE CONTROL-GROUP
set -e

enter_control_group() {
  for mount in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    if [ -e $mount/cgroup.procs ]; then
      mkdir -p "$mount/$1"
      echo $$ >"$mount/$1/cgroup.procs"
    fi
  done
}

make_devices() {
  for device in null zero full random urandom tty; do
    : >dev/$device
    mount --bind /dev/$device dev/$device
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
  mount -t tmpfs tmpfs dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
}

mount_control_groups() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
  else
    mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
    mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
  fi
}

if [ "$1" != --inside ]; then
  enter_control_group "$2"
  exec nsenter --net=/run/netns/"$1" \
    unshare --mount --pid --uts --ipc --cgroup --fork --kill-child=KILL sh "$0" --inside
fi

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
make_devices
mount_control_groups
# What is the kernel's own stays as it is, whatever the units of this machine's distribution would set.
mount -o remount,bind,ro sys
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys

: >etc/machine-id
: >etc/fstab
rm -rf etc/headgate var/log/journal
for unit in timers.target systemd-udevd.service systemd-modules-load.service; do
  ln -sf /dev/null etc/systemd/system/$unit
done
exec chroot . /usr/bin/env -i container=headgate-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --unit=basic.target --show-status=no
