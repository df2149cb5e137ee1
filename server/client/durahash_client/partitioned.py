"""One table over many keys: `name:0` to `name:P-1`, the partition of a field by its CRC-16.

The keys lie in different slots, so that a cluster spreads them over its nodes. Batches go out as
one command for each partition, and those of one node in one pipeline.
"""
import binascii

try:
    import numpy
except ImportError:  # arrays are not needed for bytes
    numpy = None

FIELDS_PER_COMMAND = 1000


def as_bytes(field):
    """What the server stores: text as UTF-8, numbers in decimal."""
    if isinstance(field, bytes):
        return field
    if isinstance(field, (bytearray, memoryview)):
        return bytes(field)
    return str(field).encode()


class PartitionedTable:
    """A table that is spread over `partitions` keys.

    client      of redis-py or valkey-py: RedisCluster, ValkeyCluster, or of a single server
    partitions  fixed for the life of the table: fields are found by it
    engine ...  of partitions that are not there yet: create()

    Threads     as the client's.
    Errors      those of the client. A batch that ends with one may have been written in part.
    """

    def __init__(self, client, name, partitions=32):
        if partitions < 1:
            raise ValueError("a table has at least one partition")
        self.client, self.name, self.partitions = client, name, partitions

    def key_of(self, field):
        """The key whose table has that field."""
        return f"{self.name}:{binascii.crc_hqx(as_bytes(field), 0) % self.partitions}"

    def create(self, engine=None, keys="bytes", values="bytes", durability=None):
        """Makes all partitions that are not there. Returns how many were made."""
        options = ["KEYS", keys, "VALUES", values]
        options += ["ENGINE", engine] if engine else []
        options += ["DURABILITY", durability] if durability else []
        made = 0
        for number in range(self.partitions):
            try:
                self.client.execute_command("DH.CREATE", f"{self.name}:{number}", *options)
                made += 1
            except Exception as why:  # of redis-py or valkey-py; another machine may be faster
                if "the key exists already" not in str(why):
                    raise
        return made

    def get(self, field):
        return self.client.execute_command("DH.GET", self.key_of(field), as_bytes(field))

    def put(self, field, value):
        return self.client.execute_command("DH.SET", self.key_of(field), as_bytes(field),
                                           as_bytes(value))

    def erase(self, field):
        return self.client.execute_command("DH.DEL", self.key_of(field), as_bytes(field)) == 1

    def __len__(self):
        return sum(self._run([("DH.LEN", f"{self.name}:{n}") for n in range(self.partitions)]))

    def get_many(self, fields):
        """Values in the order of `fields`, None where there is none.

        Of a NumPy array of integers: two arrays, values (uint64) and found (bool)."""
        if numpy is not None and isinstance(fields, numpy.ndarray):
            return self._get_array(fields)
        places = self._by_partition(fields)
        commands = [("DH.MGET", key, *(as_bytes(fields[i]) for i in some)) for key, some in places]
        answers = [None] * len(fields)
        for (_, some), found in zip(places, self._run(commands)):
            for place, value in zip(some, found):
                answers[place] = value
        return answers

    def put_many(self, fields, values=None):
        """Writes a mapping, or fields and as many values. Returns how many fields were written.

        Later values of one field win: the earlier ones are not sent. Clients send a command again
        whose slot has moved, behind those that came after it."""
        if values is None:
            fields, values = list(fields), list(fields.values())
        if len(fields) != len(values):
            raise ValueError(f"{len(fields)} fields and {len(values)} values")
        last = dict(zip(map(as_bytes, fields), values))
        fields, commands = list(last), []
        for key, some in self._by_partition(fields):
            flat = [x for i in some for x in (fields[i], as_bytes(last[fields[i]]))]
            commands.append(("DH.SET", key, *flat))
        return sum(self._run(commands))

    def erase_many(self, fields):
        """Returns how many were there."""
        return sum(self._run([("DH.DEL", key, *(as_bytes(fields[i]) for i in some))
                              for key, some in self._by_partition(fields)]))

    def items(self, count=1000):
        """All records, partition by partition, by the promises of DH.SCAN."""
        for number in range(self.partitions):
            cursor = b"0"
            while True:
                cursor, flat = self.client.execute_command("DH.SCAN", f"{self.name}:{number}",
                                                           cursor, "COUNT", count)
                yield from zip(flat[::2], flat[1::2])
                if cursor in (b"0", "0"):
                    break

    def _get_array(self, fields):
        answers = self.get_many(fields.ravel().tolist())
        found = numpy.array([a is not None for a in answers], dtype=bool)
        values = numpy.array([int(a or 0) for a in answers], dtype=numpy.uint64)
        return values.reshape(fields.shape), found.reshape(fields.shape)

    def _by_partition(self, fields):
        """[(key, places in `fields`)], no more than FIELDS_PER_COMMAND places each."""
        places = {}
        for i, field in enumerate(fields):
            places.setdefault(self.key_of(field), []).append(i)
        return [(key, some[first:first + FIELDS_PER_COMMAND]) for key, some in places.items()
                for first in range(0, len(some), FIELDS_PER_COMMAND)]

    def _run(self, commands):
        """Answers in the order of the commands; those of one node go out together."""
        if not commands:
            return []
        pipe = self.client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        return pipe.execute()
