"""moto's S3 on localhost, with a check of every signature by botocore.

The objects are put into moto directly, not by requests.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from typing import Any, Callable
from urllib.parse import parse_qsl, quote, urlsplit

KEY_ID, SECRET, TOKEN = (
    "AKIDEXAMPLE",
    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "a/session+token==",
)
REGION = "eu-west-3"
ACCOUNT = "123456789012"
SHORT_PAGE = 7

Environ = dict[str, Any]


@dataclasses.dataclass
class Request:
    path: str  # as it was sent, with the query
    range: str | None
    signed: bool
    token: str | None
    status: int = 0
    sent: int = 0


class S3Server:
    """Serves buckets, which are in REGION, at `endpoint`. A wrong signature gets 403, and so does
    none, unless the object is public. `close` ends it."""

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from moto.s3.models import s3_backends
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"

            def log(self, *arguments: object) -> None:
                pass

        self._backend = s3_backends[ACCOUNT]["aws"]
        self._moto = DomainDispatcherApplication(create_backend_app)
        self.requests: list[Request] = []
        self.errors: list[tuple[int, str]] = []  # status and code, for the next requests
        self._server = make_server(
            "127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet
        )
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def put(self, bucket: str, key: str, content: bytes, public: bool = False) -> str:
        """Makes the object, and its bucket if it is new; returns its name."""
        from moto.s3.models import get_canned_acl

        if bucket not in self._backend.buckets:
            self._backend.create_bucket(bucket, REGION)
        made = self._backend.put_object(bucket, key, content)
        if public:
            made.set_acl(get_canned_acl("public-read"))
        self.requests.clear()
        return f"s3://{bucket}/{key}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        raw = environ.get("RAW_URI") or environ["REQUEST_URI"]
        request = Request(
            raw,
            environ.get("HTTP_RANGE"),
            "HTTP_AUTHORIZATION" in environ,
            environ.get("HTTP_X_AMZ_SECURITY_TOKEN"),
        )
        self.requests.append(request)

        def noted(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            request.status = int(status.split()[0])
            return start(status, headers, *rest)

        error = self.errors.pop(0) if self.errors else None
        detail = ""
        if error is None and request.signed:
            given = environ["HTTP_AUTHORIZATION"]
            if f"/{REGION}/s3/" not in given:
                error = (400, "AuthorizationHeaderMalformed")
                detail = f"<Region>{REGION}</Region>"
            elif given != signature(environ):
                error = (403, "SignatureDoesNotMatch")
        elif error is None and "list-type=2" in raw:
            error = (403, "AccessDenied")  # moto lets everybody list
        if error is not None:
            body = f"<Error><Code>{error[1]}</Code>{detail}</Error>".encode()
            noted(f"{error[0]} no", [("Content-Length", str(len(body)))])
            return [body]
        if "list-type=2" in raw:
            # moto's pages have 1000 keys, as Amazon's.
            environ["QUERY_STRING"] += f"&max-keys={SHORT_PAGE}"
        body = b"".join(self._moto(environ, noted))
        request.sent = len(body)
        return [body]


def signature(environ: Environ) -> str:
    """Returns the Authorization that botocore computes for the headers that the request signs."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    given = environ["HTTP_AUTHORIZATION"]
    names = given.split("SignedHeaders=")[1].split(",")[0].split(";")
    headers = {name: environ["HTTP_" + name.upper().replace("-", "_")] for name in names}
    address = urlsplit(environ.get("RAW_URI") or environ["REQUEST_URI"])
    request = AWSRequest(
        environ["REQUEST_METHOD"],
        f"http://{environ['HTTP_HOST']}{address.path}",
        headers=headers,
        params=dict(parse_qsl(address.query, keep_blank_values=True)),
    )
    request.context["timestamp"] = headers["x-amz-date"]
    request.context["payload_signing_enabled"] = True
    signer = S3SigV4Auth(Credentials(KEY_ID, SECRET), "s3", REGION)
    canonical = "\n".join(
        [
            request.method,
            address.path,
            "&".join(
                f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
                for name, value in sorted(request.params.items())
            ),
            signer.canonical_headers(signer.headers_to_sign(request)) + "\n",
            ";".join(names),
            headers["x-amz-content-sha256"],
        ]
    )
    text = signer.string_to_sign(request, canonical)
    scope = signer.scope(request)
    return (
        f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={';'.join(names)}, "
        f"Signature={signer.signature(text, request)}"
    )
