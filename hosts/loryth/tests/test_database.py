"""The bounds of a transaction, and what becomes of its connection."""

from contextlib import suppress

import pytest

from loryth.database import Connection, Database
from tests.process.proxy import Proxy
from treadle.errors import StoreUnavailable


def test_a_transaction_is_kept_or_taken_back_whole(database: Database, connection: Connection) -> None:
    connection.execute("create table kept (n int)")
    with database.transaction() as own:
        own.execute("insert into kept values (1)")
    with suppress(LookupError), database.transaction() as own:
        own.execute("insert into kept values (2)")
        raise LookupError
    assert connection.execute("select n from kept").fetchall() == [(1,)]


def test_a_statement_and_a_pause_end_at_the_bound(loryth_dsn: str) -> None:
    with Database(loryth_dsn, seconds=0.2) as database:
        with pytest.raises(StoreUnavailable, match="statement timeout"), database.transaction() as own:
            own.execute("select pg_sleep(60)")
        with database.transaction(seconds=5) as own:
            assert own.execute("show statement_timeout").fetchone() == ("5s",)


def test_a_network_that_says_nothing_any_more_is_told_within_the_bound_and_left_behind(
    loryth_dsn: str,
) -> None:
    with Proxy(loryth_dsn) as network, Database(network.dsn, seconds=0.2) as database:
        with database.transaction() as own:
            own.execute("select")
        network.strand()
        with pytest.raises(StoreUnavailable, match="does not answer"), database.transaction() as own:
            own.execute("select")
        with database.transaction() as own:
            own.execute("select")


def test_a_connection_that_the_server_closed_meanwhile_costs_no_transaction(
    database: Database, connection: Connection
) -> None:
    with database.transaction() as own:
        pid = own.info.backend_pid
    connection.execute("select pg_terminate_backend(%s, 5000)", [pid])
    with database.transaction() as own:
        assert own.info.backend_pid != pid
