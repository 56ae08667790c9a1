"""A PostgreSQL server of one's own in a folder, for a demo and for tests; on Linux and macOS."""

from treadle.embedded.errors import EmbeddedError
from treadle.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedError", "EmbeddedPostgres"]
