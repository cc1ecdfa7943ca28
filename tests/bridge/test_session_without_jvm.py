"""What `attach` and other calls say of a session that was started in another way, told of sessions that are none."""

from __future__ import annotations

import pytest

from pyqbeast import SessionError
from pyqbeast.bridge import session as sessions

OURS, DELTAS = sessions.CATALOG_CLASS, sessions.DELTA_CATALOG_CLASS


def session_with(*catalogs):
    """A session with a catalog of its own, and perhaps one beside it."""
    names = (sessions.CATALOG, "spark.sql.catalog.beside")
    settings = {key: value for key, value in zip(names, catalogs, strict=False) if value}
    return type("Session", (), {"conf": type("Conf", (), {"getAll": settings})})


@pytest.mark.parametrize("catalogs", [(), ("builtin",), (None, OURS)])
def test_a_session_without_a_catalog_is_refused(catalogs):
    """Delta would refuse each query, and name its own catalog."""
    with pytest.raises(
        SessionError, match=r"without spark\.sql\.catalog\.spark_catalog=io\.pyqbeast\.QbeastC"
    ):
        sessions._check_catalogs(session_with(*catalogs))


@pytest.mark.parametrize("catalogs", [(DELTAS,), ("org.example.Unity", DELTAS)])
def test_a_session_whose_sql_indexes_nothing_is_warned_of(catalogs):
    with pytest.warns(UserWarning, match=r"SQL inserts .* stay unindexed .* spark\.sql\.catalog\.beside=io"):
        sessions._check_catalogs(session_with(*catalogs))


@pytest.mark.parametrize("catalogs", [(OURS,), (DELTAS, OURS)])
def test_a_catalog_of_ours_is_enough(catalogs):
    sessions._check_catalogs(session_with(*catalogs))
