import { describe, expect, test } from 'vitest';
import type { BusEvent } from '../../shared/events/render-event.ts';
import { recordCommand, recordCommandEnd, recordCommandStart } from '../../shared/protocol/record-command.ts';
import type { Command } from '../../shared/records/command-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { commandKey } from '../../shared/store/keys.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { anOperation, NOON_MS, only } from '../builders.ts';
import { aStore } from './store-under-test.ts';

const { project_id: PROJECT_ID } = anOperation();
const COMMAND: Command = {
  project_id: PROJECT_ID,
  request_id: 'request-1',
  client_id: 'deployer',
  call: 'restartEndpoint',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};

function setUp() {
  const { store, clock } = aStore(() => NOON_MS);
  const published: BusEvent[] = [];
  const deps = {
    store,
    clock,
    settleWithinMs: 600_000,
    telemetry: silentTelemetry,
    upstream: only<UpstreamClient>({
      getOperation: async () => Promise.reject(new Error('No operation is read')),
    }),
    bus: {
      publish: async (events: readonly BusEvent[]) => {
        published.push(...events);
        return events.map(() => ({ kind: 'accepted' as const }));
      },
    },
  };
  const stored = async () => (await store.readCommands([commandKey('main', PROJECT_ID, 'request-1')]))[0];
  const events = () =>
    published.map(
      ({ detailType, detail }): Record<string, unknown> => ({
        detailType,
        ...(JSON.parse(detail) as object),
      }),
    );
  return { deps, stored, events };
}

describe('a command that ended without an operation', () => {
  test('is recorded and published at once, with its caller and its trace', async () => {
    const { deps, stored, events } = setUp();

    await recordCommandEnd(deps, COMMAND, 'refused');

    expect(await stored()).toMatchObject({
      account_id: 'main',
      ...COMMAND,
      operation_ids: [],
      is_settled: true,
      published: 1,
    });
    expect(events()).toMatchObject([
      { detailType: 'Command Settled', outcome: 'refused', project_id: PROJECT_ID },
    ]);
  });

  test('is published once, whatever a repetition says', async () => {
    const { deps, events } = setUp();

    await recordCommandEnd(deps, COMMAND, 'refused');
    await recordCommandEnd(deps, COMMAND, 'expired');

    expect(events().map(({ outcome }) => outcome)).toEqual(['refused']);
  });

  test('does not overwrite the record of a command that started operations', async () => {
    const { deps, stored, events } = setUp();

    await recordCommandStart(deps, COMMAND, ['op-1', 'op-2']);
    await recordCommandEnd(deps, COMMAND, 'unknown');

    expect(await stored()).toMatchObject({ operation_ids: ['op-1', 'op-2'], is_settled: false });
    expect(events()).toEqual([]);
  });
});

describe('the start of a command', () => {
  test('is recorded for the poller, which publishes its end', async () => {
    const { deps, stored, events } = setUp();

    await recordCommandStart(deps, COMMAND, ['op-1']);

    expect(await stored()).toMatchObject({
      account_id: 'main',
      ...COMMAND,
      operation_ids: ['op-1'],
      deadline_at_ms: NOON_MS + 600_000,
      is_settled: false,
    });
    expect(events()).toEqual([]);
  });

  test.each([
    ['goes with its operations', COMMAND],
    ['is left out of them when the caller sent none', { ...COMMAND, traceparent: undefined }],
  ])('has a trace that %s', async (_name, command) => {
    const { deps } = setUp();

    await recordCommand(deps, command, [anOperation({ id: 'op-1' })]);

    const record = await deps.store.readOperation(PROJECT_ID, 'op-1');
    expect(record?.command).toEqual({
      client_id: 'deployer',
      request_id: 'request-1',
      ...(command.traceparent !== undefined && { traceparent: command.traceparent }),
    });
    expect(Object.keys(record?.command ?? {})).toHaveLength(command.traceparent === undefined ? 2 : 3);
  });
});
