"""A server on this machine that answers as GitHub's REST API does, as far as a comment with plots needs it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

NAME = "owner/name"
TOKEN = "secret-token"
BOT = "github-actions[bot]"
MAX_CHARACTERS = 65_536
PAGE = 30

Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Hub:
    """What the repository holds, what was asked of it, and troubles that answer in its place.

    A trouble is asked about each request (`POST /repos/…`) and answers it, or returns None to let it through.
    """

    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    troubles: list[Callable[[str], Answer | None]] = field(default_factory=list)
    url: str = ""

    def add_pull(self, number: int, head: str = "a" * 40, state: str = "open") -> None:
        self.pulls.append({"number": number, "head": {"sha": head}, "state": state})
        self.comments[number] = []

    def add_comment(self, number: int, body: str, author: str) -> dict[str, Any]:
        identity = 1000 * number + len(self.comments[number])
        comment = {
            "id": identity,
            "body": body,
            "user": {"login": author, "id": 1, "type": "Bot"},
            "url": f"{self.url}/repos/{NAME}/issues/comments/{identity}",
            "html_url": f"https://example.invalid/{number}#{identity}",
        }
        self.comments[number].append(comment)
        return comment

    def files_at(self, commit: str) -> dict[str, bytes]:
        tree = self.objects[self.objects[commit]["tree"]["sha"]]
        return {path: self.objects[blob] for path, blob in tree["files"].items()}

    def count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, request)) for request in self.asked)

    # What each request does -------------------------------------------------------------------------------------

    def answer(self, method: str, target: str, body: Any) -> Answer:
        parts = urlsplit(target)
        request = f"{method} {target}"
        self.asked.append(request)
        for trouble in self.troubles:
            found = trouble(request)
            if found is not None:
                return found
        path = parts.path.removeprefix(f"/repos/{NAME}")
        if path == parts.path:
            return 404, {"message": "Not Found"}, {}
        for pattern, act in self._routes(method):
            match = re.fullmatch(pattern, path)
            if match:
                return act(match, body, {key: value[0] for key, value in parse_qs(parts.query).items()})
        return 404, {"message": "Not Found"}, {}

    def _routes(self, method: str) -> list[tuple[str, Callable[[re.Match[str], Any, dict[str, str]], Answer]]]:
        routes = {
            "GET": [
                ("", lambda m, b, q: (200, self._repository(), {})),
                ("/pulls", self._list_pulls),
                (r"/pulls/(\d+)", self._get_pull),
                (r"/issues/(\d+)/comments", self._list_comments),
                (r"/git/refs?/(.+)", self._get_ref),
                (r"/git/commits/(\w+)", lambda m, b, q: (200, self.objects[m[1]], {})),
            ],
            "POST": [
                (r"/issues/(\d+)/comments", self._create_comment),
                ("/git/blobs", self._create_blob),
                ("/git/trees", self._create_tree),
                ("/git/commits", self._create_commit),
                ("/git/refs", self._create_ref),
            ],
            "PATCH": [
                (r"/issues/comments/(\d+)", self._edit_comment),
                (r"/git/refs/(.+)", self._move_ref),
            ],
        }
        return routes[method]

    def _repository(self) -> dict[str, Any]:
        return {"full_name": NAME, "default_branch": "main", "url": f"{self.url}/repos/{NAME}"}

    def _pull(self, pull: dict[str, Any]) -> dict[str, Any]:
        issue = f"{self.url}/repos/{NAME}/issues/{pull['number']}"
        return pull | {"issue_url": issue, "url": f"{self.url}/repos/{NAME}/pulls/{pull['number']}"}

    def _paged(self, found: list[Any], path: str, query: dict[str, str]) -> Answer:
        page, size = int(query.get("page", 1)), min(int(query.get("per_page", 30)), PAGE)
        headers = {}
        if page * size < len(found):
            again = "&".join(f"{key}={value}" for key, value in query.items() if key != "page")
            headers["Link"] = f'<{self.url}/repos/{NAME}{path}?{again}&page={page + 1}>; rel="next"'
        return 200, found[(page - 1) * size : page * size], headers

    def _list_pulls(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        found = [self._pull(pull) for pull in self.pulls if pull["state"] == query.get("state", "open")]
        return self._paged(found, "/pulls", query)

    def _get_pull(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        found = [pull for pull in self.pulls if pull["number"] == int(match[1])]
        return (200, self._pull(found[0]), {}) if found else (404, {"message": "Not Found"}, {})

    def _list_comments(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        return self._paged(self.comments[int(match[1])], f"/issues/{match[1]}/comments", query)

    def _create_comment(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        return self._too_long(body) or (201, self.add_comment(int(match[1]), body["body"], BOT), {})

    def _edit_comment(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        comment = next(one for many in self.comments.values() for one in many if one["id"] == int(match[1]))
        refused = self._too_long(body)
        if refused is None:
            comment["body"] = body["body"]
        return refused or (200, comment, {})

    def _too_long(self, body: Any) -> Answer | None:
        if len(body["body"]) <= MAX_CHARACTERS:
            return None
        error = {"resource": "IssueComment", "message": f"body is too long (maximum is {MAX_CHARACTERS} characters)"}
        return 422, {"message": "Validation Failed", "errors": [error]}, {}

    def _store(self, content: Any) -> str:
        kept = content if isinstance(content, bytes) else json.dumps(content, sort_keys=True).encode()
        digest = hashlib.sha1(kept).hexdigest()
        self.objects[digest] = content
        return digest

    def _create_blob(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        assert body["encoding"] == "base64"
        return 201, {"sha": self._store(base64.b64decode(body["content"]))}, {}

    def _create_tree(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        base = body.get("base_tree")
        files = dict(self.objects[base]["files"]) if base else {}
        files |= {one["path"]: one["sha"] for one in body["tree"]}
        return 201, {"sha": self._store({"files": files})}, {}

    def _create_commit(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        made = {"tree": {"sha": body["tree"]}, "parents": [{"sha": one} for one in body["parents"]]}
        digest = self._store(made | {"message": body["message"], "number": len(self.objects)})
        self.objects[digest] |= {"sha": digest, "url": f"{self.url}/repos/{NAME}/git/commits/{digest}"}
        return 201, self.objects[digest], {}

    def _ref(self, name: str) -> dict[str, Any]:
        full = f"refs/{name}"
        url = f"{self.url}/repos/{NAME}/git/{full}"
        return {"ref": full, "url": url, "object": {"type": "commit", "sha": self.refs[name]}}

    def _get_ref(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        return (200, self._ref(match[1]), {}) if match[1] in self.refs else (404, {"message": "Not Found"}, {})

    def _create_ref(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        name = body["ref"].removeprefix("refs/")
        if name in self.refs:
            return 422, {"message": "Reference already exists"}, {}
        self.refs[name] = body["sha"]
        return 201, self._ref(name), {}

    def _move_ref(self, match: re.Match[str], body: Any, query: dict[str, str]) -> Answer:
        ancestors = [parent["sha"] for parent in self.objects[body["sha"]]["parents"]]
        if self.refs[match[1]] not in ancestors and not body.get("force"):
            return 422, {"message": "Update is not a fast forward"}, {}
        self.refs[match[1]] = body["sha"]
        return 200, self._ref(match[1]), {}


def once(pattern: str, status: int, body: Any, times: int = 1, **headers: str) -> Callable[[str], Answer | None]:
    """A trouble: the first `times` requests that match `pattern` get this answer."""
    left = [times]

    def trouble(request: str) -> Answer | None:
        if not left[0] or not re.search(pattern, request):
            return None
        left[0] -= 1
        return status, body, {name.replace("_", "-"): value for name, value in headers.items()}

    return trouble


@contextmanager
def serve() -> Iterator[Hub]:
    """A Hub that answers on a free port of the loopback until the block ends."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet, or each answer waits for the client's kernel

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if self.headers.get("Authorization") != f"token {TOKEN}":
                status, answer, headers = 401, {"message": "Bad credentials"}, {}
            else:
                status, answer, headers = hub.answer(self.command, self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = handle_any  # noqa: N815 - the names that http.server calls

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
