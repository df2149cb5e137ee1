"""A guest: one QEMU process from start to power-off or power cut.

The memory of the guest is a file, and a region of it is persistent memory to the guest's kernel: what SIGKILL of QEMU leaves of that region and of the
disk's image is what the next machine starts with. All else starts anew.
"""

import os
import selectors
import shutil
import signal
import socket
import subprocess
import time

MEGABYTE = 1 << 20
PMEM_OFFSET = 128 * MEGABYTE  # in the guest's physical memory, and so in the file
PORTS = 9                     # the first carries reports, the others a pool's acknowledgements each

running = set()  # every QEMU that must not outlive this process


class GuestFailure(Exception):
    """The guest did not do as it should: nothing is said about the pools."""


class Media:
    """What survives: an image of the persistent memory and one of the disk, formatted."""

    def __init__(self, folder, pmem_bytes, disk_bytes):
        self.pmem, self.disk = f"{folder}/pmem.img", f"{folder}/disk.img"
        self.pmem_bytes = pmem_bytes
        for path, size in ((self.pmem, pmem_bytes), (self.disk, disk_bytes)):
            with open(path, "wb") as file:
                file.truncate(size)
            subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-J", "size=4", "-E", "lazy_itable_init=0,lazy_journal_init=0", path],
                           check=True, stdin=subprocess.DEVNULL, env=with_sbin())

    def files(self):
        return [self.pmem, self.disk]

    def drive(self):
        return f"file={self.disk}"

    def put_into(self, ram):
        with open(self.pmem, "rb") as pmem:
            copy_range(pmem, 0, ram, PMEM_OFFSET, self.pmem_bytes)

    def take_from(self, ram):
        """What is left behind a power cut."""
        with open(self.pmem + ".part", "wb") as pmem:
            pmem.truncate(self.pmem_bytes)
            copy_range(ram, PMEM_OFFSET, pmem, 0, self.pmem_bytes)
        os.rename(self.pmem + ".part", self.pmem)


def with_sbin():
    return os.environ | {"PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}


def copy_range(source, source_offset, target, target_offset, count):
    """Keeps holes: most of an image is zeros."""
    step = MEGABYTE
    source.seek(source_offset)
    for at in range(0, count, step):
        piece = source.read(min(step, count - at))
        if piece.strip(b"\0"):
            target.seek(target_offset + at)
            target.write(piece)


class Machine:
    """Started by its constructor. `received[i]` is all that came out of port i so far."""

    def __init__(self, folder, kernel, initramfs, media, accelerator="tcg", memory_bytes=PMEM_OFFSET * 3, ports=PORTS):
        self.media = media
        self.ram = f"{folder}/ram.img"
        self.console = f"{folder}/console.log"
        self.started = time.monotonic()
        with open(self.ram, "wb") as ram:
            ram.truncate(max(memory_bytes, PMEM_OFFSET + media.pmem_bytes + 64 * MEGABYTE))
            size = ram.seek(0, os.SEEK_END)
            media.put_into(ram)
        pairs = [socket.socketpair() for _ in range(ports)]
        command = [
            *(["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []),  # also where this process is killed itself
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-accel", accelerator, "-cpu", "max", "-smp", "2", "-m", f"{size // MEGABYTE}M",
            "-machine", "q35,memory-backend=ram",
            "-object", f"memory-backend-file,id=ram,share=on,mem-path={self.ram},size={size}",
            "-kernel", kernel, "-initrd", initramfs,
            "-append", "console=ttyS0 quiet panic=-1 no_timer_check nokaslr mitigations=off" +
            (f" memmap={media.pmem_bytes // MEGABYTE}M!{PMEM_OFFSET // MEGABYTE}M" if media.pmem_bytes else ""),
            "-serial", f"file:{self.console}",
            "-device", f"virtio-serial-pci,max_ports={ports + 1}",
        ]
        command += ["-drive", f"{media.drive()},if=virtio,format=raw,cache=writeback,id=disk"]
        for number, (_, theirs) in enumerate(pairs):
            command += ["-chardev", f"socket,id=port{number},fd={theirs.fileno()}",
                        "-device", f"virtserialport,chardev=port{number},nr={number + 1}"]
        self.complaints = open(f"{folder}/qemu.log", "wb+")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.complaints, stderr=self.complaints,
                                        pass_fds=[theirs.fileno() for _, theirs in pairs], start_new_session=True)
        running.add(self)
        self.received = [bytearray() for _ in pairs]
        self.selector = selectors.DefaultSelector()
        for number, (ours, theirs) in enumerate(pairs):
            theirs.close()
            ours.setblocking(False)
            self.selector.register(ours, selectors.EVENT_READ, number)

    def listen(self, seconds):
        """Takes in what the guest says, for at most so long. False once nothing can come any more."""
        for key, _ in self.selector.select(seconds):
            data = b""
            try:
                data = key.fileobj.recv(1 << 16)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                pass
            if not data:
                self.selector.unregister(key.fileobj)
                key.fileobj.close()
            self.received[key.data] += data
        return bool(self.selector.get_map())

    def cut(self):
        """The power cut. What the guest had said by then is heard to the end; nothing else of it is left but the media."""
        self.process.send_signal(signal.SIGKILL)
        self.finish()

    def finish(self):
        while self.listen(1):
            pass
        self.process.wait(timeout=60)
        running.discard(self)
        with open(self.ram, "rb") as ram:
            self.media.take_from(ram)
        os.unlink(self.ram)
        self.complaints.close()

    def wait_until(self, condition, seconds, what):
        """Listens until `condition()`; a guest that ends or stays silent before is a failure of the guest."""
        deadline = time.monotonic() + seconds
        while not condition():
            if not self.listen(0.05) or time.monotonic() > deadline:
                raise GuestFailure(f"the guest {'ended' if time.monotonic() <= deadline else f'took more than {seconds} s'} before {what}:\n" + self.last_words())

    def last_words(self):
        words = b""
        for path in filter(os.path.exists, (self.console, self.complaints.name)):
            with open(path, "rb") as file:
                words += file.read()
        return words.decode(errors="replace")[-3000:]


def kill_all():
    """No QEMU outlives the run, however it ends."""
    for machine in list(running):
        machine.process.kill()
        machine.process.wait()
        running.discard(machine)


def keep(paths, folder):
    os.makedirs(folder, exist_ok=True)
    for path in filter(os.path.exists, paths):
        subprocess.run(["cp", "--sparse=always", path, folder], check=True)
