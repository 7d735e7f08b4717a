/** Tests that a person who acknowledges a page at PagerDuty has acknowledged its incidents at the bridge, once. */

import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createIncidentStore, incidentIdOf } from '../../../shared/alerts/incidents.ts';
import { PAGERDUTY_WEBHOOK_SECRET } from './people.ts';
import { play } from './play.ts';
import { acknowledges, at, each, fails, givesUp, operation, type Script } from './script.ts';
import type { World } from './world.ts';

const one = operation('op-1');

/** An operation has failed three times, for which PagerDuty has a page, and `then` happens three minutes later. */
function story(then: Partial<Script> = {}): Script {
  return {
    name: 'webhook',
    says: 'A person answers at PagerDuty.',
    channels: ['pagerduty'],
    steps: at('0:00', fails(one, 3)),
    until: '5:00',
    ...then,
  };
}

function eventOf({ channels, clock }: World, fields: object = {}): string {
  const event = {
    id: '01EVENT0000000000000000000',
    event_type: 'incident.acknowledged',
    resource_type: 'incident',
    occurred_at: new Date(clock.now()).toISOString(),
    agent: { type: 'user_reference', id: 'PUSER01', summary: 'Marta Example' },
    data: { id: 'PT4KHLK', type: 'incident', incident_key: channels.pagerDuty.alerts[0]?.key },
    ...fields,
  };
  return JSON.stringify({ event });
}

const signatureOf = (body: string, secret = PAGERDUTY_WEBHOOK_SECRET) =>
  `v1=${createHmac('sha256', secret).update(body).digest('hex')}`;

async function hear(world: World, body: string): Promise<number> {
  return world.people().hear(body, signatureOf(body));
}

const acknowledgedIn = async (world: World) =>
  ((await world.people().incident(one)) as { acknowledged?: { client_id: string; reason?: string } })
    .acknowledged;

describe('an acknowledgement at PagerDuty', () => {
  test('is an acknowledgement at the bridge, by the person', async () => {
    const world = await play(story(), 'bot');

    expect(await hear(world, eventOf(world))).toBe(200);

    expect(await acknowledgedIn(world)).toMatchObject({
      client_id: 'pagerduty:PUSER01',
      reason: 'acknowledged at PagerDuty by Marta Example',
    });
  });

  test.each([
    [
      'by the signature of an older secret first',
      (body: string) => `v1=${'0'.repeat(64)}, ${signatureOf(body)}`,
      200,
    ],
    ['by no signature that fits', (body: string) => signatureOf(body, 'another-secret-of-16'), 401],
    ['by a signature over another body', (body: string) => signatureOf(`${body} `), 401],
    ['without a signature', () => undefined, 401],
  ])('counts when it is signed (%s)', async (_how, sign, status) => {
    const world = await play(story(), 'bot');
    const body = eventOf(world);

    expect(await world.people().hear(body, sign(body))).toBe(status);

    expect((await acknowledgedIn(world)) !== undefined).toBe(status === 200);
  });

  test('that comes again after a person has withdrawn it changes nothing, and neither does an old one', async () => {
    const world = await play(story(), 'bot');
    const body = eventOf(world);
    await hear(world, body);
    await world.people().withdraw(one);

    const old = eventOf(world, { id: 'another', occurred_at: '2026-01-13T12:00:00.000Z' });
    expect([await hear(world, body), await hear(world, old)]).toEqual([200, 200]);

    expect(await acknowledgedIn(world)).toBeUndefined();
  });

  test("that is the bridge's own, coming back, leaves the person who acknowledged first", async () => {
    const steps = [...at('0:00', fails(one, 3)), ...at('2:00', acknowledges(one, 'on it'))];
    const world = await play(story({ steps }), 'bot');

    await hear(world, eventOf(world, { agent: { type: 'integration_reference', id: 'PINT' } }));
    await hear(world, eventOf(world, { id: 'another' }));

    expect(await acknowledgedIn(world)).toMatchObject({ client_id: 'marta', reason: 'on it' });
  });

  test('of a page of many is that of each of its incidents, and of no other page', async () => {
    const many = each({ from: '0:10', every: '0:01', count: 5 }, (place) =>
      fails(operation(`op-many-${place}`, { project: `project-${place}` }), 3),
    );
    const world = await play(story({ steps: [...at('0:00', fails(one, 3)), ...many], until: '4:00' }), 'bot');
    const page = world.channels.pagerDuty.alerts.find(({ key }) => key.includes('|many|'));

    const data = { incident_key: page?.key };
    expect(await hear(world, eventOf(world, { data }))).toBe(200);

    const whose = await Promise.all(
      [2, 3, 4, 5].map((place) =>
        world.people().incident({ project: `project-${place}`, action: 'start_compute' }),
      ),
    );
    expect(whose.map((incident) => incident['acknowledged'])).toEqual(
      Array.from({ length: 4 }, () => expect.objectContaining({ client_id: 'pagerduty:PUSER01' })),
    );
    expect(await acknowledgedIn(world)).toBeUndefined();
  });

  test.each([
    ['another event', { event_type: 'incident.escalated' }],
    ['a resolution while the operation goes on', { event_type: 'incident.resolved' }],
    ['a page that is not known', { data: { incident_key: 'of-somebody-else' } }],
    ['no event at all', { id: 7 }],
  ])('is nothing else: %s changes nothing', async (_what, fields) => {
    const world = await play(story(), 'bot');

    expect(await hear(world, eventOf(world, fields))).toBe(200);

    expect(await acknowledgedIn(world)).toBeUndefined();
  });
});

test('who resolves a page at PagerDuty has acknowledged what was given up', async () => {
  const world = await play(story({ steps: at('0:00', givesUp(one)) }), 'bot');

  expect(await hear(world, eventOf(world, { event_type: 'incident.resolved' }))).toBe(200);

  const incidents = createIncidentStore(world.memory.as('api'), 'main', { clock: world.clock });
  expect(await incidents.read(incidentIdOf('main|shop|start_compute'))).toMatchObject({
    ended_at: expect.any(String),
    acknowledged: { client_id: 'pagerduty:PUSER01', reason: 'resolved at PagerDuty by Marta Example' },
  });
});
