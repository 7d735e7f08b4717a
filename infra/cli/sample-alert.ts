/**
 * Makes one message of each kind of alert from the catalog's example events, for the documentation and for tests of a
 * channel, decides from the options where such a sample goes, and sends it through the production rendering and
 * adapter of the channel, marked as a test.
 */

import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import type { SendResult } from '../../functions/notifier/channels/channel.ts';
import {
  CHANNEL_KINDS,
  CHANNEL_NAMES,
  type ChannelName,
} from '../../functions/notifier/channels/channels.ts';
import { createSnsPublisher } from '../../functions/notifier/channels/email.ts';
import { digestOf } from '../../functions/notifier/deciding/digest.ts';
import type { Message, Notice } from '../../functions/notifier/deciding/notice.ts';
import { noticeOf } from '../../functions/notifier/deciding/notice-of-event.ts';
import type { AlertLinks } from '../../functions/notifier/deciding/wording.ts';
import { notifierEnvironment } from '../../functions/notifier/environment.ts';
import { APPROVAL_DETAIL_TYPE, type ApprovalEvent } from '../../shared/events/approval-event.ts';
import * as catalog from '../../shared/events/catalog.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { createSecret, type Secret } from '../../shared/runtime/secret.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { LOCAL_TOPIC_ARN, localSecretIdOf } from '../local/queue-functions.ts';
import { UsageError } from '../process/command.ts';
import type { Environment } from '../process/surroundings.ts';
import type { LocalRun } from './connection.ts';

export interface AlertSample {
  readonly name: string;
  readonly message: Message;
}

const SAMPLE_LINKS: AlertLinks = {
  consoleBaseUrl: 'https://bridge.example.com',
  runbookUrl: 'https://bridge.example.com/runbook',
};

/** Returns the message as each channel shows it. A channel that does not get such a message is left out. */
export function samplesOf(message: Message) {
  return CHANNEL_KINDS.flatMap(({ guide }) => guide.sampleOf(message, SAMPLE_LINKS) ?? []);
}

const failed = {
  ...catalog.operationStateChanged.example,
  previous_status: 'running',
  status: 'failed',
  terminal: false,
  failures_count: 1,
  new_failures: 1,
  error: 'storage unavailable',
  command: { client_id: 'deployer', request_id: '2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10' },
};

const { detailType: stateChanged } = catalog.operationStateChanged;
const { detailType: usageCrossed } = catalog.projectUsageCrossed;

export function alertSamples(): readonly AlertSample[] {
  return [
    single('failed', stateChanged, failed),
    single('escalated', stateChanged, { ...failed, failures_count: 3 }),
    single('given_up', stateChanged, { ...failed, status: 'error', terminal: true, failures_count: 4 }),
    single('attempt_failed', stateChanged, { ...failed, status: 'running', error: undefined }),
    single('recovered', stateChanged, {
      ...failed,
      status: 'finished',
      terminal: true,
      new_failures: 0,
      error: undefined,
    }),
    single('stalled', catalog.operationStalled.detailType, catalog.operationStalled.example),
    single('stall_ended', stateChanged, {
      ...catalog.operationStateChanged.example,
      ...operationOf(catalog.operationStalled.example),
      status: 'finished',
      was_stalled: true,
    }),
    single('not_retried', catalog.operationWatchEnded.detailType, catalog.operationWatchEnded.example),
    single('vanished', catalog.operationWatchEnded.detailType, {
      ...catalog.operationWatchEnded.example,
      reason: 'vanished',
      status: 'running',
    }),
    single('first_sight', catalog.accountWatched.detailType, catalog.accountWatched.example),
    single('budget_nearly_used', usageCrossed, catalog.projectUsageCrossed.example),
    single('budget_used_up', usageCrossed, {
      ...catalog.projectUsageCrossed.example,
      used: 360_120,
      percent: 100,
      threshold_percent: 100,
    }),
    single('account_degraded', catalog.accountDegraded.detailType, catalog.accountDegraded.example),
    single('account_recovered', catalog.accountRecovered.detailType, catalog.accountRecovered.example),
    single('approval_wanted', APPROVAL_DETAIL_TYPE, approval),
    single('approval_ended', APPROVAL_DETAIL_TYPE, { ...approval, state: 'denied', decided_by: 'marta' }),
    { name: 'channel_deaf', message: [[deafChannel()]] },
    { name: 'hourly_digest', message: [[hourlyDigest()]] },
    {
      name: 'digest',
      message: [Array.from({ length: 4 }, (_, index) => failure(index, 'solitary-cell-58208823'))],
    },
    {
      name: 'storm',
      message: Array.from({ length: 6 }, (_, index) => [
        { ...failure(index, `quiet-pond-1234567${index}`), alike: COMMON_CAUSE },
      ]),
    },
  ];
}

