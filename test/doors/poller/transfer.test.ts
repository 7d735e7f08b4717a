/** A project that moves between accounts of the bridge is one project: nothing of it is lost, and nothing is told again. */

import { expect, test } from 'vitest';
import { MINUTE_MS } from './bridge.ts';
import { brokenPromises } from './promises.ts';
import { anOperationRow, idOf, PROJECT_ID, timeOf } from './rows.ts';
import { CREATED_MS, severalAccounts } from './several-accounts.ts';

type AccountId = 'left' | 'right' | 'third';
type AccountIds = readonly [AccountId, ...AccountId[]];
const THREE: AccountIds = ['left', 'right', 'third'];

type Bridge = ReturnType<typeof severalAccounts<AccountId>>;

/** The accounts are known for minutes, and the left one has a project with operations that have ended, failed and go on. */
async function aProject(ids: AccountIds = ['left', 'right'], settings = {}): Promise<Bridge> {
  const bridge = severalAccounts<AccountId>(ids, settings);
  const { left } = bridge.services;
  for (const id of ids) bridge.services[id].addProject(`another-project-${id}`);
  await bridge.run(3 * MINUTE_MS);
  left.addProject(PROJECT_ID, new Date(CREATED_MS).toISOString());
  for (let number = 1; number <= 4; number++)
    left.put(anOperationRow(number, bridge.nowMs() + number * 1_000, { status: 'finished' }));
  left.put(anOperationRow(5, bridge.nowMs() + 5_000, { status: 'failed', failures_count: 1 }));
  left.put(anOperationRow(6, bridge.nowMs() + 6_000, { action: 'create_branch' }));
  await bridge.run(2 * MINUTE_MS);
  return bridge;
}

const change = (bridge: Bridge, account: AccountId, number: number, fields: object) => {
  const row = bridge.services[account].rows().find(({ id }) => id === idOf(number));
  if (row !== undefined)
    bridge.services[account].put({ ...row, updated_at: timeOf(bridge.nowMs()), ...fields });
};

/** What was told of operations under one account or another, as one chain for each operation. */
function broken(bridge: Bridge): readonly string[] {
  return brokenPromises(
    bridge.copies(),
    Object.values(bridge.services).flatMap((service) => service.rows()),
  );
}

const told = (bridge: Bridge, type: string) =>
  bridge
    .events(type)
    .filter(({ detail }) => detail['project_id'] === PROJECT_ID)
    .map(({ detail: { account_id, from_account_id, to_account_id } }) => ({
      account_id,
      ...(from_account_id !== undefined && { from_account_id, to_account_id }),
    }));

const TRANSFERRED = { account_id: 'right', from_account_id: 'left', to_account_id: 'right' };

/** It moves, and what was open goes on in the other account. */
async function afterMove(bridge: Bridge): Promise<void> {
  bridge.move(PROJECT_ID, 'left', 'right');
  bridge.services.right.put(anOperationRow(7, bridge.nowMs(), { status: 'finished' }));
  await bridge.run(6 * MINUTE_MS);
  change(bridge, 'right', 5, { status: 'finished' });
  change(bridge, 'right', 6, { status: 'finished' });
  bridge.services.right.put(anOperationRow(8, bridge.nowMs()));
  await bridge.run(2 * MINUTE_MS);
}

test('a project that moves gives one event, and its operations go on with their sequences', async () => {
  const bridge = await aProject();

  await afterMove(bridge);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Unreachable')).toEqual([]);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }]);
  expect(broken(bridge)).toEqual([]);
  const failures = bridge.events('Operation State Changed').map(({ detail }) => detail['new_failures']);
  expect(failures.filter((count) => count !== 0)).toEqual([1]);
  const last = bridge
    .events('Operation State Changed')
    .findLast(({ detail }) => detail.status === 'finished');
  expect(last?.detail).toMatchObject({ account_id: 'right', sequence: 2 });
});

