/** The trace of a caller goes through the bridge: to the upstream, through the line, and with every event of the command to its subscribers. */

import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { describe, expect, test } from 'vitest';
import { createEventBridgeBus } from '../../../shared/events/event-bus.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openScriptedAws } from '../scripted-aws.ts';
import { openApi } from './api-door.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const OPERATION = {
  id: '22222222-2222-4222-8222-222222222222',
  project_id: PROJECT_ID,
  action: 'start_compute',
  status: 'finished',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};

async function openDoor() {
  const scripted = await openScriptedAws(() => () => {});
  const bus = createEventBridgeBus(new EventBridgeClient({}), 'a-bus');
  const door = await openApi(() => Response.json({ endpoint: {}, operations: [OPERATION] }), {
    wrapBus: () => bus,
    // The calls of AWS take real time.
    clock: systemClock,
  });
  door.know(PROJECT_ID);
  /** What EventBridge was sent: the type of each event with the header of its trace. */
  const sent = () =>
    scripted.calls
      .filter(({ action }) => action === 'events:PutEvents')
      .flatMap(({ body }) => body['Entries'] as { DetailType: string; TraceHeader?: string }[])
      .map(({ DetailType, TraceHeader }) => [DetailType, TraceHeader]);
  return { ...door, sent };
}

const toUpstream = ({ upstream }: Awaited<ReturnType<typeof openDoor>>) =>
  upstream.sent.map(({ headers }) => headers.get('traceparent'));

describe('the trace of a caller', () => {
  test('reaches the upstream with a command and with a read, and X-Ray with the events', async () => {
    const door = await openDoor();
    await door.ask('POST', RESTART, { traceparent });
    await door.ask('GET', `/api/v2/projects/${PROJECT_ID}`, { traceparent });
    expect(toUpstream(door)).toEqual([traceparent, traceparent]);

    const header = 'Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1';
    expect(door.sent()).toEqual([
      ['Operation State Changed', header],
      ['Command Settled', header],
    ]);
  });

  test('goes through the line', async () => {
    const door = await openDoor();
    await door.ask('POST', RESTART, {
      traceparent: traceparent.replace(/01$/, '00'),
      prefer: 'respond-async',
    });
    await door.work();
    expect(toUpstream(door)).toEqual([traceparent.replace(/01$/, '00')]);
    expect(door.sent().map(([, header]) => header?.split(';').at(-1))).toEqual(['Sampled=0', 'Sampled=0']);
  });

  test('is left out when there is none, or one of another form', async () => {
    const door = await openDoor();
    await door.ask('POST', RESTART, { traceparent: 'not-a-trace' });
    expect(toUpstream(door)).toEqual([null]);
    expect(door.sent().map(([, header]) => header)).toEqual([undefined, undefined]);
  });
});