const approval: ApprovalEvent = {
  schema: 1,
  id: '2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10-wanted',
  account_id: 'main',
  observed_at: failed.observed_at,
  project_id: 'solitary-cell-58208823',
  approval_id: '2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10',
  client_id: 'agent',
  call: 'deleteProject',
  request: 'DELETE /projects/solitary-cell-58208823',
  state: 'wanted',
  expires_at: new Date(Date.parse(failed.observed_at) + 86_400_000).toISOString(),
};

function operationOf({
  operation_id,
  project_id,
  action,
  branch_id,
}: typeof catalog.operationStalled.example) {
  return { operation_id, project_id, action, branch_id, endpoint_id: undefined };
}

function single(name: string, detailType: string, detail: object): AlertSample {
  return { name, message: [[noticeFrom(detailType, detail)]] };
}

/** Makes the alert about a channel whose address is not found. */
function deafChannel(): Notice {
  const observed_at = failed.observed_at;
  return {
    id: 'sample-deaf',
    kind: 'channel_deaf',
    severity: 'critical',
    account_id: 'bridge',
    channel: 'slack',
    observed_at,
    since: new Date(Date.parse(observed_at) - 600_000).toISOString(),
    reason: 'host not found, ENOTFOUND',
    waiting_count: 12,
  };
}

/** Makes the digest of five operations that healed within an hour, and of what was held back in it. */
function hourlyDigest(): Notice {
  const healed = [healedAction('start_compute', 3, 4), healedAction('suspend_compute', 2, 2)];
  const sinceMs = Date.parse(failed.observed_at);
  const counted = { since_ms: sinceMs, by_action: Object.fromEntries(healed), acknowledged_count: 2 };
  const muted = ['a', 'a', 'b'].map((incident) => ({
    incident,
    stored_at_ms: sinceMs + 60_000,
    until_ms: sinceMs + 7_200_000,
  }));
  const digest = digestOf({ healed: counted, muted, lastCount: 9 }, sinceMs + 3_600_000);
  if (digest === undefined) throw new Error('A sample of the digest is not due');
  return digest;
}

function healedAction(action: string, operation_count: number, attempt_count: number) {
  return [action, { operation_count, attempt_count }] as const;
}

function failure(index: number, projectId: string): Notice {
  const operationId = `d6ad21e4-725d-493f-a495-43867ad88d0${index}`;
  const identity = { id: `sample-${index}`, project_id: projectId, operation_id: operationId };
  // A message of many alerts has no context for each of them.
  const {
    last_hour: _lastHour,
    alike: _alike,
    ...notice
  } = noticeFrom(stateChanged, {
    ...failed,
    ...identity,
  });
  return notice;
}

function noticeFrom(detailType: string, detail: object): Notice {
  const notice = noticeOf(detailType, detail);
  if (notice === undefined) throw new Error(`A sample of ${detailType} causes no alert`);
  return notice.action === undefined || notice.severity === 'info'
    ? notice
    : { ...USUALLY, ...(notice.kind !== 'stalled' && CONTEXT), ...notice };
}

/** The notifier adds this to a message of alerts that probably have one cause. */
const COMMON_CAUSE: Notice['alike'] = {
  project_count: 5,
  since: '2026-01-16T20:58:00.000Z',
  usual_count: 0.3,
  is_service: true,
};

/** The notifier adds this when it sends the alert. */
const CONTEXT: Pick<Notice, 'last_hour' | 'alike'> = {
  last_hour: { attempt_count: 4 },
  alike: { project_count: 12, since: '2026-01-16T20:58:00.000Z', usual_count: 2.1, is_service: true },
};

/** The notifier adds this from what operations of the action took. */
const USUALLY: Pick<Notice, 'usual_duration'> = {
  usual_duration: catalog.operationStalled.example.usual_duration,
};

export interface TargetValues {
  readonly to?: string;
  readonly secret?: string;
  readonly topic?: string;
  readonly local?: true;
}

interface SampleTarget {
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
