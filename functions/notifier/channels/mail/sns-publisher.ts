/** Publishes to an SNS topic. Every address that has confirmed its subscription gets the mail. */

import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import type { Mail } from '../kind/channel-kind.ts';

/** A sender may hold the channel for longer than this, so a topic that does not answer delays no later sender. */
const TIMEOUT_MS = 10_000;

export function createSnsPublisher(client: SNSClient, topicArn: string): (mail: Mail) => Promise<void> {
  return async ({ subject, body }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: body });
    await client.send(command, { abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
  };
}
