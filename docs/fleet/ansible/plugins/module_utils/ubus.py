# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON-RPC client for a gateway's /ubus, based on the standard library.

Uses a connection per call, so an answer after a change proves that the gateway is reachable."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request

NOBODY = "0" * 32
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LONGEST_ANSWER = 16 * 1024 * 1024
# JSON-RPC code of an expired session or a missing right.
DENIED = -32002
# ubus codes of an unknown method or object.
ABSENT = {-32000, 3, 4}


class Unreachable(Exception):
    """No answer, or an answer other than JSON-RPC."""


class Denied(Exception):
    """The session has expired, or the account has no right to the method."""


class Refused(Exception):
    """The gateway refuses a call; `error` has a code and a text."""

    def __init__(self, method, error):
        self.error = error if isinstance(error, dict) else {"code": "failed", "text": str(error)}
        super().__init__(f"{method}: {self.error.get('text', self.error.get('code'))}")

    @property
    def code(self):
        return self.error.get("code")


class Gateway:
    """An account at a gateway; logs in on demand."""

    def __init__(self, url, username, password, timeout=10.0, context=None):
        self.url = url.rstrip("/") + ("" if url.rstrip("/").endswith("/ubus") else "/ubus")
        self.username = username
        self.password = password
        self.timeout = timeout
        # Without TLS, a proxy would see the password.
        proxies = None if self.url.startswith("https:") else {}
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler(proxies)
        )
        self.session = None

    @property
    def in_clear(self):
        """Reports whether the password crosses a network unencrypted."""
        return self.url.startswith("http:") and self.host not in LOOPBACK

    @property
    def host(self):
        return urllib.parse.urlsplit(self.url).hostname

    def call(self, name, method, arguments=None):
        """Returns the answer of a method; logs in first, and again if the session has expired."""
        fresh = self.session is None
        if fresh:
            self.login()
        try:
            return self._call(self.session, name, method, arguments or {})
        except Denied:
            if fresh:
                raise
        self.login()
        return self._call(self.session, name, method, arguments or {})

    def login(self):
        nonce = self._call(NOBODY, "fastpath.access", "begin", {}).get("nonce")
        arguments = {"username": self.username, "password": self.password, "nonce": nonce}
        answer = self._call(NOBODY, "fastpath.access", "login", arguments)
        self.session = answer.get("ubus_rpc_session")
        if not self.session:
            raise Refused("login", "the answer has no session")

    def _call(self, session, name, method, arguments):
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "call",
            "params": [session, name, method, arguments],
        }
        answer = self._post(json.dumps(request).encode())
        label = f"{name} {method}"
        if answer.get("error") is not None:
            error = answer["error"]
            if isinstance(error, dict) and error.get("code") == DENIED:
                raise Denied(f"{label}: access denied for {self.username}")
            text = error.get("message") if isinstance(error, dict) else str(error)
            raise Refused(label, {"code": "rpc", "text": text})
        result = answer.get("result")
        if not isinstance(result, list) or not result:
            raise Unreachable(f"{label}: not an answer of JSON-RPC")
        if result[0] != 0:
            text = f"status {result[0]} of ubus"
            if result[0] in ABSENT:
                text += ": is fastpath installed there?"
            raise Refused(label, {"code": "status", "text": text})
        reply = result[1] if len(result) > 1 else {}
        if isinstance(reply, dict) and reply.get("error") is not None:
            raise Refused(label, reply["error"])
        return reply

    def _post(self, body):
        request = urllib.request.Request(
            self.url, data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with self.opener.open(request, timeout=self.timeout) as answer:
                body = answer.read(LONGEST_ANSWER + 1)
            if len(body) > LONGEST_ANSWER:
                raise ValueError(f"the answer is longer than {LONGEST_ANSWER} bytes")
            return json.loads(body)
        # The connection breaks while the answer is read, or another server answers.
        except (OSError, ValueError, EOFError) as error:
            raise Unreachable(f"{self.url}: {getattr(error, 'reason', error)}") from error
        except Exception as error:  # http.client has its own exceptions
            raise Unreachable(f"{self.url}: {type(error).__name__}: {error}") from error


def tls(validate, ca_path=None):
    """Returns the context for verifying a certificate, or None for the default."""
    if validate:
        return ssl.create_default_context(cafile=ca_path) if ca_path else None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
