import { describe, expect, test } from 'vitest';
import { endedWithoutOperations } from '../../shared/records/command-record.ts';
import { NOON_MS } from '../builders.ts';

const COMMAND = {
  account_id: 'main',
  project_id: 'quiet-pond-12345678',
  request_id: 'request-1',
  client_id: 'deployer',
  call: 'restartEndpoint',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};

describe('a command that ended without an operation', () => {
  test('is settled at once, with the end as its only entry', () => {
    expect(endedWithoutOperations(COMMAND, 'refused', NOON_MS)).toEqual({
      kind: 'command',
      ...COMMAND,
      operation_ids: [],
      sent_at: '2026-01-15T12:00:00.000Z',
      deadline_at_ms: NOON_MS,
      is_settled: true,
      revision: 1,
      published: 0,
      entries: [
        {
          type: 'command_settled',
          id: expect.any(String),
          revision: 1,
          observed_at: '2026-01-15T12:00:00.000Z',
          outcome: 'refused',
          operations: [],
          missing: [],
        },
      ],
    });
  });

  test('has another event for another end', () => {
    const idOf = (outcome: 'refused' | 'expired') =>
      endedWithoutOperations(COMMAND, outcome, NOON_MS).entries[0]?.id;

    expect(idOf('refused')).not.toBe(idOf('expired'));
    expect(idOf('refused')).toBe(idOf('refused'));
  });
});