test('the account that has it waits with its statement until the list of the other one was read', async () => {
  const bridge = await aProject();
  const { right } = bridge.services;
  const untilMs = bridge.nowMs() + 2 * MINUTE_MS;
  right.dials.answers = ({ path, atMs }) =>
    path === '/projects' && atMs < untilMs ? { status: 503, body: {} } : undefined;

  await afterMove(bridge);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Unreachable')).toEqual([]);
  expect(broken(bridge)).toEqual([]);
});

test('one listing that shows the project is enough for it to go on', async () => {
  const bridge = await aProject();
  const { right } = bridge.services;
  bridge.move(PROJECT_ID, 'left', 'right');
  let isShown = false;
  right.dials.answers = ({ path }) => {
    if (path !== '/projects') return undefined;
    if (isShown) return { status: 503, body: {} };
    isShown = true;
    return undefined;
  };

  await bridge.run(8 * MINUTE_MS);

  expect(isShown).toBe(true);
  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Unreachable')).toEqual([]);
});

test('a project that moves is no new one while the table is too busy to read what the account that had it knows of it', async () => {
  const bridge = await aProject();
  let sinceMs: number | undefined;
  bridge.dials.isUnread = ({ pk, sk }) => {
    if (pk !== `A#left#P#${PROJECT_ID}` || sk !== 'PROJECT') return false;
    sinceMs ??= bridge.nowMs();
    return bridge.nowMs() < sinceMs + 40_000;
  };
  bridge.move(PROJECT_ID, 'left', 'right');

  await bridge.run(8 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }]);
});

test('a project that both accounts can see is told by both, as if each were alone', async () => {
  const bridge = await aProject();
  const { left, right } = bridge.services;

  right.addProject(PROJECT_ID, new Date(CREATED_MS).toISOString());
  for (const row of left.rows()) right.put(row);
  await bridge.run(6 * MINUTE_MS);
  for (const account of ['left', 'right'] as const) change(bridge, account, 6, { status: 'finished' });
  await bridge.run(2 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([]);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }, { account_id: 'right' }]);
  for (const account of ['left', 'right'] as const) {
    const own = bridge.copies().filter(({ detail }) => detail['account_id'] === account);
    expect(brokenPromises(own, bridge.services[account].rows())).toEqual([]);
  }
});

test('a project that is deleted is unreachable after the time for which others are waited for', async () => {
  const bridge = await aProject();

  bridge.services.left.removeProject(PROJECT_ID);
  await bridge.run(4 * MINUTE_MS);
  expect(told(bridge, 'Project Unreachable')).toEqual([]);
  await bridge.run(3 * MINUTE_MS);

  expect(told(bridge, 'Project Unreachable')).toEqual([{ account_id: 'left' }]);
});

test('when the account that had it does not answer, the other one goes on by itself, and says so', async () => {
  const bridge = await aProject();
  bridge.services.left.dials.answers = () => ({ status: 503, body: {} });

  bridge.move(PROJECT_ID, 'left', 'right');
  await bridge.run(14 * MINUTE_MS);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }]);
  await bridge.run(4 * MINUTE_MS);

  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }, { account_id: 'right' }]);
  expect(bridge.logs).toContainEqual(
    expect.objectContaining({ event: 'transfer.undecided', project_id: PROJECT_ID }),
  );
});

test('a project that comes back goes on where it was', async () => {
  const bridge = await aProject();
  await afterMove(bridge);

  bridge.move(PROJECT_ID, 'right', 'left');
  await bridge.run(6 * MINUTE_MS);
  change(bridge, 'left', 8, { status: 'finished' });
  bridge.services.left.put(anOperationRow(9, bridge.nowMs()));
  await bridge.run(2 * MINUTE_MS);

  const back = { account_id: 'left', from_account_id: 'right', to_account_id: 'left' };
  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED, back]);
  expect(told(bridge, 'Project Unreachable')).toEqual([]);
  expect(broken(bridge)).toEqual([]);
});

