"""Debian 12's own kernel, Linux 6.1, in a virtual machine without a processor's help: it has no TCX, but IPsec.

The machine's root is this one's, read only, with what it writes kept in its memory; so it runs the programs that are built
here. The kernel is fetched from Debian's archive and unpacked below build/, not installed.
"""

import fcntl
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import processes
from conftest import ROOT

DIRECTORY = ROOT / "build" / "debian-kernel"
PATIENCE = 900  # s; half a minute to three on an idle machine
# What the first process needs to find the root.
_MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")

_INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devices /dev
for module in {modules}; do /bin/busybox insmod /modules/$module; done
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144 root /lower
/bin/busybox mount -t tmpfs upper /upper
/bin/busybox mkdir /upper/files /upper/work
/bin/busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /root
exec /bin/busybox switch_root /root {script}
"""


def _fetch():
    """Unpacks the kernel's package, unless that has been done; returns its root and its version."""
    unpacked = DIRECTORY / "root"
    if not unpacked.exists():
        shutil.rmtree(DIRECTORY, ignore_errors=True)
        DIRECTORY.mkdir(parents=True)
        listing = processes.run(["apt-cache", "depends", "linux-image-amd64"]).stdout
        package = next(word for word in listing.split() if word.startswith("linux-image-6"))
        download = ["apt-get", "download", "-o", "APT::Sandbox::User=root", package]
        if processes.run(download, cwd=DIRECTORY, timeout=600, check=False).returncode != 0:
            processes.run(["apt-get", "update"], timeout=600)
            processes.run(download, cwd=DIRECTORY, timeout=600)
        archive, = DIRECTORY.glob("*.deb")
        processes.run(["dpkg-deb", "--extract", archive, DIRECTORY / "part"], timeout=600)
        (DIRECTORY / "part").rename(unpacked)
    version, = (path.name for path in (unpacked / "lib" / "modules").iterdir())
    processes.run(["depmod", "-b", unpacked, version], timeout=600)
    return unpacked, version


def _make_initial_root(directory, unpacked, version, script):
    """The archive that the kernel unpacks first, which goes over to the real root and the script."""
    initial = directory / "initial"
    for name in ("bin", "proc", "sys", "dev", "lower", "upper", "root", "modules"):
        (initial / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", initial / "bin")
    names = []
    for module in _MODULES:
        listing = processes.run(["modprobe", "-d", unpacked, "-S", version, "--show-depends", module]).stdout
        for path in (pathlib.Path(line.split()[1]) for line in listing.splitlines() if line.startswith("insmod")):
            if path.name not in names:
                names.append(path.name)
                shutil.copy(path, initial / "modules")
    init = initial / "init"
    init.write_text(_INIT.format(modules=" ".join(names), script=shlex.join(map(str, script))))
    init.chmod(0o755)
    archive = directory / "initial.cpio"
    with open(archive, "wb") as output:
        subprocess.run(["sh", "-c", "find . | cpio --quiet -o -H newc"], cwd=initial, stdout=output, check=True)
    return archive


def run(script):
    """Runs a command there as process 1, and returns what it wrote. It ends with the machine."""
    DIRECTORY.parent.mkdir(exist_ok=True)
    with open(DIRECTORY.with_suffix(".lock"), "w") as lock:  # two tests may want it at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        unpacked, version = _fetch()
    with tempfile.TemporaryDirectory(prefix="hgt-") as path:
        directory = pathlib.Path(path)
        archive = _make_initial_root(directory, unpacked, version, [*script, unpacked])
        console = directory / "console.log"
        processes.run(
            ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-m", "1536", "-display", "none",
             "-nic", "none", "-no-reboot", "-serial", f"file:{console}", "-kernel", unpacked / "boot" / f"vmlinuz-{version}",
             "-initrd", archive, "-append", "console=ttyS0 quiet panic=1",
             "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"], timeout=PATIENCE)
        return console.read_text(errors="replace").replace("\r", "")
