/** Checks what users do with branches: every write is read back through another call. */

import { describe, expect, test } from 'vitest';
import { actionsOf, openProject, SETTLING_MS } from './answers-under-test.ts';
import { HOUR_MS, START_MS } from './upstream-under-test.ts';

const isoOf = (epochMs: number) => new Date(epochMs).toISOString();

describe('a branch', () => {
  test('is created from the default branch with a compute, and is ready when its create_branch has finished', async () => {
    const { base, branchId, send, get, settle, statusesOf } = await openProject();

    const { status, body } = await send('POST', `${base}/branches`, {
      branch: { name: 'feature' },
      endpoints: [{ type: 'read_write' }],
    });

    expect([status, actionsOf(body)]).toEqual([201, ['create_branch running', 'start_compute scheduling']]);
    expect(body.branch).toMatchObject({
      name: 'feature',
      parent_id: branchId,
      current_state: 'init',
      pending_state: 'ready',
    });
    expect(body.endpoints).toMatchObject([
      { branch_id: body.branch.id, current_state: 'init', pending_state: 'active' },
    ]);
    expect((await send('POST', `${base}/branches`)).status).toBe(423);
    settle();
    expect(await statusesOf(body.operations)).toEqual(['create_branch finished', 'start_compute finished']);
    const { branch } = (await get(`${base}/branches/${body.branch.id}`)).body;
    expect(branch).toMatchObject({ name: 'feature', current_state: 'ready', default: false });
    expect(branch).not.toHaveProperty('pending_state');
    const { endpoints } = (await get(`${base}/branches/${branch.id}/endpoints`)).body;
    expect(endpoints).toMatchObject([{ id: body.endpoints[0].id, current_state: 'active' }]);
  });

  test('stays init when its create_branch is cancelled, and cannot be a parent', async () => {
    for (let seed = 1; seed < 400; seed++) {
      const { base, send, get, upstream, statusesOf } = await openProject({ trouble: 1, seed });
      const { body } = await send('POST', `${base}/branches`);
      upstream.passMs(SETTLING_MS);
      const [ended] = await statusesOf(body.operations);
      if (ended !== 'create_branch cancelled') continue;

      expect((await get(`${base}/branches/${body.branch.id}`)).body.branch.current_state).toBe('init');
      const child = await send('POST', `${base}/branches`, { branch: { parent_id: body.branch.id } });
      expect([child.status, child.body.message]).toEqual([422, 'branch not ready yet']);
      return;
    }
    throw new Error('No seed cancels the creation of a branch');
  });

  test('is listed by search, sort order and pages, and counted', async () => {
    const { base, succeed, get } = await openProject();
    for (const name of ['b-two', 'a-one', 'c-three'])
      await succeed('POST', `${base}/branches`, { branch: { name } });
    const names = async (query: string) => {
      const { body } = await get(`${base}/branches?${query}`);
      return [body.branches.map(({ name }: { name: string }) => name), body.pagination];
    };

    expect((await names('sort_by=name&sort_order=asc'))[0]).toEqual(['a-one', 'b-two', 'c-three', 'main']);
    expect((await names(''))[0]).toEqual(['c-three', 'a-one', 'b-two', 'main']);
    expect((await names('search=one'))[0]).toEqual(['a-one']);
    const [first, { next }] = await names('limit=3&sort_by=name');
    const [second, last] = await names(`limit=3&sort_by=name&cursor=${next}`);
    expect([...first, ...second]).toEqual(['main', 'c-three', 'b-two', 'a-one']);
    expect(last).not.toHaveProperty('next');
    expect((await get(`${base}/branches/count?search=t`)).body).toEqual({ count: 2 });
    expect((await get(`${base}/branches?sort_by=size`)).status).toBe(400);
  });

  test('is renamed, protected and set as default, which its project shows', async () => {
    const { base, branchId, succeed, send, get } = await openProject();
    const { branch } = await succeed('POST', `${base}/branches`);

    const renamed = await succeed('PATCH', `${base}/branches/${branch.id}`, {
      branch: { name: 'renamed', protected: true },
    });
    const chosen = await succeed('POST', `${base}/branches/${branch.id}/set_as_default`);

    expect([renamed.operations, chosen.operations]).toEqual([[], []]);
    const shown = (await get(`${base}/branches/${branch.id}`)).body.branch;
    expect(shown).toMatchObject({ name: 'renamed', protected: true, default: true, primary: true });
    expect((await get(`${base}/branches/${branchId}`)).body.branch.default).toBe(false);
    const taken = await send('PATCH', `${base}/branches/${branchId}`, { branch: { name: 'renamed' } });
    expect(taken.status).toBe(409);
  });

  test('is deleted with its computes, once, and an active one is suspended first', async () => {
    const { base, succeed, send, get, settle } = await openProject();
    const { branch } = await succeed('POST', `${base}/branches`, { endpoints: [{ type: 'read_write' }] });

    const { status, body } = await send('DELETE', `${base}/branches/${branch.id}`);
    settle();

    expect([status, actionsOf(body)]).toEqual([
      200,
      ['suspend_compute running', 'delete_timeline scheduling'],
    ]);
    expect((await get(`${base}/branches/${branch.id}`)).status).toBe(404);
    expect((await get(`${base}/endpoints`)).body.endpoints).toHaveLength(1);
    const { operations } = (await get(`${base}/operations?limit=2`)).body;
    expect(actionsOf({ operations })).toEqual(['delete_timeline finished', 'suspend_compute finished']);
    expect((await send('DELETE', `${base}/branches/${branch.id}`)).status).toBe(204);
  });

  test.each([
    ['the default branch', (ids: { main: string }) => ids.main],
    ['a branch with children', (ids: { parent: string }) => ids.parent],
    ['a protected branch', (ids: { child: string }) => ids.child],
  ] as const)('is not deleted when it is %s', async (_what, choose) => {
    const { base, branchId, succeed, send } = await openProject();
    const parent = await succeed('POST', `${base}/branches`);
    const child = await succeed('POST', `${base}/branches`, {
      branch: { parent_id: parent.branch.id, protected: true },
    });
    const id = choose({ main: branchId, parent: parent.branch.id, child: child.branch.id });

    expect((await send('DELETE', `${base}/branches/${id}`)).status).toBe(422);
  });

  test('is deleted by the service when it expires', async () => {
    const { base, succeed, get, send, upstream, settle } = await openProject();
    const expires_at = isoOf(START_MS + HOUR_MS);
    const { branch } = await succeed('POST', `${base}/branches`, {
      branch: { expires_at },
      endpoints: [{ type: 'read_write' }],
    });
    expect(branch).toMatchObject({ expires_at: expires_at.replace('.000', ''), ttl_interval_seconds: 3600 });
    expect((await send('POST', `${base}/branches/${branch.id}/set_as_default`)).status).toBe(422);

    upstream.passMs(HOUR_MS);
    settle();

    expect((await get(`${base}/branches/${branch.id}`)).status).toBe(404);
    const { operations } = (await get(`${base}/operations?limit=1`)).body;
    expect(operations).toMatchObject([{ action: 'delete_timeline', branch_id: branch.id }]);
  });

  test('lives on when its expiry is taken away', async () => {
    const { base, succeed, get, upstream } = await openProject();
    const { branch } = await succeed('POST', `${base}/branches`, {
      branch: { expires_at: isoOf(START_MS + HOUR_MS) },
    });
    await succeed('PATCH', `${base}/branches/${branch.id}`, { branch: { expires_at: null } });
    upstream.passMs(2 * HOUR_MS);

    expect((await get(`${base}/branches/${branch.id}`)).body.branch).not.toHaveProperty('expires_at');
  });

  test('is refused beyond the limit of the plan, with a code', async () => {
    const { base, succeed, send } = await openProject({ plan: 'free' });
    for (let count = 1; count < 10; count++) await succeed('POST', `${base}/branches`);

    const { status, body } = await send('POST', `${base}/branches`);

    expect([status, body.code]).toEqual([422, 'BRANCHES_LIMIT_EXCEEDED']);
  });

  test.each([
    ['an unknown parent', { parent_id: 'br-none' }, 404],
    ['a time in the future', { parent_timestamp: isoOf(START_MS + HOUR_MS) }, 400],
    ['a time before the history', { parent_timestamp: isoOf(START_MS - 48 * HOUR_MS) }, 400],
    ['a text that is no LSN', { parent_lsn: 'somewhere' }, 400],
    ['an LSN that is not written yet', { parent_lsn: 'FF/0' }, 400],
    ['a time and an LSN', { parent_lsn: '0/1500000', parent_timestamp: isoOf(START_MS) }, 400],
    ['an expiry in the past', { expires_at: isoOf(START_MS - HOUR_MS) }, 400],
    ['a name that is taken', { name: 'main' }, 409],
    ['an empty name', { name: '' }, 400],
  ])('is not created from %s', async (_what, branch, status) => {
    const { base, send } = await openProject();

    expect((await send('POST', `${base}/branches`, { branch })).status).toBe(status);
  });
});
