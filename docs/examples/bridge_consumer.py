"""Consumes events of Operations Bridge with Python 3.9 or newer and its standard library alone.

Copy this file into your project. As a Lambda function behind an SQS queue, its handler is `bridge_consumer.handler`.
Every event is a dictionary as EventBridge delivers it: `source`, `detail-type`, `detail`.
"""

import base64
import hashlib
import hmac
import json
import time
from collections import OrderedDict

SOURCE = "operations-bridge"

# Standard Webhooks (https://www.standardwebhooks.com) accepts a message for five minutes, because of replays.
TOLERANCE_SECONDS = 300

# The fields that this consumer uses. Every event of the type has them; the JSON Schemas list the others.
REQUIRED = {
    "Operation State Changed": ("id", "account_id", "project_id", "operation_id", "action", "status", "sequence", "new_failures"),
    "Command Settled": ("id", "command", "call", "outcome"),
}


class SignatureError(Exception):
    """The request does not come from the holder of the secret, or it is too old. Answer it with 400."""


def parse_bridge_event(event):
    """Returns (detail type, detail), or None for what is not an event of the bridge or is of no use here.

    Raises ValueError when a field is missing. Ignores fields that it does not know, because events gain fields.
    """
    if not isinstance(event, dict) or event.get("source") != SOURCE:
        return None
    detail_type, detail = event.get("detail-type"), event.get("detail")
    if detail_type not in REQUIRED:
        return None
    missing = [name for name in REQUIRED[detail_type] if name not in detail]
    if missing:
        raise ValueError(f"{detail_type} lacks {', '.join(missing)}")
    return detail_type, detail


def verify_signature(body, headers, secrets, now=time.time):
    """Returns the parsed body of a webhook or a forwarded event; body is the bytes as they were received.

    Give it the old and the new secret while you change the secret. Raises SignatureError.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = lower["webhook-id"], lower["webhook-timestamp"]
        signatures = lower["webhook-signature"].split(" ")
        age_seconds = now() - int(timestamp)
    except (KeyError, ValueError):
        raise SignatureError("a header of Standard Webhooks is missing or is not readable") from None
    if abs(age_seconds) > TOLERANCE_SECONDS:
        raise SignatureError("the message was signed more than five minutes ago, or later than now")
    signed = f"{message_id}.{timestamp}.".encode() + body
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        if any(hmac.compare_digest(expected, signature) for signature in signatures):
            return json.loads(body)
    raise SignatureError("no signature fits")


class Recent:
    """Remembers the highest number of each key, and forgets the keys that came first."""

    def __init__(self, keys_max=10_000):
        self._numbers = OrderedDict()
        self._keys_max = keys_max

    def rises(self, key, number):
        """Records the number. Returns whether it is above every number that was recorded for the key."""
        known = self._numbers.pop(key, 0)
        self._numbers[key] = max(known, number)
        if len(self._numbers) > self._keys_max:
            self._numbers.popitem(last=False)
        return number > known


seen_ids = Recent()
sequences = Recent()


def is_news(detail_type, detail):
    """Says whether an event is neither a copy nor older than what is known of its operation."""
    if not seen_ids.rises(detail["id"], 1):
        return False
    if detail_type != "Operation State Changed":
        return True
    key = (detail["account_id"], detail["project_id"], detail["operation_id"])
    return sequences.rises(key, detail["sequence"])


def handle(event):
    """Returns one sentence about an event that is news, and None for any other. Replace it with your own work."""
    parsed = parse_bridge_event(event)
    if parsed is None or not is_news(*parsed):
        return None
    detail_type, detail = parsed
    if detail_type == "Command Settled":
        return f"{detail['call']} by {detail['command']['client_id']}: {detail['outcome']}"
    return f"{detail['action']} of {detail['project_id']} is {detail['status']}, {detail['new_failures']} failed"


def handler(batch, _context=None):
    """Handles an SQS batch of Lambda, and reports each message that failed, so that only these come again."""
    failures = []
    for message in batch["Records"]:
        try:
            sentence = handle(json.loads(message["body"]))
            if sentence is not None:
                print(sentence)
        except Exception as error:  # One bad message must not hold back the others.
            print(f"message {message['messageId']}: {type(error).__name__}: {error}")
            failures.append({"itemIdentifier": message["messageId"]})
    return {"batchItemFailures": failures}
