/** E-mail through an SNS topic: whoever is subscribed and has confirmed gets it. */

import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import type { Mail } from './render-mail.ts';

/** Below the hold of a channel: a topic that is silent must not keep others from sending. */
const TIMEOUT_MS = 10_000;

export function createSnsPublisher(client: SNSClient, topicArn: string): (mail: Mail) => Promise<void> {
  return async ({ subject, body }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: body });
    await client.send(command, { abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
  };
}
