"""The object store: any that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from loryth.settings import S3Section
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ATTEMPTS: Final = 2


class StorageError(TreadleError):
    """The store refused a request; others may succeed."""


class StorageUnavailable(StorageError):
    """The store does not answer, or not in time."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listing of uploads goes on."""

    key: str
    upload_id: str


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload that was neither completed nor aborted."""

    key: str
    upload_id: str
    age: timedelta
    """By the store's own clock."""

    @property
    def place(self) -> Place:
        return Place(self.key, self.upload_id)


@dataclass(frozen=True, slots=True)
class UploadPage:
    """Some uploads, and where the next ones are; *after* is None on the last page."""

    uploads: list[Upload]
    after: Place | None


class Storage:
    """A bucket. Each request is over within twice the settings' timeout, and about a second."""

    def __init__(self, settings: S3Section) -> None:
        self._bucket = settings.bucket
        self._client: S3Client = boto3.client(
            "s3",
            endpoint_url=settings.endpoint_url or None,
            region_name=settings.region,
            # Without keys, boto3 looks where it always does: a role, a profile.
            aws_access_key_id=settings.access_key or None,
            aws_secret_access_key=settings.secret_key.get_secret_value() or None,
            config=Config(
                connect_timeout=settings.timeout_seconds,
                read_timeout=settings.timeout_seconds,
                retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
                signature_version="s3v4",
                s3={"addressing_style": "path" if settings.endpoint_url else "auto"},
                user_agent_extra="loryth",
            ),
        )

    def delete(self, key: str) -> None:
        """Delete an object; that it is not there is fine. Raises ``StorageError``.

        One request for each: for the batched one, boto3 sends a checksum that many compatible stores refuse.
        """
        with _told():
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def abort(self, key: str, upload_id: str) -> None:
        """Abort a multipart upload; that it is not there is fine. Raises ``StorageError``."""
        with _told(fine="NoSuchUpload"):
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload_id)

    def uploads(self, *, prefix: str, after: Place | None, limit: int) -> UploadPage:
        """Up to *limit* uploads under *prefix*, from *after* on. Raises ``StorageError``."""
        with _told():
            answer = self._client.list_multipart_uploads(
                Bucket=self._bucket,
                Prefix=prefix,
                MaxUploads=limit,
                # Empty ones are as good as none.
                KeyMarker=after.key if after else "",
                UploadIdMarker=after.upload_id if after else "",
            )
        now = _date(answer)
        found = [
            Upload(upload["Key"], upload["UploadId"], now - upload["Initiated"])
            for upload in answer.get("Uploads", [])
        ]
        more = answer.get("IsTruncated", False)
        return UploadPage(
            found, Place(answer["NextKeyMarker"], answer["NextUploadIdMarker"]) if more else None
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def _date(answer: Any) -> datetime:
    """When the store made an answer, by its own clock: ours may differ, and an upload's age must not."""
    date = str(answer["ResponseMetadata"]["HTTPHeaders"].get("date", ""))
    if not date.endswith("GMT") or date.count("GMT") > 1:
        raise StorageError(f"the store dates its answer {date!r}, so the age of uploads cannot be told")
    return parsedate_to_datetime(date)


@contextmanager
def _told(*, fine: str | None = None) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code == fine:
            return
        message = f"the store refuses it: {error}"
        raise (StorageUnavailable if _is_passing(error) else StorageError)(message) from error
    except BotoCoreError as error:
        raise StorageUnavailable(f"the store does not answer: {error}") from error


def _is_passing(error: ClientError) -> bool:
    """Whether the store is in trouble, rather than the request."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or error.response.get("Error", {}).get("Code") in {"SlowDown", "NoSuchBucket"}
