import { describe, expect, onTestFinished, test } from 'vitest';
import { sampleEvent } from '../../infra/cli/triggering/sample-event.ts';
import { parseBridgeEvent } from '../../infra/packages/events/parse-bridge-event.ts';
import { eventCatalog } from '../../shared/events/catalog.ts';
import { startHookServer } from '../crash/listen/hook-server.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const SECRET = `whsec_${'A'.repeat(32)}`;
const ID = 'ab'.repeat(16);
const sample = (type: string, ...fields: readonly string[]) =>
  sampleEvent({ type, fields, id: ID, nowMs: Date.UTC(2026, 0, 16) });

describe('a sample event', () => {
  test.each(eventCatalog)(
    'of the type $detailType is valid, new, and not one of the bridge',
    ({ detailType }) => {
      const event = sample(detailType);

      expect(event).toMatchObject({ id: ID, source: 'operations-bridge.test', detail: { id: ID } });
      expect(parseBridgeEvent({ ...event, source: 'operations-bridge' })?.detailType).toBe(detailType);
      expect(parseBridgeEvent(event)).toBeUndefined();
    },
  );

  test('has the fields that were set, as JSON where they are JSON', () => {
    const event = sample('operation-state-changed', 'status=failed', 'new_failures=2', 'error=a=b');

    expect(event.detail).toMatchObject({ status: 'failed', new_failures: 2, error: 'a=b' });
  });

  test.each([
    ['operation-state-changed', 'new_failures=many', /--set new_failures is not usable/],
    ['operation-state-changed', 'colour=red', /--set colour is not usable.*the event has the fields schema/],
    ['operation-state-changed', 'status', /--set is "status"; it takes a field and its value/],
    ['operation-ended', 'status=x', /There is no event "operation-ended"; there are Operation State Changed/],
  ])('%s with %s is refused with a sentence', (type, field, sentence) => {
    expect(() => sample(type, field)).toThrow(sentence);
  });
});

describe('operations-bridge trigger --to', () => {
  const environment = { OPERATIONS_BRIDGE_SIGNING_SECRET: SECRET };

  test('posts the event, signed', async () => {
    const server = await startHookServer(SECRET);
    onTestFinished(() => server.leave());
    const args = ['trigger', 'project-discovered', '--to', server.url, '--json'];
    const { code, json, notes } = await runSubcommand(args, { environment });

    expect(code).toBe(0);
    expect(server).toMatchObject({ faults: [], receivedIds: [(json() as { id: string }).id] });
    expect(notes).toMatch(/^Project Discovered [0-9a-f]{32}: http.* answered 204 in \d+ ms$/);
  });

  test('ends with 1 when the URL does not answer', async () => {
    const server = await startHookServer(SECRET);
    await server.leave();
    const args = ['trigger', 'project-discovered', '--to', server.url];

    expect(await runSubcommand(args, { environment })).toMatchObject({
      code: 1,
      notes: expect.stringMatching(/did not answer \(ECONNREFUSED\)$/),
    });
  });

  test('refuses a secret of another form, and does not repeat it', async () => {
    const args = ['trigger', 'project-discovered', '--to', 'http://127.0.0.1:9/hook'];
    const wrong = { ...environment, OPERATIONS_BRIDGE_SIGNING_SECRET: 'canary-secret' };
    const refused = runSubcommand(args, { environment: wrong });

    await expect(refused).rejects.toThrow(/does not have the form of Standard Webhooks/);
    await expect(refused).rejects.not.toThrow(/canary-secret/);
  });
});
