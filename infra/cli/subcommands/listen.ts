/** `operations-bridge listen` shows the events of a bridge as they happen, and forwards them to a URL. */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { DETAIL_TYPES } from '../../../shared/events/event-names.ts';
import { EXIT_CODES, parseDuration, parseInteger, UsageError } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { withDeadline } from '../../process/time.ts';
import { type BridgeClient, createBridgeClient } from '../bridge-client.ts';
import type { FindConnection } from '../connection.ts';
import { listen, parseSince, positionFileOf, readPosition } from '../feed.ts';
import { createEventTarget, SIGNING_VARIABLE, signingSecret, type TargetValues } from '../forwarding.ts';
import { type Asked, asking } from './subcommand.ts';

interface ListenValues extends TargetValues {
  readonly account?: string;
  readonly project?: string;
  readonly status?: string;
  readonly action?: string;
  readonly type?: string;
  readonly since?: string;
  readonly for?: string;
  readonly count?: string;
}

export const listenSubcommand = asking<ListenValues>({
  usage: 'listen',
  summary: 'Shows the events of a bridge as they happen, and forwards each to a URL.',
  description:
    'It needs the address of the bridge and a token with operations:read, and finds a bridge on this machine by itself. ' +
    'It goes on where the last run with the same bridge, filters and target has stopped. ' +
    `Forwarded events are signed by Standard Webhooks with the secret in ${SIGNING_VARIABLE}, or with one that is made at the first use. ` +
    'A copy of an event has the same webhook-id.',
  examples: [
    'operations-bridge listen',
    'operations-bridge listen --forward http://127.0.0.1:3000/hook',
    'operations-bridge listen --status failed --since 2h --json',
  ],
  exitCodes: {
    succeeded: 'Ctrl-C, --for or --count ended it, and the URL has accepted every event',
    failed: 'the URL has refused at least one event for good',
  },
  options: [
    ['--account <id>', 'refuses to run if the token belongs to another account'],
    ['--project <id>', 'only events of this project'],
    ['--status <status>', 'only events with this status, such as failed'],
    ['--action <action>', 'only events of this action, such as create_branch'],
    ['--type <detail-type>', 'only events of this type, such as "Command Settled"'],
    ['--forward <url>', 'posts each event to this URL'],
    ['--attempts <n>', 'attempts for an event that the URL answers with an error', '8'],
    ['--since <when>', 'begins at a time, 10m or 2h ago, now, beginning, or at a cursor of the feed'],
    ['--for <d>', 'stops after a duration such as 90s, 5m or 2h'],
    ['--count <n>', 'stops after this number of events'],
    ['--json', 'prints each event as a line of JSON, as EventBridge would deliver it'],
  ],
  act: runListen,
});

async function runListen(asked: Asked<ListenValues>): Promise<void> {
  const { environment, clock, note, exitWith, values } = asked;
  const forMs = values.for === undefined ? undefined : parseDuration('for', values.for);
  const signal = withDeadline(asked.signal, forMs, clock);
  const find = await asked.find();
  const client = createBridgeClient(find, { ...asked, signal });
  if (values.account !== undefined) await checkAccount(client, values.account);
  const file = positionFileOf(environment, streamOf(values, find));
  const kept = values.since === undefined ? readPosition(file) : undefined;
  const target = createEventTarget(values, { ...asked, signal });
  noteBeginning(values, kept?.last_time, asked);
  await listen({
    reader: {
      client,
      filter: filterOf(values),
      clock,
      signal,
      onOutage: (sentence) =>
        note(sentence === undefined ? 'The bridge answers again.' : `${sentence} Trying again.`),
    },
    start: parseSince(values.since ?? 'now', clock.now()),
    kept,
    positionFile: file,
    handle: target.handle,
    onNewFeed: (from) =>
      note(`The bridge does not know the position of the last run; going on from ${from}.`),
    eventsMax: parseInteger('count', values.count ?? '1000000000', { min: 1, max: 1_000_000_000 }),
  });
  if (target.givenUpCount() === 0) return;
  note(`${target.givenUpCount()} events were refused for good.`);
  exitWith(EXIT_CODES.failed);
}

async function checkAccount(client: BridgeClient, account: string): Promise<void> {
  const me = await client.read(
    { method: 'GET', path: '/bridge/v1/me' },
    z.looseObject({ account_id: z.string() }),
  );
  if (me.account_id === account) return;
  throw new UsageError(
    `The token belongs to the account "${me.account_id}" and not to "${account}"; use a token of that account.`,
  );
}

function filterOf({ project, status, action, type }: ListenValues) {
  return { project_id: project, status, action, detail_type: type && detailTypeNamed(type) };
}

/** Finds the type that a person means, in any case and with hyphens for spaces. Throws `UsageError`. */
export function detailTypeNamed(name: string): string {
  const types = Object.values(DETAIL_TYPES);
  const found = types.find((type) => type.toLowerCase() === name.toLowerCase().replaceAll('-', ' '));
  if (found !== undefined) return found;
  throw new UsageError(`--type is "${name}"; it takes ${types.join(', ')}.`);
}

/** The address of a bridge on this machine changes with each start, and does not tell two streams apart. */
function streamOf(values: ListenValues, find: FindConnection): readonly (string | undefined)[] {
  const connection = find();
  const place = connection === undefined || connection.isLocalRun ? 'this machine' : connection.url;
  const { account, project, status, action, type, forward } = values;
  return [place, account, project, status, action, type, forward];
}

function noteBeginning(
  values: ListenValues,
  lastTime: string | undefined,
  { environment, note }: Surroundings,
): void {
  const start =
    lastTime === undefined
      ? `from ${values.since ?? 'now'} on`
      : `where the last run stopped, after ${lastTime} (--since now begins anew)`;
  note(`Listening ${start}; Ctrl-C ends it.`);
  if (values.forward === undefined) return;
  const secret = signingSecret(environment);
  const fingerprint = createHash('sha256').update(secret).digest('hex').slice(0, 8);
  note(
    environment[SIGNING_VARIABLE] === undefined
      ? `Events are signed for ${values.forward} with ${secret}`
      : `Events are signed for ${values.forward} with the secret in ${SIGNING_VARIABLE} (SHA-256 ${fingerprint}...).`,
  );
}
