"""What every error looks like."""

import httpx


def assert_problem(answer: httpx.Response, status: int) -> dict[str, object]:
    """The answer is a problem of RFC 9457 in the one shape; its members."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem.keys() - {"errors", "item_status"} == {"type", "title", "status", "detail"}
    assert (problem["type"], problem["status"]) == ("about:blank", status)
    assert problem["title"]
    assert problem["detail"]
    return dict(problem)
