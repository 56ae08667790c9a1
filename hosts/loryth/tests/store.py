"""A real S3 API over HTTP, moto's, with what moto leaves out and with the faults that stores have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import boto3
from botocore.config import Config
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

from loryth.settings import S3Section

BUCKET: Final = "platform"

StartResponse = Callable[..., object]


class Store:
    """An S3 server of a test's own, on a port of its own.

    moto lists all uploads at once, each begun in 2010. Here they come in pages, and `age` says how old they are.
    """

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self.clock_is_ahead = timedelta(0)
        store = self

        class OnItsClock(WSGIRequestHandler):
            def date_time_string(self, timestamp: float | None = None) -> str:
                return format_datetime(store.now, usegmt=True)

            def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - its name in the base class
                pass

        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=OnItsClock)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.requests: list[tuple[str, str]] = []
        """Method and path of each request so far."""
        self.refused: dict[str, tuple[int, str]] = {}
        """Status and error code with which requests for a key are refused."""
        self.ages: dict[str, timedelta] = {}
        """How long ago uploads were begun, by their id; the others begin now."""
        self.most_per_page = 1000
        self.seconds_each = 0.0
        """How long each request takes."""
        self.hanging = threading.Event()
        """Set while no request is answered."""
        self.reached = threading.Event()
        """Set when a request has come that is not answered."""
        self._released = threading.Event()

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.clock_is_ahead

    @property
    def settings(self) -> S3Section:
        return S3Section.model_validate(self.variables)

    @property
    def variables(self) -> dict[str, str]:
        """The settings of a section S3."""
        return {
            "endpoint_url": f"http://127.0.0.1:{self._server.port}",
            "bucket": BUCKET,
            "access_key": "key",
            "secret_key": "hush",
            "timeout_seconds": "5",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same, as a process takes them."""
        return {f"S3__{name.upper()}": value for name, value in self.variables.items()}

    def put(self, key: str) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=b"x")

    def keys(self) -> set[str]:
        found = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {str(entry["Key"]) for entry in found}

    def begin_upload(self, key: str, *, age: timedelta = timedelta(0)) -> str:
        upload_id = str(self.client.create_multipart_upload(Bucket=BUCKET, Key=key)["UploadId"])
        self.ages[upload_id] = age
        return upload_id

    def uploads(self) -> set[str]:
        return set(self._bucket().multiparts)

    def count(self, method: str) -> int:
        return sum(seen == method for seen, _ in self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.variables["endpoint_url"],
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="hush",
            config=Config(s3={"addressing_style": "path"}),
        )
        self.client.create_bucket(Bucket=BUCKET)
        self.requests.clear()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self.client.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        for backend in s3_backends["123456789012"].values():
            backend.reset()

    def _answer(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, path))
        if self.hanging.is_set():
            self.reached.set()
            self._released.wait()
        self._released.wait(self.seconds_each)
        key = path.removeprefix(f"/{BUCKET}/")
        if refusal := self.refused.get(key):
            return _xml(start_response, refusal[0], f"<Error><Code>{refusal[1]}</Code></Error>")
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        if method == "GET" and "uploads" in query:
            return self._list_uploads(query, start_response)
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer

    def _list_uploads(self, query: dict[str, list[str]], start_response: StartResponse) -> Iterable[bytes]:
        """ListMultipartUploads as its reference page describes it."""

        def value(name: str, default: str = "") -> str:
            return query.get(name, [default])[0]

        after = (value("key-marker"), value("upload-id-marker"))
        found = sorted((part.key_name, part.id) for part in list(self._bucket().multiparts.values()))
        rest = [each for each in found if each[0].startswith(value("prefix")) and each > after]
        page = rest[: min(int(value("max-uploads", "1000")), self.most_per_page)]
        entries = "".join(
            f"<Upload><Key>{escape(key)}</Key><UploadId>{upload_id}</UploadId>"
            f"<Initiated>{(self.now - self.ages.get(upload_id, timedelta(0))).isoformat()}"
            "</Initiated></Upload>"
            for key, upload_id in page
        )
        more = len(rest) > len(page)
        following = (
            f"<NextKeyMarker>{escape(page[-1][0])}</NextKeyMarker>"
            f"<NextUploadIdMarker>{page[-1][1]}</NextUploadIdMarker>"
            if more
            else ""
        )
        return _xml(
            start_response,
            200,
            f"<ListMultipartUploadsResult><Bucket>{BUCKET}</Bucket><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{following}{entries}</ListMultipartUploadsResult>",
        )

    def _bucket(self) -> Any:
        return s3_backends["123456789012"]["aws"].buckets[BUCKET]


def _xml(start_response: StartResponse, status: int, body: str) -> list[bytes]:
    start_response(f"{status} Answer", [("Content-Type", "application/xml")])
    return [body.encode()]
