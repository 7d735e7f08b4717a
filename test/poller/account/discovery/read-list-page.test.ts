import { describe, expect, test } from 'vitest';
import { fetchListPage } from '../../../../functions/poller/account/discovery/list-page.ts';
import { readListPage } from '../../../../functions/poller/account/discovery/project-list.ts';
import { UpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../../builders.ts';
import { anInvocation, BOOT_AT, named, PERMIT } from '../invocation-under-test.ts';

describe('a page of the project list', () => {
  test('is asked for with the signal of the deadline and the permit that was taken for it', async () => {
    const { deps, stop, listCalls } = anInvocation();
    await fetchListPage(deps, 'a', PERMIT);
    await fetchListPage(deps, undefined, PERMIT);

    expect(listCalls).toEqual([
      { cursor: 'a', limit: 400, options: { signal: stop.signal, permit: PERMIT } },
      { cursor: undefined, limit: 400, options: { signal: stop.signal, permit: PERMIT } },
    ]);
    expect(Object.keys(listCalls[1] ?? {})).toContain('cursor');
  });

  test('says what it shows, when its projects were created, and what time it is upstream', async () => {
    const { deps, nowMs, script } = anInvocation();
    script.serverDateMs = () => 17;
    script.pages = {
      '': {
        projects: [{ id: 'a', created_at: '2025-01-01T00:00:00Z' }, { id: 'b' }],
        unavailableProjectIds: ['c'],
        malformedRowCount: 2,
        cursor: 'b',
      },
    };

    expect(await fetchListPage(deps, undefined, PERMIT)).toEqual({
      rows: [{ id: 'a', created_at: '2025-01-01T00:00:00Z' }, { id: 'b' }],
      projectIds: ['a', 'b'],
      unavailableProjectIds: ['c'],
      malformedRowCount: 2,
      cursor: 'b',
      createdAtOf: new Map([['a', '2025-01-01T00:00:00Z']]),
      readAtMs: 17,
    });
    script.serverDateMs = () => undefined;
    expect((await fetchListPage(deps, undefined, PERMIT)).readAtMs).toBe(nowMs());
  });

  test('counts rows that cannot be read, and says nothing when there are none', async () => {
    const { deps, script, measures } = anInvocation();
    await fetchListPage(deps, undefined, PERMIT);
    expect(measures).toEqual([]);
    script.pages = { '': { malformedRowCount: 3 } };
    await fetchListPage(deps, undefined, PERMIT);

    expect(measures).toEqual([['MalformedRows', 3]]);
  });
});

describe('a page of the project list in its turn', () => {
  const turn = { kind: 'list', page: 2, cursor: 'b' } as const;

  test('adds the projects that it shows, as news, and reports its rows to the planner', async () => {
    const { deps, discovery, memory, know, script, planned, takeEvents } = anInvocation();
    await know();
    discovery.origin.bootAt = BOOT_AT;
    memory.listings.hasReadWholeList = true;
    script.pages = { b: { projects: named('new') } };

    await readListPage(deps, discovery, turn, PERMIT);

    expect(takeEvents()).toEqual([['Project Discovered', 'new']]);
    expect(planned.pages).toMatchObject([[2, { projectIds: ['new'] }, NOON_MS]]);
    expect(planned.added).toEqual(['new']);
  });

  test('begins the listings anew that had not shown a project which it shows', async () => {
    const { deps, discovery, memory, nowMs, script } = anInvocation();
    const absence = {
      firstNotFoundAtMs: NOON_MS,
      lastNotFoundAtMs: NOON_MS,
      notFoundCount: 3,
      absentCount: 2,
      isDoubtful: true,
      lastListedAtMs: undefined,
    };
    for (const id of ['shown', 'unavailable', 'absent']) memory.projects.absences.set(id, absence);
    script.pages = { b: { projects: named('shown'), unavailableProjectIds: ['unavailable'] } };

    await readListPage(deps, discovery, turn, PERMIT);

    const anew = { absentCount: 0, isDoubtful: false, lastListedAtMs: nowMs() };
    expect(memory.projects.absences.get('shown')).toEqual({ ...absence, ...anew });
    expect(memory.projects.absences.get('unavailable')).toEqual({ ...absence, ...anew });
    expect(memory.projects.absences.get('absent')).toEqual(absence);
  });

  test('that fails is reported as not read, and fails', async () => {
    const { deps, discovery, script, planned } = anInvocation();
    script.pages = { b: 'unavailable' };

    await expect(readListPage(deps, discovery, turn, PERMIT)).rejects.toThrow(UpstreamError);
    expect(planned.pages).toEqual([[2, undefined, NOON_MS]]);
  });
});
