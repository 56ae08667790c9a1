"""Errors as problem details (RFC 9457), in one shape on every route."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import Receive, Scope, Send

from treadle.errors import StoreUnavailable

MEDIA_TYPE = "application/problem+json"


class Fault(BaseModel):
    """What is wrong with one part of a request."""

    where: str = Field(description="The part, such as `query.limit`.")
    what: str


class Problem(BaseModel):
    """An error."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    item_status: str | None = Field(
        default=None, description="Of a cancel that was refused: how the item ended."
    )
    errors: list[Fault] | None = None


class ProblemError(Exception):
    """An answer that is a problem."""

    def __init__(self, status: int, detail: str, *, item_status: str | None = None) -> None:
        super().__init__(detail)
        self.problem = _problem(status, detail, item_status=item_status)


class ProblemResponse(JSONResponse):
    """A problem as an answer."""

    media_type = MEDIA_TYPE

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(
            problem.model_dump(exclude_none=True),
            status_code=problem.status,
            headers={"Cache-Control": "no-store", **(headers or {})},
        )


class ProblemRoute(APIRoute):
    """A route all of whose errors are problems, those of the host's own dependencies included."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_with_problems(request: Request) -> Response:
            try:
                return await handle(request)
            except ProblemError as error:
                return ProblemResponse(error.problem)
            except StarletteHTTPException as error:
                return _of_http(error)
            except RequestValidationError as error:
                return ProblemResponse(_of_validation(error))
            except StoreUnavailable:
                problem = _problem(503, "The database does not answer; try again shortly.")
                return ProblemResponse(problem, {"Retry-After": "2"})

        return handle_with_problems

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().handle(scope, receive, send)
        except StarletteHTTPException as error:  # a method that the route does not have
            await _of_http(error)(scope, receive, send)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI is told of a route: these problems, and those that every route has."""
    content = {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}
    every = sorted({401, 403, 422, 503, *statuses})
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in every}


def _problem(status: int, detail: str, **more: Any) -> Problem:
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, **more)


def _of_http(error: StarletteHTTPException) -> ProblemResponse:
    # A host may give FastAPI's exception anything that is JSON.
    return ProblemResponse(_problem(error.status_code, str(error.detail)), error.headers)


def _of_validation(error: RequestValidationError) -> Problem:
    # Without the values: a request may carry a secret in the wrong place.
    faults = [
        Fault(where=".".join(map(str, fault["loc"])), what=str(fault["msg"])) for fault in error.errors()
    ]
    return _problem(422, "The request does not make sense; see `errors`.", errors=faults)
