/** `operations-bridge listen` shows the events of a bridge as they happen, and forwards them to a URL. */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { eventHeading } from '../../local/event-lines.ts';
import { EXIT_CODES, parseDuration, parseInteger, UsageError } from '../../process/command.ts';
import { type Environment, type Surroundings, withDeadline } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../bridge-client.ts';
import type { FindConnection } from '../connection.ts';
import { listen, parseSince, positionFileOf, readPosition } from '../feed.ts';
import { checkProjects, type FilterValues, filterRows, queryOf, readFilters } from '../filters.ts';
import { createEventTarget, SIGNING_VARIABLE, signingSecret, type TargetValues } from '../forwarding.ts';
import { type Asked, asking } from './subcommand.ts';

const FILTERS = ['project', 'status', 'action', 'type'] as const;

interface ListenValues extends TargetValues, FilterValues<(typeof FILTERS)[number]> {
  readonly account?: string;
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
    'operations-bridge listen --status failed --status error --since 2h --json',
  ],
  exitCodes: {
    succeeded: 'Ctrl-C, --for or --count ended it, and the URL has accepted every event',
    failed: 'the URL has refused at least one event for good',
  },
  options: [
    ['--account <id>', 'refuses to run if the token belongs to another account'],
    ...filterRows('events', FILTERS),
    ['--forward <url>', 'posts each event to this URL'],
    ['--attempts <n>', 'attempts for an event that the URL answers with an error', '8'],
    ['--since <when>', 'begins at a time, 10m or 2h ago, now, beginning, or at a cursor of the feed'],
    ['--for <d>', 'stops after a duration such as 90s, 5m or 2h'],
    ['--count <n>', 'stops after this number of events'],
    ['--json', 'prints each event as a line of JSON, as EventBridge would deliver it'],
    [
      '--format <form>',
      'prints JSON, and forwards, in the form eventbridge or cloudevents (CloudEvents 1.0)',
    ],
  ],
  act: runListen,
});

async function runListen(asked: Asked<ListenValues>): Promise<void> {
  const { environment, clock, note, exitWith, values } = asked;
  const forMs = values.for === undefined ? undefined : parseDuration('for', values.for);
  const signal = withDeadline(asked.signal, forMs, clock);
  const find = await asked.find();
  const client = createBridgeClient(find, { ...asked, signal });
  const chosen = readFilters(values, FILTERS, note);
  const file = positionFileOf(environment, streamOf(values, find));
  const kept = values.since === undefined ? readPosition(file) : undefined;
  const target = createEventTarget(values, { ...asked, signal });
  const listening = {
    start: parseSince(values.since ?? 'now', clock.now()),
    eventsMax: parseInteger('count', values.count ?? '1000000000', { min: 1, max: 1_000_000_000 }),
  };
  if (values.account !== undefined) await checkAccount(client, values.account);
  await listen({
    ...listening,
    reader: {
      client,
      filter: queryOf(chosen),
      clock,
      signal,
      onOutage: (sentence) =>
        note(sentence === undefined ? 'The bridge answers again.' : `${sentence} Trying again.`),
    },
    kept,
    positionFile: file,
    handle: target.handle,
    async onBegin() {
      await checkProjects(client, chosen, note);
      noteBeginning(values, kept?.last_time, asked);
    },
    onNewFeed: (from) => note(`The bridge does not know the kept position; going on from ${from}.`),
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

/** The address of a bridge on this machine changes with each start, and does not tell two streams apart. */
function streamOf(values: ListenValues, find: FindConnection): readonly (string | undefined)[] {
  const connection = find();
  const place = connection === undefined || connection.isLocalRun ? 'this machine' : connection.url;
  const filters = FILTERS.map((name) => values[name]?.join(','));
  return [place, values.account, ...filters, values.forward];
}

function beginningOf(since: string): string {
  if (/^\d+[smhd]$/.test(since)) return `${since} ago`;
  return since === 'beginning' ? 'the beginning' : since;
}

function noteBeginning(
  values: ListenValues,
  lastTime: string | undefined,
  { environment, note }: Surroundings,
): void {
  const start =
    lastTime === undefined
      ? `from ${beginningOf(values.since ?? 'now')} on`
      : `where the last run stopped, after ${lastTime} (--since now begins anew)`;
  note(`Listening ${start}; Ctrl-C ends it.`);
  if (values.forward !== undefined) note(signingSentence(values.forward, environment));
  if (!values.json && values.format === undefined) note(eventHeading(false));
}

function signingSentence(url: string, environment: Environment): string {
  const { secret, givenIn } = signingSecret(environment);
  if (givenIn === undefined) return `Events are signed for ${url} with ${secret}`;
  const fingerprint = createHash('sha256').update(secret).digest('hex').slice(0, 8);
  return `Events are signed for ${url} with the secret in ${givenIn} (SHA-256 ${fingerprint}...).`;
}
