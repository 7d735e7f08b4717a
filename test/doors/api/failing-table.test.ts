/**
 * The table fails once, while nothing of a command can have been done: before it was put in line, or when the upstream
 * has just refused it. Its Idempotency-Key is free then, and the same request is carried out.
 */

import { expect, test } from 'vitest';
import { freezeKey, projectKey, projectLineKey } from '../../../shared/store/keys.ts';
import type { Key, Table } from '../../../shared/store/table.ts';
import { ACCOUNT_ID } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from './api-door.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const KEYED = { 'idempotency-key': 'restart-1' };
const IN_LINE = { ...KEYED, prefer: 'respond-async' };

const refuse = async (): Promise<never> => {
  throw new Error('ThrottlingException');
};

/** The table fails the first call that `isHit` names, once it was armed: by the test, or by a refusal of the upstream for a lock. */
async function openFailing(isHit: (call: keyof Table, key?: Key) => boolean, lockCount = 0) {
  let isArmed = false;
  let lockedCount = 0;
  const fails = (call: keyof Table, key?: Key) => {
    if (!isArmed || !isHit(call, key)) return false;
    isArmed = false;
    return true;
  };
  const wrapTable = (table: Table): Table => ({
    ...table,
    get: (key) => (fails('get', key) ? refuse() : table.get(key)),
    queryWorkPage: (query) => (fails('queryWorkPage') ? refuse() : table.queryWorkPage(query)),
    update: (update) => (fails('update', update.key) ? refuse() : table.update(update)),
  });
  const answer = () => {
    if (lockedCount === lockCount) return Response.json({ operations: [] });
    lockedCount += 1;
    isArmed = true;
    return Response.json({ code: 'LOCKED' }, { status: 423 });
  };
  const door = await openApi(answer, { wrapTable });
  door.know(PROJECT_ID);
  return {
    ...door,
    arm: () => {
      isArmed = true;
    },
    isSpent: () => !isArmed,
  };
}

const is = (wanted: Key) => (_call: keyof Table, key?: Key) => key?.pk === wanted.pk && key.sk === wanted.sk;

test.each([
  ['the count of the commands in line', (call: keyof Table) => call === 'queryWorkPage'],
  ['the line of the project', is(projectLineKey(ACCOUNT_ID, PROJECT_ID))],
  ['the record of the project', is(projectKey(ACCOUNT_ID, PROJECT_ID))],
])('a command is put in line by its repetition when %s could not be read', async (_what, isHit) => {
  const door = await openFailing(isHit);
  door.arm();

  const first = await door.ask('POST', RESTART, IN_LINE);
  const again = await door.ask('POST', RESTART, IN_LINE);

  expect(door.isSpent()).toBe(true);
  expect(first.status).toBe(500);
  expect(first.body.detail).toMatch(/Nothing waits in line/);
  expect(again.status).toBe(202);
});

test('the refusal of the upstream is the answer when the freeze cannot be read before the repetition', async () => {
  const door = await openFailing(is(freezeKey(ACCOUNT_ID)), 1);

  const first = await door.ask('POST', RESTART, KEYED);
  const again = await door.ask('POST', RESTART, KEYED);

  expect(door.isSpent()).toBe(true);
  expect([first.status, again.status]).toEqual([423, 200]);
});
