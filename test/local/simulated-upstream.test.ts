import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRequestLimits } from '../../infra/local/upstream/limits.ts';
import { startUpstream } from '../../infra/local/upstream/start-upstream.ts';
import { createWorld, type WorldOptions } from '../../infra/local/upstream/world.ts';

const KEY = 'simulated-key';
const START_MS = Date.UTC(2026, 0, 15, 12);
const HOUR_MS = 3_600_000;
const aWorld = (fields: Partial<WorldOptions> = {}) =>
  createWorld({ seed: 7, projectCount: 5, startAtMs: START_MS, ...fields });

async function open(fields: Partial<WorldOptions> = {}) {
  let nowMs = START_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const upstream = await startUpstream({ seed: 7, projectCount: 5, apiKeys: [KEY], clock, ...fields });
  onTestFinished(() => upstream.close());
  const get = async (path: string, key = KEY) => {
    nowMs += 100;
    const answer = await fetch(`${upstream.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, headers: answer.headers, text, body: isJson ? parse(text) : undefined };
  };
  const [project] = upstream.world().projects();
  if (project === undefined) throw new Error('no project');
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { upstream, get, project, pass };
}

function parse(
  text: string,
): Record<string, never> & { operations: Row[]; projects: Row[]; pagination?: { cursor: string } } {
  try {
    return JSON.parse(text) as never;
  } catch {
    return { operations: [], projects: [] } as never;
  }
}

type Row = Record<string, string>;

describe('the simulated world', () => {
  test('lives the same life however its time advances', () => {
    const inOneStep = aWorld();
    inOneStep.advanceTo(START_MS + 2 * HOUR_MS);
    const inMany = aWorld();
    for (let ms = 0; ms <= 2 * HOUR_MS; ms += 7_777) inMany.advanceTo(START_MS + ms);
    inMany.advanceTo(START_MS + 2 * HOUR_MS);

    expect(inMany.groundTruth()).toEqual(inOneStep.groundTruth());
    expect(inOneStep.groundTruth().length).toBeGreaterThan(100);
  });

  test('is another one for another seed', () => {
    expect(aWorld({ seed: 8 }).projects()[0]?.id).not.toBe(aWorld().projects()[0]?.id);
  });

  test('shows every status and the usual actions within two days, each chain in order', () => {
    const world = aWorld();
    world.advanceTo(START_MS + 48 * HOUR_MS);
    const truth = world.groundTruth();
    const statuses = new Set(truth.flatMap(({ states }) => states.map(({ status }) => status)));
    const actions = new Set(truth.map(({ action }) => action));

    expect([...statuses].toSorted()).toEqual(
      [
        'cancelled',
        'cancelling',
        'error',
        'failed',
        'finished',
        'running',
        'scheduling',
        'skipped',
      ].toSorted(),
    );
    for (const action of [
      'create_branch',
      'start_compute',
      'suspend_compute',
      'apply_config',
      'check_availability',
      'create_timeline',
    ]) {
      expect(actions).toContain(action);
    }
    for (const { states } of truth) {
      expect(states.map(({ at_ms }) => at_ms)).toEqual(
        states.map(({ at_ms }) => at_ms).toSorted((a, b) => a - b),
      );
    }
    expect(truth.some(({ states }) => states.filter(({ status }) => status === 'failed').length > 1)).toBe(
      true,
    );
  });
});

describe('the simulated service', () => {
  test.each([1, 3, 100])('pages of %i rows give every operation once, newest first', async (limit) => {
    const { get, project } = await open({ historyMs: HOUR_MS });
    const ids: string[] = [];
    let cursor = '';
    for (;;) {
      const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await get(`/projects/${project.id}/operations?limit=${limit}${query}`);
      if (body?.pagination === undefined) break;
      ids.push(...body.operations.map(({ id }) => id ?? ''));
      cursor = body.pagination.cursor;
    }

    const expected = project.operations.filter(({ created_us }) => created_us / 1_000 <= START_MS + 60_000);
    expect(ids).toEqual(
      expected
        .toReversed()
        .slice(-ids.length)
        .map(({ id }) => id),
    );
    expect(ids.length).toBeGreaterThan(5);
  });

  test('rows show whole seconds, cursors microseconds without trailing zeros', async () => {
    const { get, project } = await open();
    const { body } = await get(`/projects/${project.id}/operations?limit=5`);

    for (const row of body?.operations ?? []) {
      expect(row['created_at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(row['updated_at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    }
    expect(body?.pagination?.cursor).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/);
  });

  test('lists all operations without a limit, and gives one by its id', async () => {
    const { get, project } = await open();
    const { body } = await get(`/projects/${project.id}/operations`);
    const [row] = body?.operations ?? [];
    const one = await get(`/projects/${project.id}/operations/${row?.['id']}`);

    expect(body?.operations.length).toBeGreaterThan(20);
    expect(one.body).toMatchObject({ operation: { id: row?.['id'] } });
  });

  test('has rows of the fields that real payloads have', async () => {
    const { get, project } = await open();
    const real = (file: string) =>
      parse(readFileSync(join(import.meta.dirname, '../fixtures/upstream', file), 'utf8'));
    const list = await get(`/projects/${project.id}/operations`);
    const projects = await get('/projects');
    const realOperation = real('trace2025.operations.01.get_projects_project_id_operations.response.json')
      .operations[0];
    const realProjects = [
      'trace2025.projects.01.get_projects.response.json',
      'recorded.project.01.get_projects.response.json',
    ];
    const realProjectKeys = realProjects.flatMap((file) => Object.keys(real(file).projects[0] ?? {}));

    const operationKeys = [...Object.keys(realOperation ?? {}), 'error'];
    for (const row of list.body?.operations ?? []) {
      expect(Object.keys(row).filter((name) => !operationKeys.includes(name))).toEqual([]);
      for (const name of operationKeys.filter((key) => !['endpoint_id', 'error'].includes(key)))
        expect(row).toHaveProperty(name);
    }
    for (const row of projects.body?.projects ?? []) {
      expect(Object.keys(row).filter((name) => !realProjectKeys.includes(name))).toEqual([]);
    }
  });

  test.each(['?limit=0', '?limit=1001', '?limit=x', '?cursor=yesterday'])(
    'refuses %s with the observed body',
    async (query) => {
      const { get, project } = await open();
      const { status, body } = await get(`/projects/${project.id}/operations${query}`);

      expect(status).toBe(400);
      expect(body).toMatchObject({
        code: '',
        message: expect.stringMatching(/^invalid request: /) as string,
      });
    },
  );

  test('lists ten projects by default and pages by id', async () => {
    const { get } = await open({ projectCount: 12 });
    const first = await get('/projects');
    const second = await get(`/projects?cursor=${first.body?.pagination?.cursor}`);

    expect(first.body?.projects).toHaveLength(10);
    expect(second.body?.projects).toHaveLength(2);
    const after = await get(`/projects?cursor=${second.body?.pagination?.cursor}`);
    expect(after.body?.projects).toEqual([]);
    expect(after.body).not.toHaveProperty('pagination');
  });

  test('answers 401 to a wrong, a missing and a revoked key, before anything else', async () => {
    const { get, upstream } = await open();
    upstream.revokeKey(KEY);

    for (const path of ['/projects', '/no/such/path']) {
      for (const key of ['wrong', '', KEY]) {
        const { status, body } = await get(path, key);
        expect(status).toBe(401);
        expect(body).toMatchObject({ message: 'supplied credentials do not pass authentication' });
      }
    }
  });

  test('answers 404 for what is not there', async () => {
    const { get, project } = await open();

    expect(await get('/projects/no-such-project-1/operations')).toMatchObject({
      status: 404,
      body: { message: 'project not found' },
    });
    expect(await get(`/projects/${project.id}/operations/none`)).toMatchObject({
      status: 404,
      body: { message: 'operation not found' },
    });
  });

  test('carries its own clock in every answer', async () => {
    const { get } = await open();

    expect(Date.parse((await get('/projects')).headers.get('date') ?? '')).toBe(START_MS);
  });
});

describe('the limits', () => {
  test('are 700 a minute for all routes together', () => {
    const limits = createRequestLimits();
    const admitted = Array.from({ length: 720 }, (_, place) =>
      limits.admit(`route ${place % 30}`, START_MS + place * 50),
    );

    expect(admitted.filter(Boolean)).toHaveLength(700);
    expect(limits.admit('route', START_MS + 60_001)).toBe(true);
  });

  test('are 40 a second for each route', () => {
    const limits = createRequestLimits();
    const admitted = Array.from({ length: 41 }, () => limits.admit('one', START_MS));

    expect(admitted.filter(Boolean)).toHaveLength(40);
    expect(limits.admit('another', START_MS)).toBe(true);
    expect(limits.admit('one', START_MS + 1_001)).toBe(true);
  });

  test('are enforced over HTTP', async () => {
    const { get, pass } = await open();
    const statuses: number[] = [];
    for (let count = 0; count < 60; count++) {
      pass(-90);
      statuses.push((await get('/projects')).status);
    }

    expect(statuses.slice(0, 40).every((status) => status === 200)).toBe(true);
    expect(statuses).toContain(429);
  });
});

describe('the fault dials', () => {
  test('are all off at first', async () => {
    const { get } = await open();
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async () => (await get('/projects')).status),
    );

    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test.each([
    ['rateLimited', 429],
    ['internalError', 500],
    ['unavailable', 503],
    ['htmlError', 524],
  ] as const)('%s gives %i', async (dial, status) => {
    const { get, upstream } = await open();
    upstream.faults[dial] = 1;

    expect((await get('/projects')).status).toBe(status);
  });

  test('429 says when to come back, when it is told to', async () => {
    const { get, upstream } = await open();
    Object.assign(upstream.faults, { rateLimited: 1, retryAfterSeconds: 3 });

    expect((await get('/projects')).headers.get('retry-after')).toBe('3');
  });

  test('connections break, and bodies end in the middle', async () => {
    const { get, upstream } = await open();
    upstream.faults.halfBody = 1;
    expect((await get('/projects')).text).not.toMatch(/\}$/);
    upstream.faults.halfBody = 0;
    upstream.faults.droppedConnection = 1;

    await expect(get('/projects')).rejects.toThrow();
  });

  test('project lists are partial and say so', async () => {
    const { get, upstream } = await open();
    upstream.faults.partialProjects = 1;
    const { body } = await get('/projects');

    expect(body?.projects).toHaveLength(4);
    expect(body?.['unavailable_project_ids']).toHaveLength(1);
  });

  test('rows become visible late', async () => {
    const { get, upstream, project } = await open();
    const before = (await get(`/projects/${project.id}/operations`)).body?.operations.length ?? 0;
    upstream.faults.visibleLateMs = 3 * HOUR_MS;
    const after = (await get(`/projects/${project.id}/operations`)).body?.operations.length ?? 0;

    expect(after).toBeLessThan(before);
  });

  test('ties share one microsecond', () => {
    const world = aWorld({ tieChance: 1 });
    const times = world
      .projects()
      .flatMap(({ operations }) => operations.map(({ created_us }) => created_us));

    expect(new Set(times).size).toBeLessThan(times.length);
  });
});
