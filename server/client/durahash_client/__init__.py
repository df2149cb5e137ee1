"""Big tables over several keys of a cluster of redis-server or valkey-server."""
from .partitioned import PartitionedTable

__all__ = ["PartitionedTable"]
