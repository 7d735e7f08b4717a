import { describe, expect, test } from 'vitest';
import { commandSettled } from '../../shared/events/catalog.ts';
import { renderEvent } from '../../shared/events/render-event.ts';
import { type CommandRecord, decideSettlement } from '../../shared/records/command-record.ts';
import { hasWork } from '../../shared/records/journal-record.ts';
import { decideWatchEnd } from '../../shared/records/operation-record.ts';
import { aRecord, NOON_MS } from '../builders.ts';

const DEADLINE_MS = NOON_MS + 60_000;

const aCommand = (operation_ids: readonly string[]): CommandRecord => ({
  kind: 'command',
  account_id: 'main',
  project_id: 'quiet-pond-12345678',
  request_id: 'request-1',
  client_id: 'deployer',
  call: 'restartEndpoint',
  operation_ids,
  sent_at: '2026-01-15T12:00:00.000Z',
  deadline_at_ms: DEADLINE_MS,
  is_settled: false,
  revision: 0,
  published: 0,
  entries: [],
});

const settle = (records: readonly ReturnType<typeof aRecord>[], nowMs = NOON_MS, ids = ['a', 'b']) =>
  decideSettlement(aCommand(ids), new Map(records.map((record) => [record.operation_id, record])), nowMs);

const a = (status: string) => aRecord({ id: 'a', status });
const b = (status: string) => aRecord({ id: 'b', status });

describe('a command', () => {
  test.each([
    ['finished', 'finished', 'succeeded'],
    ['finished', 'skipped', 'succeeded'],
    ['finished', 'cancelled', 'failed'],
    ['error', 'finished', 'failed'],
  ])('with ends %s and %s has %s', (first, second, outcome) => {
    expect(settle([a(first), b(second)])?.entries).toMatchObject([{ outcome, missing: [] }]);
  });

  test.each(['scheduling', 'running', 'failed', 'unheard_of'])('waits while an operation is %s', (status) => {
    expect(settle([a('finished'), b(status)])).toBeUndefined();
  });

  test('waits for an operation that is not recorded yet', () => {
    expect(settle([a('finished')])).toBeUndefined();
  });

  test('names at its deadline what is missing, and what is known of it', () => {
    const settled = settle([a('finished'), b('running')], DEADLINE_MS, ['a', 'b', 'c']);

    expect(settled?.entries).toMatchObject([
      {
        outcome: 'incomplete',
        missing: ['b', 'c'],
        operations: [
          { operation_id: 'a', status: 'finished' },
          { operation_id: 'b', status: 'running' },
        ],
      },
    ]);
  });

  test('has failed once its failed operation is not watched any more', () => {
    const given_up = decideWatchEnd(b('failed'), { reason: 'not_retried', nowMs: NOON_MS });

    expect(settle([a('finished'), given_up])?.entries).toMatchObject([{ outcome: 'failed' }]);
  });

  test('settles once', () => {
    const settled = settle([a('finished'), b('finished')]);
    const again = settled && decideSettlement(settled, new Map(), DEADLINE_MS);

    expect(settled?.is_settled).toBe(true);
    expect(again).toBeUndefined();
  });

  test('stands in the work index until its end is published', () => {
    const open = aCommand(['a']);
    const settled = settle([a('finished')], NOON_MS, ['a']);

    expect(hasWork(open)).toBe(true);
    expect(settled && hasWork(settled)).toBe(true);
    expect(settled && hasWork({ ...settled, published: settled.revision })).toBe(false);
  });

  test('becomes an event as the catalog says', () => {
    const settled = settle([a('finished'), b('running')], DEADLINE_MS);
    const entry = settled?.entries[0];
    const event = settled && entry && renderEvent(settled, entry);

    expect(commandSettled.detail.strict().safeParse(JSON.parse(event?.detail ?? '{}')).error).toBeUndefined();
  });
});
