/** Sets up the alert channels of a local run: secrets from the environment of `npm start`, and a topic that shows its mails. */

import { CHANNEL_KINDS } from '../../functions/notifier/channels/channels.ts';
import { UsageError } from '../process/option-values.ts';
import type { LocalAws } from './aws/local-aws.ts';
import type { TopicMessage } from './aws/services/topics.ts';

/** `npm start` takes the secret of each channel from a variable, whose name is the key here. */
export type ChannelSecrets = Readonly<Record<string, string | undefined>>;

/** The mails of a local run go through this topic. */
export const LOCAL_TOPIC_ARN = 'arn:aws:sns:us-east-1:000000000000:operations-bridge-alerts';

/** Returns the name of the secret of a channel, as a local run keeps it. */
export function localSecretIdOf(channel: string): string {
  return `operations-bridge/channel-${channel}`;
}

/** Returns the channels' variables in the notifier's environment. Throws `UsageError` before anything is set up. */
export function setUpChannels(
  aws: Pick<LocalAws, 'secrets' | 'topics'>,
  secrets: ChannelSecrets,
  onMail: (message: TopicMessage) => void,
): Readonly<Record<string, string>> {
  checkSecrets(secrets);
  const environment: Record<string, string> = {};
  for (const { name, secret, topicVariable } of CHANNEL_KINDS) {
    const text = secret && secrets[secret.localVariable];
    if (secret !== undefined && text !== undefined) {
      const secretId = localSecretIdOf(name);
      aws.secrets.create(secretId, text);
      environment[secret.variable] = secretId;
    }
    if (topicVariable !== undefined) {
      aws.topics.create(LOCAL_TOPIC_ARN, onMail);
      environment[topicVariable] = LOCAL_TOPIC_ARN;
    }
  }
  return environment;
}

function checkSecrets(secrets: ChannelSecrets): void {
  for (const { secret } of CHANNEL_KINDS) {
    const text = secret && secrets[secret.localVariable];
    const fault = text === undefined ? undefined : secret?.faultOf(text);
    if (fault !== undefined) throw new UsageError(`${secret?.localVariable} ${fault}`);
  }
}
