/**
 * Writes one item of every kind and state through the adapters of production, and reads what the code makes of such
 * items. The items of a released version are kept as a fixture, so that a later version is measured by them.
 */

import { createTokenStore } from '../../shared/callers/tokens.ts';
import { createAuditLog } from '../../shared/commands/audit.ts';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import { decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import { nextStatus } from '../../shared/records/account-status.ts';
import type { CommandRecord } from '../../shared/records/command-record.ts';
import { decideSettlement } from '../../shared/records/command-record.ts';
import type { JournalRecord } from '../../shared/records/journal-record.ts';
import {
  decideNextRecord,
  decideStall,
  decideWatchEnd,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import { decideDiscovery, decideUnreachable } from '../../shared/records/project-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { commandKey } from '../../shared/store/keys.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import type { Table } from '../../shared/store/table.ts';
import { aContext, anOperation, commandRecord, NOON_MS } from '../builders.ts';

const PROJECT_ID = anOperation().project_id;
const at = (text: string) => text as Timestamp;
const MINUTE_MS = 60_000;

/** Each name says what is special about the operation, and is its id as well. */
const OPERATION_IDS = [
  'open',
  'open-unpublished',
  'failed-and-retried',
  'settled',
  'history',
  'stalled',
  'vanished',
  'not-retried',
  'of-a-command',
  'late-and-irregular',
] as const;
const PROJECT_IDS = [PROJECT_ID, 'resumed', 'unreachable', 'silent', 'never-journalled'] as const;
const REQUEST_IDS = ['open', 'settled', 'incomplete'] as const;
const ACCOUNT_IDS = ['main', 'degraded', 'recovered', 'fresh'] as const;
const ATTEMPTS = ['running', 'done', 'secret', 'unknown', 'free'] as const;
const TOKEN_IDS = ['whole', 'limited', 'revoked'] as const;

const attemptOf = (state: string, holder = `holder-${state}`) => ({
  keyHash: `hash-of-${state}`,
  fingerprint: `fingerprint-${state}`,
  holder,
});

export async function writeEveryKind(table: Table): Promise<void> {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const storeOf = (accountId: string) => createBridgeStore(table, accountId, clock);
  const store = storeOf('main');

  const put = async (record: JournalRecord, { isPublished = true } = {}): Promise<void> => {
    await storeOf(record.account_id).record(record, undefined);
    if (isPublished && record.revision > 0)
      await storeOf(record.account_id).acknowledge(record, {
        through: record.revision,
        derived: record.revision,
      });
  };
  const operation = (
    id: string,
    readings: readonly Parameters<typeof anOperation>[0][],
    context: Parameters<typeof aContext>[0] = {},
  ): OperationRecord => {
    let record: OperationRecord | undefined;
    for (const [place, reading] of readings.entries()) {
      const nowMs = NOON_MS + place * 1_500;
      record =
        decideNextRecord(record, anOperation({ id, ...reading }), aContext({ nowMs, ...context })) ?? record;
    }
    if (record === undefined) throw new Error('No reading changed anything');
    return record;
  };

  await put(operation('open', [{}]));
  await put(operation('open-unpublished', [{ status: 'scheduling' }, { status: 'running' }]), {
    isPublished: false,
  });
  await put(
    operation('failed-and-retried', [
      {},
      { status: 'failed', failures_count: 1, error: 'it broke' },
      { status: 'running', failures_count: 1 },
      {
        status: 'finished',
        failures_count: 3,
        total_duration_ms: 1234.5,
        updated_at: '2026-01-15T12:00:04Z',
      },
    ]),
  );
  await put(operation('settled', [{ status: 'finished', total_duration_ms: 900 }]));
  await put(
    operation('history', [{ status: 'finished' }], {
      observed_by: 'backfill',
      history: { backfill: 'open' },
    }),
  );
  const stall = { threshold_ms: 15 * MINUTE_MS, open_ms: 15 * MINUTE_MS + 412, nowMs: NOON_MS };
  await put(
    decideStall(decideStall(operation('stalled', [{}]), stall), { ...stall, threshold_ms: 3_600_000 }),
  );
  await put(decideWatchEnd(operation('vanished', [{}]), { reason: 'vanished', nowMs: NOON_MS }));
  await put(
    decideWatchEnd(operation('not-retried', [{ status: 'failed', failures_count: 2 }]), {
      reason: 'not_retried',
      nowMs: NOON_MS,
    }),
  );
  await put(
    operation('of-a-command', [{ branch_id: undefined, endpoint_id: undefined }], {
      observed_by: 'command',
      command: { client_id: 'an-app', request_id: 'open' },
    }),
  );
  await put(
    operation('late-and-irregular', [{ status: 'finished' }, { status: 'running' }], {
      observed_by: 'sweep',
      late: true,
    }),
  );
  await store.park(operation('open', [{}]), {
    entry: operation('open', [{}]).entries[0] as never,
    code: 'MalformedDetail',
    event: '{"id":"an-event"}',
  });

  const sighting = (project_id: string, isNews: boolean) => ({
    account_id: 'main',
    project_id,
    nowMs: NOON_MS,
    isNews,
  });
  for (const [id, isNews] of [
    [PROJECT_ID, true],
    ['resumed', true],
    ['silent', false],
  ] as const) {
    const seen = decideDiscovery(undefined, sighting(id, isNews));
    if (seen !== undefined) await put(seen);
  }
  const bound = at('2026-01-15T11:59:50.000000000Z');
  const known = { arrivals: { count: 7.25, observed_ms: 86_400_000 }, sweptAtMs: NOON_MS - 5_000 };
  await store.saveProgress(PROJECT_ID, { bound, resume: null, ...known }, null);
  await store.saveProgress('resumed', { bound, resume: null }, null);
  await store.saveProgress(
    'resumed',
    { resume: { head: at('2026-01-15T12:00:00.000000000Z'), cursor: 'a-cursor' } },
    bound,
  );
  await store.saveProgress('resumed', { sweptAtMs: NOON_MS - 86_400_000 }, bound);
  await store.saveProgress('never-journalled', { bound, resume: null }, null);
  const visible = decideDiscovery(undefined, sighting('unreachable', true));
  const gone = visible && decideUnreachable(visible, NOON_MS + 1_000);
  if (gone !== undefined) await put(gone, { isPublished: false });

  const boot = at('2026-01-15T11:00:00.000000000Z');
  await put({ ...firstAccountRecord('main', boot), is_listed: true });
  await put(firstAccountRecord('fresh', boot));
  const degraded = (id: string) =>
    decideHealth({ ...firstAccountRecord(id, boot), is_listed: true }, 'key_rejected', NOON_MS);
  for (const id of ['degraded', 'recovered']) {
    const bad = degraded(id);
    if (bad === undefined) continue;
    await put(bad);
    const stored = await storeOf(id).readAccount();
    const well = stored && decideHealth(stored, undefined, NOON_MS + 60_000);
    if (id === 'recovered' && well) await storeOf(id).record(well, bad.revision);
  }

  const command = (request_id: string, fields: Partial<CommandRecord> = {}) => ({
    ...commandRecord(PROJECT_ID, request_id),
    ...fields,
  });
  await put(command('open', { operation_ids: ['of-a-command', 'unseen'] }));
  const ended = new Map([['settled', operation('settled', [{ status: 'finished' }])]]);
  const settled = decideSettlement(command('settled', { operation_ids: ['settled'] }), ended, NOON_MS);
  if (settled) await put(settled);
  const late = command('incomplete', { operation_ids: ['settled', 'unseen'], deadline_at_ms: NOON_MS });
  const incomplete = decideSettlement(late, ended, NOON_MS);
  if (incomplete) await put(incomplete, { isPublished: false });

  await store.acquireLease('an-invocation', 50_000);
  await store.wishForReading(PROJECT_ID, 5_000);
  await createLedgerStore(table, 'main').write({ given: { ra: [[1, 41]] }, lately: [] }, 0);
  await writeStatus(table);
  await writeTokens(table, clock);
  await writeAttempts(table, clock);
  await writeAudit(table, clock);
}

async function writeStatus(table: Table): Promise<void> {
  const hint = { name: 'updated_at', recall: { foundCount: 1, missedCount: 0 }, hitCount: 1, moveCount: 1 };
  const limit = {
    share: { share: 0.56, changedAtMs: NOON_MS - 30_000, ceiling: 0.7, holdMs: 300_000 },
    pausedUntilMs: NOON_MS + 900,
  };
  const sample = {
    account_id: 'main',
    nowMs: NOON_MS,
    sinceMs: NOON_MS - MINUTE_MS,
    lastCompleteWalkAtMs: NOON_MS - 5_000,
    project_count: 3,
    open_operation_count: 1,
    requests_per_minute: 350,
    tally: { requestCount: 42, throttledCount: 1, delaysMs: [300, 100, 200] },
    learned: { limit, hints: [hint] },
  };
  const before = nextStatus(undefined, {
    ...sample,
    nowMs: NOON_MS - MINUTE_MS,
    tally: { ...sample.tally, delaysMs: [] },
  });
  await writeAccountStatus(table, nextStatus(before, sample));
}

type FixedClock = Parameters<typeof createTokenStore>[1];

async function writeTokens(table: Table, clock: FixedClock): Promise<void> {
  const tokens = createTokenStore(table, clock);
  for (const token_id of TOKEN_IDS) {
    await tokens.create({
      token_id,
      account_id: 'main',
      client_id: 'an-app',
      hash: 'a'.repeat(64),
      scopes: ['operations:read', 'projects:read'],
      ...(token_id === 'limited' && { project_ids: [PROJECT_ID] }),
      created_at: new Date(NOON_MS).toISOString(),
      expires_at_ms: NOON_MS + 3_600_000,
    });
  }
  await tokens.revoke('revoked');
}

async function writeAttempts(table: Table, clock: FixedClock): Promise<void> {
  const idempotency = createIdempotencyStore(table, clock);
  for (const state of ATTEMPTS) await idempotency.claim(attemptOf(state), MINUTE_MS);
  const outcome = { status: 201, content_type: 'application/json', request_id: 'holder-done' };
  await idempotency.complete(attemptOf('done'), { ...outcome, body: '{"done":true}' });
  await idempotency.complete(attemptOf('secret'), {
    ...outcome,
    body: undefined,
    request_id: 'holder-secret',
  });
  await idempotency.loseTrack(attemptOf('unknown'));
  await idempotency.release(attemptOf('free'));
}

async function writeAudit(table: Table, clock: FixedClock): Promise<void> {
  const audit = createAuditLog(table, clock);
  const intent = {
    account_id: 'main',
    request_id: 'audited',
    client_id: 'an-app',
    call: 'startEndpoint',
    project_id: PROJECT_ID,
    resource: { endpoint_id: 'ep-quiet-pond-a1234567' },
    received_at: new Date(NOON_MS).toISOString(),
  };
  await audit.begin(intent);
  await audit.end(intent, { outcome: 'done', status: 200, duration_ms: 12, operation_ids: ['of-a-command'] });
  await audit.begin({ ...intent, request_id: 'without-an-end', project_id: undefined });
}

/** Reads what the code under test makes of these items, by a name for each. */
export async function readEveryKind(table: Table): Promise<Readonly<Record<string, unknown>>> {
  const clock = { now: () => NOON_MS + 1_000, sleep: async () => {} };
  const store = createBridgeStore(table, 'main', clock);
  const read: Record<string, unknown> = {};
  for (const id of ACCOUNT_IDS)
    read[`account ${id}`] = await createBridgeStore(table, id, clock).readAccount();
  for (const id of PROJECT_IDS) read[`project ${id}`] = await store.readProject(id);
  for (const id of OPERATION_IDS) read[`operation ${id}`] = await store.readOperation(PROJECT_ID, id);
  for (const id of REQUEST_IDS)
    read[`command ${id}`] = (await store.readCommands([commandKey('main', PROJECT_ID, id)]))[0];
  read['status'] = await readAccountStatus(table, 'main');
  read['ledger'] = (await createLedgerStore(table, 'main').read()).ledger.given;
  read['work'] = (await store.findWork()).map(({ key }) => `${key.pk} / ${key.sk}`).toSorted();
  const tokens = createTokenStore(table, clock);
  for (const id of TOKEN_IDS) read[`token ${id}`] = await tokens.read(id);
  // The following calls write as well, as production does.
  const idempotency = createIdempotencyStore(table, clock);
  for (const state of ATTEMPTS) {
    read[`attempt ${state}`] = await idempotency.claim(attemptOf(state, 'somebody-else'), MINUTE_MS);
    read[`reused ${state}`] = await idempotency.claim(
      { ...attemptOf(state, 'a-third'), fingerprint: 'another' },
      MINUTE_MS,
    );
  }
  read['lease of somebody else'] = await store.acquireLease('another-invocation', 1_000);
  read['lease of its holder'] = await store.acquireLease('an-invocation', 1_000);
  read['read requests'] = await store.takeWishes();
  return JSON.parse(JSON.stringify(read)) as Record<string, unknown>;
}
