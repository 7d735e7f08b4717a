/** Replays events from the archive of the bus to one rule, and follows the replay (EventBridge API: StartReplay). */

import {
  DescribeReplayCommand,
  type DescribeReplayCommandOutput,
  type EventBridgeClient,
  StartReplayCommand,
} from '@aws-sdk/client-eventbridge';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError, toError } from '../../../shared/runtime/errors.ts';
import { UsageError } from '../../process/option-values.ts';
import type { ReplayRange } from './preview-replay.ts';

export interface ArchiveReplay {
  readonly name: string;
  readonly ruleArn: string;
  readonly busArn: string;
  readonly archiveArn: string;
  readonly region: string;
}

const RULE_ARN = /^arn:([\w-]+):events:([\w-]+):(\d{12}):rule\/([\w.-]+)\/([\w.-]+)$/;

/** The archive of the bridge has the name of its bus, unless `archiveName` says otherwise. Throws `UsageError`. */
export function archiveReplayOf(
  ruleArn: string,
  archiveName: string | undefined,
  name: string,
): ArchiveReplay {
  const [, partition, region = '', account, bus] = RULE_ARN.exec(ruleArn) ?? [];
  if (bus === undefined)
    throw new UsageError(
      `--rule is "${ruleArn}"; it takes the ARN of a rule of the bus, such as arn:aws:events:eu-central-1:123456789012:rule/operations-bridge/orders.`,
    );
  const prefix = `arn:${partition}:events:${region}:${account}`;
  return {
    name,
    ruleArn,
    region,
    busArn: `${prefix}:event-bus/${bus}`,
    archiveArn: `${prefix}:archive/${archiveName ?? bus}`,
  };
}

/** Throws `UsageError` when EventBridge does not start it, because then the rule, the archive or the credentials are wrong. */
export async function startArchiveReplay(
  client: EventBridgeClient,
  { name, ruleArn, busArn, archiveArn }: ArchiveReplay,
  { since, until }: ReplayRange,
  signal: AbortSignal,
): Promise<void> {
  const command = new StartReplayCommand({
    ReplayName: name,
    EventSourceArn: archiveArn,
    EventStartTime: new Date(since),
    EventEndTime: new Date(until),
    Destination: { Arn: busArn, FilterArns: [ruleArn] },
  });
  try {
    await client.send(command, { abortSignal: signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new UsageError(
      `EventBridge did not start the replay (${reasonOf(error)}); check the AWS credentials, --rule and --archive.`,
      { cause: error },
    );
  }
}

/** Replays move by minutes of the archive, so more requests would show nothing more. */
const LOOK_MS = 5_000;

const ENDED: ReadonlySet<string> = new Set(['COMPLETED', 'CANCELLED', 'FAILED']);

export interface ArchiveOutcome {
  readonly state: string;
  readonly reason?: string | undefined;
}

/** Resolves once the replay has ended. Rejects when the signal aborts or AWS gives no answer; the replay goes on then. */
export async function followArchiveReplay(
  client: EventBridgeClient,
  { name }: ArchiveReplay,
  { clock, signal, note }: { clock: Clock; signal: AbortSignal; note: (sentence: string) => void },
): Promise<ArchiveOutcome> {
  let shown = '';
  for (;;) {
    const answer = await describeReplay(client, name, signal);
    const { State: state = 'unknown', StateReason: reason } = answer;
    const sentence = progressOf(answer);
    if (sentence !== shown) note(sentence);
    shown = sentence;
    if (ENDED.has(state)) return { state, reason };
    await clock.sleep(LOOK_MS, signal);
  }
}

async function describeReplay(
  client: EventBridgeClient,
  name: string,
  signal: AbortSignal,
): Promise<DescribeReplayCommandOutput> {
  try {
    return await client.send(new DescribeReplayCommand({ ReplayName: name }), { abortSignal: signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new AppError(
      'replay_not_followed',
      `The replay ${name} goes on, but it cannot be followed (${reasonOf(error)}); "aws events describe-replay --replay-name ${name}" shows it.`,
      { cause: error },
    );
  }
}

function reasonOf(thrown: unknown): string {
  const { name, message } = toError(thrown);
  return `${name}: ${message}`;
}

function progressOf({ State, EventLastReplayedTime }: DescribeReplayCommandOutput): string {
  const reached =
    EventLastReplayedTime === undefined ? '' : `, sent up to ${EventLastReplayedTime.toISOString()}`;
  return `The replay is ${(State ?? 'unknown').toLowerCase()}${reached}.`;
}
