"""What the guest boots: a kernel out of its Debian package, and an initramfs with busybox, a few modules and our programs.

Nothing is installed on the host: the package is unpacked under build/guest. The kernel is Debian's cloud flavour, which boots faster than the
ordinary one and has the same ext4 and persistent-memory code.
"""

import glob
import gzip
import os
import re
import shutil
import stat
import subprocess

FLAVOUR = "linux-image-cloud-amd64"
MODULES = ["virtio_pci", "virtio_mmio", "virtio_blk", "virtio_console", "nd_btt", "nd_pmem", "nd_e820", "ext4"]
HOST_PROGRAMS = ["qemu-system-x86_64", "busybox", "mke2fs", "dpkg-deb", "ldd"]


class Missing(Exception):
    """Something that the guest needs is not here, and cannot be had by us."""


def path_of(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/sbin:/usr/sbin")


def output_of(*command, **how):
    return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout


class Kernel:
    """The unpacked package."""

    def __init__(self, folder):
        self.folder = folder
        self.image = one(f"{folder}/boot/vmlinuz-*")
        self.modules = {os.path.basename(path).split(".ko")[0]: path
                        for path in glob.glob(f"{folder}/lib/modules/*/kernel/**/*.ko", recursive=True)}
        with open(one(f"{folder}/lib/modules/*/modules.builtin")) as file:
            self.built_in = {os.path.basename(line.strip())[:-3] for line in file}

    def name(self):
        return os.path.basename(self.image).removeprefix("vmlinuz-")

    def load_order(self, names):
        """The files of these modules, each behind those that it needs."""
        order = []

        def add(name):
            if name in self.built_in or name.replace("_", "-") in self.built_in:
                return
            path = self.modules.get(name) or self.modules.get(name.replace("_", "-"))
            if path is None:
                raise Missing(f"the kernel {self.name()} has no module {name}")
            if path in order:
                return
            with open(path, "rb") as file:
                needed = re.search(rb"\0depends=([^\0]*)\0", file.read()).group(1).decode()
            for other in filter(None, needed.split(",")):
                add(other)
            order.append(path)

        for name in names:
            add(name)
        return order


def one(pattern):
    found = glob.glob(pattern)
    if len(found) != 1:
        raise Missing(f"expected one {pattern}, found {len(found)}")
    return found[0]


def fetch_kernel(folder):
    """Downloads and unpacks the package that the flavour's name stands for today; what is there already stays."""
    there = f"{folder}/kernel"
    if os.path.isdir(there):
        return Kernel(there)
    os.makedirs(folder, exist_ok=True)
    try:
        depends = output_of("apt-cache", "depends", "--important", FLAVOUR)
        package = re.search(r"Depends: (linux-image-\S+)", depends).group(1)
        subprocess.run(["apt-get", "download", "-q", package], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError, AttributeError) as problem:
        raise Missing(f"the package {FLAVOUR} cannot be downloaded: {getattr(problem, 'stderr', None) or problem}") from problem
    archive = one(f"{folder}/{package}_*.deb")
    shutil.rmtree(there + ".part", ignore_errors=True)
    subprocess.run(["dpkg-deb", "-x", archive, there + ".part"], check=True)
    os.rename(there + ".part", there)
    os.unlink(archive)
    return Kernel(there)


def libraries_of(program):
    """The shared libraries of a program, and its loader."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"(/\S+) \(0x", listing)))


def python_files(modules):
    """The interpreter and the files that importing these modules reads: a few megabytes of the library's hundred."""
    program = f"import sys, encodings.idna, {', '.join(modules)}; print('\\n'.join(m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)))"
    interpreter = os.path.realpath(shutil.which("python3"))
    files = output_of(interpreter, "-I", "-S", "-c", program).split()
    return interpreter, files


class Archive:
    """An initramfs: a cpio archive of the kind that the kernel calls newc. Several, one behind the other, are one to the kernel."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def add_folder(self, name):
        name = name.strip("/")
        if name and name not in self.names:
            self.add_folder(os.path.dirname(name))
            self.put(name, stat.S_IFDIR | 0o755, b"")

    def add(self, name, content, executable=False):
        name = name.strip("/")
        if name in self.names:
            return
        self.add_folder(os.path.dirname(name))
        self.put(name, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def add_file(self, path, name=None):
        with open(path, "rb") as file:
            self.add(name or path, file.read(), os.access(path, os.X_OK))

    def add_program(self, path, name):
        self.add_file(path, name)
        for library in libraries_of(path):
            self.add_file(library)

    def put(self, name, mode, content):
        self.names.add(name)
        self.parts.append(entry(len(self.names), name, mode, content))

    def bytes(self):
        return b"".join(self.parts) + entry(0, "TRAILER!!!", 0, b"")


def entry(inode, name, mode, content):
    encoded = name.encode() + b"\0"
    fields = [inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return padded(head) + padded(content)


def padded(data):
    return data + b"\0" * (-len(data) % 4)
