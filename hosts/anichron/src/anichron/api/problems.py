"""Every error that no route answers for, in the shape of those that routes answer with."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException

from treadle.admin.problem import Problem, ProblemResponse


def answer_with_problems(app: FastAPI) -> None:
    """Unknown routes, wrong methods, and what nobody foresaw, of which the client learns nothing but that it was."""

    async def refused(_: Request, error: Exception) -> ProblemResponse:
        http = cast("HTTPException", error)  # registered for it below
        title = HTTPStatus(http.status_code).phrase
        problem = Problem(title=title, status=http.status_code, detail=_DETAILS.get(http.status_code, title))
        return ProblemResponse(problem, http.headers)

    async def failed(_: Request, __: Exception) -> ProblemResponse:
        return ProblemResponse(
            Problem(
                title="Internal Server Error",
                status=500,
                detail="This is a fault of the server; its log says more.",
            )
        )

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, failed)


_DETAILS = {
    404: "There is nothing at this address.",
    405: "This address does not take that method; see the Allow header.",
}