test('a process that has begun since the move says that the project is gone, although no list shows it to it', async () => {
  const bridge = await aProject();
  for (const number of [5, 6]) change(bridge, 'left', number, { status: 'finished' });
  await bridge.run(MINUTE_MS);

  bridge.killAt(1);
  bridge.move(PROJECT_ID, 'left', 'right');
  await bridge.run(8 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Unreachable')).toEqual([]);
  expect(broken(bridge)).toEqual([]);
});

/** The process dies at such a call, from the transfer on, and the next one goes on with nothing but the table. */
test.each([3, 40, 90, 140, 190, 240, 290, 340, 390, 440, 490, 540])(
  'a process that dies at call %i of the transfer loses nothing and tells nothing twice',
  async (call) => {
    const bridge = await aProject();
    bridge.killAt(call);

    await afterMove(bridge);
    await bridge.run(MINUTE_MS);

    expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
    expect(told(bridge, 'Project Unreachable')).toEqual([]);
    expect(broken(bridge)).toEqual([]);
  },
);

const transferred = (from_account_id: AccountId, to_account_id: AccountId) => ({
  account_id: to_account_id,
  from_account_id,
  to_account_id,
});

/** For these minutes nobody can read the project list of the account. */
function hideList(bridge: Bridge, account: AccountId, minutes: number): void {
  const untilMs = bridge.nowMs() + minutes * MINUTE_MS;
  bridge.services[account].dials.answers = ({ path, atMs }) =>
    path === '/projects' && atMs < untilMs ? { status: 503, body: {} } : undefined;
}

test('a project that moves on and comes back goes on from the account that had it last', async () => {
  const bridge = await aProject(THREE);

  await afterMove(bridge);
  for (const [from, to, number] of [
    ['right', 'third', 20],
    ['third', 'right', 30],
  ] as const) {
    bridge.move(PROJECT_ID, from, to);
    await bridge.run(6 * MINUTE_MS);
    bridge.services[to].put(anOperationRow(number, bridge.nowMs(), { status: 'failed', failures_count: 1 }));
    await bridge.run(MINUTE_MS);
  }
  for (const number of [8, 20, 30]) change(bridge, 'right', number, { status: 'finished' });
  await bridge.run(2 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([
    TRANSFERRED,
    transferred('right', 'third'),
    transferred('third', 'right'),
  ]);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }]);
  expect(broken(bridge)).toEqual([]);
});

test('a project that moved on goes on from the account that had it last, even when that one had said that it is gone', async () => {
  const bridge = await aProject(THREE);
  await afterMove(bridge);

  hideList(bridge, 'third', 10);
  bridge.move(PROJECT_ID, 'right', 'third');
  await bridge.run(14 * MINUTE_MS);
  change(bridge, 'third', 8, { status: 'finished' });
  await bridge.run(2 * MINUTE_MS);

  expect(told(bridge, 'Project Unreachable')).toEqual([{ account_id: 'right' }]);
  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED, transferred('right', 'third')]);
  expect(broken(bridge)).toEqual([]);
});

