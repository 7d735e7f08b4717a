"""Lets `operations-bridge test-consumer` play its cases against bridge_consumer.py, as another consumer can be: copy the loop."""

import json
import os
import sys

import bridge_consumer as consumer


def deliver(marks, texts, failing):
    effects = []

    def effect(_detail_type, detail):
        if detail["id"] in failing:
            raise OSError("this effect fails, because the case wants it")
        effects.append(detail["id"])

    records = [{"messageId": str(number), "body": text} for number, text in enumerate(texts)]
    answer = consumer.for_each_new(records, marks, effect, states="latest")
    return {"effects": effects, "again": [int(each["itemIdentifier"]) for each in answer["batchItemFailures"]]}


def verify(body, headers, secrets):
    try:
        consumer.verify_signature(body.encode(), headers, secrets)
        return {"accepted": True}
    except consumer.SignatureError:
        return {"accepted": False}


def main():
    marks = consumer.MemoryMarks()
    answers, sys.stdout = sys.stdout, open(os.devnull, "w")  # What the consumer prints is no answer.
    for line in sys.stdin:
        question = json.loads(line)
        if "deliver" in question:
            answer = deliver(marks, question["deliver"], question["failing"])
        else:
            answer = verify(**question["verify"])
        print(json.dumps(answer), file=answers, flush=True)


main()
