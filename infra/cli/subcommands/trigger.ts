/** `operations-bridge trigger` sends a sample event to a URL or to the bus. */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { DETAIL_TYPES, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { EXIT_CODES } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import type { EventEnvelope } from '../feed.ts';
import { postEvent, signingSecret } from '../forwarding.ts';
import { type Asked, asking } from './subcommand.ts';

interface TriggerValues {
  readonly set?: readonly string[];
  readonly to?: string;
}

export const triggerSubcommand = asking<TriggerValues>({
  usage: 'trigger <type>',
  summary: 'Sends a sample event to the bus of a bridge, or to a URL.',
  description:
    `The types are ${Object.values(DETAIL_TYPES).join(', ')}. ` +
    `The event has the source ${TEST_EVENT_SOURCE}, so only rules that ask for this source get it. ` +
    'Publishing it needs a token with events:trigger. With --to it is posted to the URL, signed as "listen" signs.',
  examples: [
    'operations-bridge trigger operation-state-changed --set status=failed --set new_failures=1',
    'operations-bridge trigger "Command Settled" --to http://127.0.0.1:3000/hook',
  ],
  exitCodes: {
    succeeded: 'the bus or the URL has accepted the event',
    failed: 'the URL has not accepted the event',
  },
  options: [
    ['--set <field=value>', 'another value for a field of the detail', []],
    ['--to <url>', 'posts the event to this URL instead'],
    ['--json', 'prints the event as JSON'],
  ],
  act: trigger,
});

async function trigger(asked: Asked<TriggerValues>): Promise<void> {
  const {
    args: [type = ''],
    clock,
    print,
    note,
    values,
  } = asked;
  const { sampleEvent } = await import('../sample-event.ts');
  const id = randomBytes(16).toString('hex');
  const event = sampleEvent({ type, fields: values.set ?? [], id, nowMs: clock.now() });
  const place = values.to === undefined ? await publish(event, asked) : await post(event, values.to, asked);
  if (values.json) print(JSON.stringify(event));
  note(`${event['detail-type']} ${event.id}: ${place}`);
}

async function publish(
  { 'detail-type': detail_type, detail }: EventEnvelope,
  { connect }: Asked<unknown>,
): Promise<string> {
  const client = await connect();
  const request = {
    method: 'POST',
    path: '/bridge/v1/events/test',
    body: JSON.stringify({ detail_type, detail }),
  };
  const { source } = await client.read(request, z.looseObject({ source: z.string() }));
  return `on the bus, with the source ${source}`;
}

async function post(
  event: EventEnvelope,
  url: string,
  { environment, clock, signal, exitWith }: Surroundings,
): Promise<string> {
  const { secret } = signingSecret(environment);
  const attempt = await postEvent(event, { url, secret, clock, signal });
  if (attempt.kind === 'answered' && attempt.status <= 299)
    return `${url} answered ${attempt.status} in ${Math.round(attempt.durationMs)} ms`;
  exitWith(EXIT_CODES.failed);
  if (attempt.kind === 'answered') return `${url} did not accept it and answered ${attempt.status}`;
  return `${url} did not answer (${attempt.reason})`;
}