test('an account that loses sight of a project and sees it again has discovered it, although it once came from another', async () => {
  const bridge = await aProject();
  await afterMove(bridge);
  const { right } = bridge.services;

  right.removeProject(PROJECT_ID);
  await bridge.run(9 * MINUTE_MS);
  right.addProject(PROJECT_ID, new Date(CREATED_MS).toISOString());
  await bridge.run(6 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Unreachable')).toEqual([{ account_id: 'right' }]);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }, { account_id: 'right' }]);
});

/** The other account is no longer there, or no longer answers: it is taken off the bridge, or its service fails. */
const LEAVINGS: readonly (readonly [string, (bridge: Bridge) => void])[] = [
  [
    'is off the bridge',
    ({ watched }) => {
      watched.ids = ['left'];
    },
  ],
  [
    'does not answer',
    ({ services: { right } }) => {
      right.dials.answers = () => ({ status: 503, body: {} });
    },
  ],
];

test.each(LEAVINGS)(
  'operations of a project go on where it was said to be gone, when it comes back and the account that took it %s',
  async (_, leave) => {
    const bridge = await aProject();
    hideList(bridge, 'right', 10);
    bridge.move(PROJECT_ID, 'left', 'right');
    await bridge.run(18 * MINUTE_MS);
    expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);

    bridge.move(PROJECT_ID, 'right', 'left');
    leave(bridge);
    await bridge.run(20 * MINUTE_MS);
    for (const number of [5, 6]) change(bridge, 'left', number, { status: 'finished' });
    await bridge.run(2 * MINUTE_MS);
    const callsBefore = bridge.callCount();
    await bridge.run(10 * MINUTE_MS);

    const inLeft = bridge.copies().filter(({ detail }) => detail['account_id'] === 'left');
    expect(brokenPromises(inLeft, bridge.services.left.rows())).toEqual([]);
    expect(bridge.callCount() - callsBefore).toBeLessThan(CALLS_OF_TEN_QUIET_MINUTES);
  },
);

const CALLS_OF_TEN_QUIET_MINUTES = 2_500;

const FIXED = { project_ids: ['another-project-left', PROJECT_ID] };

test('a project that the configuration names is read again when it comes back from another account', async () => {
  const bridge = await aProject(undefined, { left: FIXED });
  await afterMove(bridge);

  bridge.move(PROJECT_ID, 'right', 'left');
  await bridge.run(22 * MINUTE_MS);
  change(bridge, 'left', 8, { status: 'finished' });
  bridge.services.left.put(anOperationRow(9, bridge.nowMs(), { status: 'failed', failures_count: 1 }));
  await bridge.run(2 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED, transferred('right', 'left')]);
  expect(broken(bridge)).toEqual([]);
});

test('a project that is gone from an account is asked for seldom there, although the configuration names it', async () => {
  const bridge = await aProject(undefined, { left: FIXED });
  await afterMove(bridge);

  const before = bridge.services.left.sent.length;
  await bridge.run(30 * MINUTE_MS);

  const asked = bridge.services.left.sent.slice(before).filter(({ path }) => path.includes(PROJECT_ID));
  expect(asked.length).toBeLessThan(4);
});

test('a project that the configuration names waits for the answer of another account, however long the lane stands still meanwhile', async () => {
  const bridge = await aProject(undefined, { right: { project_ids: ['another-project-right'] } });
  bridge.services.right.addProject(PROJECT_ID, new Date(CREATED_MS).toISOString());
  bridge.watched.settings = { right: { project_ids: ['another-project-right', PROJECT_ID] } };
  await bridge.run(MINUTE_MS);
  bridge.watched.ids = ['left'];
  await bridge.run(2 * MINUTE_MS);
  bridge.watched.ids = ['left', 'right'];
  await bridge.run(5 * MINUTE_MS);

  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }, { account_id: 'right' }]);
});

test('the account that had the project is waited for while it is paused', async () => {
  const bridge = await aProject();

  await bridge.setState('left', 'paused');
  await bridge.run(MINUTE_MS);
  bridge.move(PROJECT_ID, 'left', 'right');
  await bridge.run(6 * MINUTE_MS);
  await bridge.setState('left', 'active');
  await bridge.run(6 * MINUTE_MS);
  for (const number of [5, 6]) change(bridge, 'right', number, { status: 'finished' });
  await bridge.run(2 * MINUTE_MS);

  expect(told(bridge, 'Project Transferred')).toEqual([TRANSFERRED]);
  expect(told(bridge, 'Project Discovered')).toEqual([{ account_id: 'left' }]);
  expect(broken(bridge)).toEqual([]);
});
