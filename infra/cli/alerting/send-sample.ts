/** Sends a sample through the production rendering and adapter of a channel, marked as a test. */

import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import { CHANNEL_KINDS, type ChannelName } from '../../../functions/notifier/channels/channels.ts';
import type { SendResult } from '../../../functions/notifier/channels/kind/channel.ts';
import { createSnsPublisher } from '../../../functions/notifier/channels/mail/sns-publisher.ts';
import type { Message } from '../../../functions/notifier/deciding/messages/message-plan.ts';
import { notifierEnvironment } from '../../../functions/notifier/environment.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { createSecretKeySource } from '../../../shared/runtime/secret-key-source.ts';
import { UsageError } from '../../process/option-values.ts';
import type { LocalRun } from '../connection/local-run.ts';
import type { SampleTarget } from './sample-target.ts';

export type SampleResult = SendResult | { readonly kind: 'not_taken' };

/**
 * Resolves to what the channel answered, and to `not_taken` when the channel gets no such message. Throws `UsageError`
 * when the channel's secret cannot be used.
 */
export async function sendSample(
  message: Message,
  target: SampleTarget,
  links: { readonly consoleBaseUrl?: string | undefined },
  clock: Clock,
): Promise<SampleResult> {
  const kind = kindOf(target.channel);
  const settings = clientSettingsOf(target.run);
  const secret = kind.secret && (await usableSecret(target, settings, clock));
  const sns = new SNSClient(settings);
  const parts = {
    secretOf: () => ({ current: async () => secret ?? createSecret('') }),
    publisherOf: (topicArn: string) => createSnsPublisher(sns, topicArn),
    fetch,
    links,
    clock,
  };
  try {
    const sender = kind.create(environmentOf(target), parts);
    if (sender === undefined) throw new UsageError(`The channel ${target.channel} is not set up.`);
    const test = message.map((notices) => notices.map((notice) => ({ ...notice, is_test: true })));
    const taken = test.flat().some((notice) => sender.takes?.(notice) ?? true);
    return taken ? await sender.send(test) : { kind: 'not_taken' };
  } finally {
    sns.destroy();
  }
}

function kindOf(channel: ChannelName) {
  const kind = CHANNEL_KINDS.find(({ name }) => name === channel);
  if (kind === undefined) throw new UsageError(`There is no channel ${channel}.`);
  return kind;
}

/** Each kind is created as in production, so its variables say that it is set up. */
function environmentOf({ channel, topicArn }: SampleTarget) {
  const { secret, topicVariable } = kindOf(channel);
  return notifierEnvironment.parse({
    TABLE_NAME: 'a-test-reads-no-table',
    ...(secret !== undefined && { [secret.variable]: channel }),
    ...(topicVariable !== undefined && { [topicVariable]: topicArn }),
  });
}

/** The error does not repeat the text, which is a secret. */
async function usableSecret(
  target: SampleTarget,
  settings: ReturnType<typeof clientSettingsOf>,
  clock: Clock,
): Promise<Secret> {
  const secret =
    target.secretText === undefined
      ? await readSecret(target.secretId, settings, clock)
      : createSecret(target.secretText);
  const fault = kindOf(target.channel).secret?.faultOf(secret.reveal().trim());
  if (fault !== undefined) throw new UsageError(`The secret of ${target.channel} ${fault}`);
  return secret;
}

async function readSecret(
  secretId: string,
  settings: ReturnType<typeof clientSettingsOf>,
  clock: Clock,
): Promise<Secret> {
  const secrets = new SecretsManagerClient(settings);
  try {
    return await createSecretKeySource(secrets, secretId, clock).current();
  } catch (error) {
    const { name, message } = toError(error);
    const reason = name === 'Error' ? message : name;
    throw new UsageError(`The secret ${secretId} cannot be read (${reason}); --secret names another one.`);
  } finally {
    secrets.destroy();
  }
}

/** The local AWS checks only the id of the access key. */
function clientSettingsOf(run: LocalRun | undefined) {
  if (run === undefined) return {};
  const credentials = { accessKeyId: run.access_key_id, secretAccessKey: 'unused' };
  return { endpoint: run.aws_endpoint, region: 'us-east-1', credentials };
}
