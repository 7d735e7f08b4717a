import { describe, expect, test } from 'vitest';
import { renderEvent } from '../../shared/events/render-event.ts';
import { decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import { decideSettlement } from '../../shared/records/command-record.ts';
import { EMPTY_JOURNAL } from '../../shared/records/journal.ts';
import type { JournalRecord } from '../../shared/records/journal-record.ts';
import { decideStall, decideWatchEnd } from '../../shared/records/operation-record.ts';
import { decideDiscovery } from '../../shared/records/project-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { fromStored, toStored } from '../../shared/store/items.ts';
import { aRecord, NOON_MS } from '../builders.ts';

const PROJECT = { account_id: 'main', project_id: 'a-project' };
const BOOT_AT = '2026-01-15T12:00:00.000000000Z' as Timestamp;

const command = {
  kind: 'command',
  ...EMPTY_JOURNAL,
  ...PROJECT,
  request_id: 'a-request',
  client_id: 'a-client',
  call: 'restartEndpoint',
  operation_ids: [],
  sent_at: '2026-01-15T12:00:00.000Z',
  deadline_at_ms: NOON_MS,
  is_settled: false,
} as const;

const records: Readonly<Record<string, JournalRecord | undefined>> = {
  'a change': aRecord(),
  'a failure': aRecord({ status: 'running' }, { status: 'failed', failures_count: 1 }),
  'a stall': decideStall(aRecord(), { threshold_ms: 1_000, open_ms: 2_000, nowMs: NOON_MS }),
  'the end of a watch': decideWatchEnd(aRecord(), { reason: 'vanished', nowMs: NOON_MS }),
  'a discovered project': decideDiscovery(undefined, { ...PROJECT, nowMs: NOON_MS, isNews: true }),
  'a degraded account': decideHealth(firstAccountRecord('main', BOOT_AT), 'key_rejected', NOON_MS),
  'a settled command': decideSettlement(command, new Map(), NOON_MS),
};

describe('a stored entry', () => {
  test.each(Object.entries(records))(
    'of %s gives the same event as before it was stored',
    (_what, record) => {
      const entry = record?.entries.at(-1);
      if (record === undefined || entry === undefined) throw new Error('There is no entry');
      const stored = toStored(entry);
      const read = fromStored(stored) as unknown as typeof entry;

      expect(Object.values(stored)).not.toContain(undefined);
      expect(read).toEqual(JSON.parse(JSON.stringify(entry)));
      expect(renderEvent(record, read)).toEqual(renderEvent(record, entry));
    },
  );
});
