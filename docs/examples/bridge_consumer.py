"""Consumes events of Operations Bridge with Python 3.9 or newer and its standard library alone.

Copy this file into your project. As a Lambda function behind an SQS queue, its handler is `bridge_consumer.handler`, and
the event source mapping needs `ReportBatchItemFailures`: without it Lambda deletes also the messages that have failed.
Every event is a dictionary as EventBridge delivers it: `source`, `detail-type`, `detail`.
"""

import base64
import hashlib
import hmac
import json
import math
import threading
import time
import uuid
from collections import OrderedDict

SOURCE = "operations-bridge"

# Standard Webhooks (https://www.standardwebhooks.com) accepts a message for five minutes, because of replays.
TOLERANCE_SECONDS = 300

# An effect has this long: a queue of SQS hides a message for as long by default, and then delivers it again.
RUNNING_SECONDS_MAX = 30

# The archive of the bus keeps 30 days, and a replay from the table reaches back 200 days.
KEPT_DAYS = 200

# What `begin` answers when the caller must not carry out the effect.
OLD, RUNNING = "old", "running"

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


class MarkLost(Exception):
    """The effect took longer than its mark counts, and another effect has begun. Let the event come again."""


class MemoryMarks:
    """Marks which effects have begun and which are done, in the memory of the process. It serves a consumer of one process.

    When the process ends, the marks are gone: no event is lost by that, and effects can be repeated.
    """

    def __init__(self, running_seconds_max=RUNNING_SECONDS_MAX, keys_max=10_000, now=time.time):
        self._done, self._running = OrderedDict(), {}
        self._running_seconds_max, self._keys_max, self._now = running_seconds_max, keys_max, now
        self._lock = threading.Lock()

    def begin(self, key, number):
        """Returns OLD, RUNNING, or a mark on which `done` or `failed` must be called when the effect has ended.

        OLD: an effect of this number or of a higher one is done. RUNNING: another effect of the key has begun and has not
        ended, so the event is neither new nor old, and must come again. A mark counts for `running_seconds_max`.
        """
        with self._lock:
            if self._done.get(key, 0) >= number:
                return OLD
            running = self._running.get(key)
            if running is not None and running.until > self._now():
                return RUNNING
            mark = MemoryMark(self, key, number, self._now() + self._running_seconds_max)
            self._running[key] = mark
            return mark

    def end(self, mark, is_done):
        with self._lock:
            is_mine = self._running.get(mark.key) is mark
            if is_mine:
                del self._running[mark.key]
            if not is_done:
                return
            known = self._done.get(mark.key, 0)
            if not is_mine and known < mark.number:
                raise MarkLost(mark.key)
            self._done[mark.key] = max(known, mark.number)
            self._done.move_to_end(mark.key)
            if len(self._done) > self._keys_max:
                self._done.popitem(last=False)


class MemoryMark:
    def __init__(self, marks, key, number, until):
        self._marks, self.key, self.number, self.until = marks, key, number, until

    def done(self):
        """Raises MarkLost when the mark has expired and another effect has begun."""
        self._marks.end(self, is_done=True)

    def failed(self):
        """Takes the mark back, so that the event is new when it comes again."""
        self._marks.end(self, is_done=False)


class TableMarks:
    """Keeps the same marks in a table of DynamoDB, for a consumer of any number of processes.

    `client` is `boto3.client("dynamodb")`. The table has the partition key `pk`, a string, no sort key, and the time to
    live in `expires_at`. Two consumers under one name would take the events of each other for their own.
    """

    def __init__(self, client, table_name, consumer, running_seconds_max=RUNNING_SECONDS_MAX, now=time.time):
        self._client, self._table_name, self._consumer = client, table_name, consumer
        self._running_seconds_max, self._now = running_seconds_max, now

    def begin(self, key, number):
        """Returns what `MemoryMarks.begin` returns."""
        mark, now = TableMark(self, key, number), self._now()
        if self.update(
            key,
            "SET running_by = :owner, running_until = :until, expires_at = :expires",
            "(attribute_not_exists(done_number) OR done_number < :number)"
            " AND (attribute_not_exists(running_until) OR running_until <= :now)",
            {
                ":owner": {"S": mark.owner},
                ":until": {"N": str(round((now + self._running_seconds_max) * 1000))},
                ":expires": {"N": str(math.ceil(now) + KEPT_DAYS * 86_400)},
                ":number": {"N": str(number)},
                ":now": {"N": str(round(now * 1000))},
            },
        ):
            return mark
        item = self.read(key)
        if done_number(item) >= number:
            return OLD
        # boto3 repeats a write whose reply was lost, and then the condition meets the mark of the first attempt.
        return mark if item.get("running_by") == {"S": mark.owner} else RUNNING

    def read(self, key):
        answer = self._client.get_item(TableName=self._table_name, Key=self._key(key), ConsistentRead=True)
        return answer.get("Item", {})

    def update(self, key, expression, condition, values):
        """Returns whether the condition held."""
        try:
            self._client.update_item(
                TableName=self._table_name,
                Key=self._key(key),
                UpdateExpression=expression,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
            )
            return True
        except self._client.exceptions.ConditionalCheckFailedException:
            return False

    def _key(self, key):
        return {"pk": {"S": f"{self._consumer}/{key}"}}


