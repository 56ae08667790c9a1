"""A database with Anichron's schema."""

import pytest

from anichron import schema


@pytest.fixture
def anichron_dsn(dsn: str) -> str:
    """Connection string of a database of the test's own, with both schemas."""
    schema.migrate(dsn)
    return dsn
