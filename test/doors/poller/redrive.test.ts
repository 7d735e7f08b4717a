import { expect, test } from 'vitest';
import { serveApi } from '../api/api-on-aws.ts';
import type { ScriptedCall } from '../scripted-aws.ts';
import { EVENT_BUS_NAME, type PollerOnAws, startPoller, TABLE_NAME } from './poller-on-aws.ts';

const isOfBus = ({ action }: ScriptedCall) => action === 'events:PutEvents';

/** The bus refuses every entry for good. */
const MALFORMED = {
  kind: 'answer',
  answer: (body: ScriptedCall['body']) => {
    const Entries = (body['Entries'] as readonly unknown[]).map(() => ({
      ErrorCode: 'MalformedDetail',
      ErrorMessage: 'no',
    }));
    return { FailedEntryCount: Entries.length, Entries };
  },
} as const;

const parkedIds = ({ lines }: PollerOnAws) =>
  lines.filter(({ message }) => message === 'event.parked').map(({ event_id }) => String(event_id));

test('parked events are sent again by one request: byte-equal, unmarked, once each, and the audit knows who asked', async () => {
  const poller = await startPoller({ seed: 90, projectCount: 3, sessionsPerHour: 150 });
  const handler = poller.coldStart();
  const before: string[] = [];
  poller.script = (call) => {
    if (!isOfBus(call)) return undefined;
    for (const { Detail } of call.body['Entries'] as { Detail: string }[]) before.push(Detail);
    return MALFORMED;
  };
  await poller.invoke(handler);
  await poller.invoke(handler);
  const parked = parkedIds(poller);
  expect(parked.length).toBeGreaterThan(10);
  const request = await serveApi(poller, poller.time, {
    tableName: TABLE_NAME,
    busName: EVENT_BUS_NAME,
    seed: 90,
  });

  // What the bus refuses again stays parked.
  expect((await request('POST', '/bridge/v1/redrive')).status).toBe(202);
  expect((await request('POST', '/bridge/v1/redrive')).status).toBe(409);
  await poller.invoke(handler);
  const refused = (await request('GET', '/bridge/v1/replay')).body as Record<string, unknown>;
  expect(refused).toMatchObject({ state: 'ended', of_parked: true, sent_count: 0 });
  expect(refused['refused_count']).toBeGreaterThanOrEqual(parked.length);
  expect(poller.delivered).toEqual([]);

  poller.script = () => undefined;
  expect((await request('POST', '/bridge/v1/redrive')).status).toBe(202);
  await poller.invoke(handler);
  const all = new Set(parkedIds(poller));
  expect((await request('GET', '/bridge/v1/replay')).body).toMatchObject({
    state: 'ended',
    sent_count: all.size,
    refused_count: 0,
  });
  const sent = poller.delivered.filter(({ detail }) => all.has(String(detail['id'])));
  expect(sent).toHaveLength(all.size);
  for (const { detail, resources } of sent) {
    expect(resources).toEqual([]);
    expect(before.map((text) => JSON.parse(text))).toContainEqual(detail);
  }
  // Nothing is left for another request, and each request has its record.
  await request('POST', '/bridge/v1/redrive');
  await poller.invoke(handler);
  expect((await request('GET', '/bridge/v1/replay')).body).toMatchObject({
    state: 'ended',
    sent_count: 0,
    refused_count: 0,
  });
  const audit = (await request('GET', '/bridge/v1/audit')).body as { readonly items?: unknown };
  expect(JSON.stringify(audit).split('redriveParkedEvents').length - 1).toBeGreaterThanOrEqual(4);
});
