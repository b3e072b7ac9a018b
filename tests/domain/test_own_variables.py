from __future__ import annotations

from awf.domain.own_variables import handed_on


def test_the_way_to_the_database_stays_with_us():
    around = {
        "AWF_DATABASE_URL": "postgresql://u:p@h/d",
        "AWF_DATABASE_URL_FILE": "/run/s",
        "AWF_AUDIT_KEY": "/run/k",
    }
    around |= {"PATH": "/bin", "AWF_CONTEXT": "c"}
    assert handed_on(around) == {"PATH": "/bin", "AWF_CONTEXT": "c"}
    assert "AWF_DATABASE_URL" in around
