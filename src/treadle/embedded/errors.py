"""What an embedded server can fail with."""

from treadle.errors import TreadleError


class EmbeddedError(TreadleError):
    """The embedded server cannot be had; the message is one line that says why and what to do."""