class TableMark:
    def __init__(self, marks, key, number):
        self._marks, self._key, self._number, self.owner = marks, key, number, str(uuid.uuid4())

    def done(self):
        """Raises MarkLost when the mark has expired and another effect has begun."""
        values = {":owner": {"S": self.owner}, ":number": {"N": str(self._number)}}
        expression = "SET done_number = :number REMOVE running_by, running_until"
        is_recorded = self._marks.update(self._key, expression, "running_by = :owner", values)
        if not is_recorded and done_number(self._marks.read(self._key)) < self._number:
            raise MarkLost(self._key)

    def failed(self):
        """Takes the mark back, so that the event is new when it comes again."""
        values = {":owner": {"S": self.owner}}
        self._marks.update(self._key, "REMOVE running_by, running_until", "running_by = :owner", values)


def done_number(item):
    return int(item.get("done_number", {"N": "0"})["N"])


def mark_of(detail_type, detail, states):
    """Returns what the effect of an event is about, and which state of it, for `begin`."""
    if states == "latest" and detail_type == "Operation State Changed":
        return json.dumps([detail_type, detail["account_id"], detail["project_id"], detail["operation_id"]]), detail["sequence"]
    return detail["id"], 1


def if_new(event, marks, effect, states="every"):
    """Calls effect(detail_type, detail) unless the effect of the event is done, and returns whether it was called.

    With states="latest" an event is old, too, once the effect of a later event of its operation is done, because
    EventBridge keeps no order. Raises when the effect fails and when an effect of the event runs at present: in both
    cases the event must come again.
    """
    parsed = parse_bridge_event(event)
    if parsed is None:
        return False
    key, number = mark_of(*parsed, states)
    mark = marks.begin(key, number)
    if mark == OLD:
        return False
    if mark == RUNNING:
        raise RuntimeError(f"an effect for {key} runs at present, so the event must come again")
    try:
        effect(*parsed)
    except BaseException:
        take_back(mark)
        raise
    mark.done()
    return True


def take_back(mark):
    """A mark that cannot be taken back expires; what people need to know is why the effect failed."""
    try:
        mark.failed()
    except Exception as error:
        print(f"the mark stays until it expires: {type(error).__name__}: {error}")


def for_each_new(records, marks, effect, states="every"):
    """Handles a batch of SQS, and returns what Lambda must not delete from the queue: each message that failed."""
    failures = []
    for message in records:
        try:
            if_new(json.loads(message["body"]), marks, effect, states)
        except Exception as error:  # One bad message must not hold back the others.
            print(f"message {message['messageId']} goes back to the queue: {type(error).__name__}: {error}")
            failures.append({"itemIdentifier": message["messageId"]})
    return {"batchItemFailures": failures}


# A function that runs in several processes uses TableMarks(boto3.client("dynamodb"), "event-marks", "my-consumer").
marks = MemoryMarks()


def tell(detail_type, detail):
    """Prints one sentence about an event. Replace it with your own work."""
    if detail_type == "Command Settled":
        print(f"{detail['call']} by {detail['command']['client_id']}: {detail['outcome']}")
    else:
        print(f"{detail['action']} of {detail['project_id']} is {detail['status']}, {detail['new_failures']} failed")


def handler(batch, _context=None):
    """Handles an SQS batch of Lambda. Its answer names the messages that must come again."""
    return for_each_new(batch["Records"], marks, tell, states="latest")
