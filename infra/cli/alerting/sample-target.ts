/** Decides from the options where a sample of an alert goes, and which secret opens the way. */

import {
  CHANNEL_KINDS,
  CHANNEL_NAMES,
  type ChannelName,
} from '../../../functions/notifier/channels/channels.ts';
import { LOCAL_TOPIC_ARN, localSecretIdOf } from '../../local/local-channels.ts';
import { UsageError } from '../../process/option-values.ts';
import type { Environment } from '../../process/surroundings.ts';
import type { LocalRun } from '../connection/local-run.ts';

export interface TargetValues {
  readonly to?: string;
  readonly secret?: string;
  readonly topic?: string;
  readonly local?: true;
}

export interface SampleTarget {
  readonly channel: ChannelName;
  /** The environment holds the secret itself. Without it the secret is read from AWS by `secretId`. */
  readonly secretText?: string;
  readonly secretId: string;
  /** Mails go to this topic. Other channels need none. */
  readonly topicArn?: string;
  /** The channel is that of the bridge on this machine. Without it AWS is asked with the user's credentials. */
  readonly run?: LocalRun;
}

/** Throws `UsageError` when an option is missing or wrong. */
export function sampleTarget(
  values: TargetValues,
  environment: Environment,
  findRun: () => LocalRun | undefined,
): SampleTarget {
  const kind = CHANNEL_KINDS.find(({ name }) => name === values.to);
  if (kind === undefined)
    throw new UsageError(`--to is "${values.to}"; there are the channels ${CHANNEL_NAMES.join(', ')}.`);
  const run = values.local ? (findRun() ?? noRun()) : undefined;
  const { name } = kind;
  if (kind.topicVariable !== undefined) {
    const topicArn = run === undefined ? (values.topic ?? noTopic()) : LOCAL_TOPIC_ARN;
    return { channel: name, secretId: '', topicArn, ...(run && { run }) };
  }
  const given = values.secret === undefined && run === undefined;
  const secretText = given && kind.secret !== undefined ? environment[kind.secret.localVariable] : undefined;
  const secretId = values.secret ?? (run === undefined ? `operations-bridge/${name}` : localSecretIdOf(name));
  return { channel: name, secretId, ...(secretText && { secretText }), ...(run && { run }) };
}

function noRun(): never {
  throw new UsageError(
    'No bridge runs on this machine; run "operations-bridge start", or leave --local out.',
  );
}

function noTopic(): never {
  throw new UsageError(
    '--topic is missing; mails go to the topic <name>-alerts of the deployment, by its ARN.',
  );
}
