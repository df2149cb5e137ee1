"""What a machine boots with: the kernel, an initramfs that all machines share, and the job of one machine behind it."""

import os

import image
import pools
from machine import Machine

HERE = os.path.dirname(os.path.abspath(__file__))
# The kernel finds devices behind our back, and shows them before they can be used.
MOUNTED = r"""
mounted() {
  local tries=0
  until mount -t $4 $3 $1 $2 2>/tmp/mount.err; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { cat /tmp/mount.err; exit 1; }
    usleep 20000
  done
}
"""


class Boot:
    """The kernel and the part of the initramfs that all machines share."""

    def __init__(self, kernel, tool, modules, mount, programs=(), files=()):
        self.kernel, self.mount = kernel, mount
        archive = image.Archive()
        archive.add_file(f"{HERE}/init", "init")
        archive.add_file(image.path_of("busybox"), "bin/busybox")
        for folder in ("proc", "sys", "dev", "dax", "disk", "tmp", "input", "var/tmp"):
            archive.add_folder(folder)
        order = kernel.load_order(modules)
        for module in order:
            archive.add_file(module, "modules/" + os.path.basename(module))
        archive.add("modules/order", "\n".join(map(os.path.basename, order)).encode())
        for program in (tool, *programs):
            archive.add_program(program, "bin/" + os.path.basename(program))
        for path, name in files:
            archive.add_file(path, name)
        self.base = archive.bytes()

    def start(self, folder, media, script, files=(), more=b"", **how):
        job = image.Archive()
        job.add("job", (pools.PRELUDE + MOUNTED + self.mount + script).encode())
        for name, content in files:
            job.add(name, content)
        path = f"{folder}/initramfs"
        with open(path, "wb") as file:
            file.write(self.base + more + job.bytes())
        return Machine(folder, self.kernel.image, path, media, **how)
