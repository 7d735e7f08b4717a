import { describe, expect, test } from 'vitest';
import { chunkOf } from '../../../../functions/poller/account/catalogue/catalogue-text.ts';
import { catalogueKey, projectKey } from '../../../../shared/store/keys.ts';
import type { Item } from '../../../../shared/store/table.ts';
import { anOperation } from '../../../builders.ts';
import { anAccount } from '../../account-under-test.ts';

const IDS = ['calm-lake-11111111', 'dark-wood-22222222', 'wild-river-33333333'] as const;
const [LAKE, WOOD, RIVER] = IDS;

const rowsOf = (projectId: string, count: number) =>
  Array.from({ length: count }, (_, place) =>
    anOperation({ id: `${projectId}-${place}`, project_id: projectId, status: 'finished' }),
  );

/** Sets up an account whose catalogue a process has written. Its next process does not get the project list. */
async function catalogued(cataloguedFrom = 3) {
  const walkLimits = { firstPageRows: 100, widePageRows: 1_000, pagesMax: 20, overlapMs: 300_000 };
  const account = anAccount({ cataloguedFrom, walkLimits });
  const { script, poll, restart, calls, table } = account;
  script.projectIds = [...IDS];
  script.operations = [...rowsOf(LAKE, 3), ...rowsOf(WOOD, 2)];
  await poll(60_000);
  const eventCount = account.events().length;
  restart();
  calls.length = 0;
  script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
  const change = (project: string, next: (item: Item) => Item | undefined) =>
    table.sync.replaceAll(
      table.sync.items().flatMap((item) => {
        const isRecord = item.pk === projectKey('main', project).pk && item.sk === 'PROJECT';
        return isRecord ? (next(item) ?? []) : [item];
      }),
    );
  return { ...account, change, newEvents: () => account.events().slice(eventCount) };
}

/** Returns the projects whose list was read, whether from its first page or from a cursor. */
const polledIn = (calls: readonly string[]) => {
  const lists = calls.filter((call) => call.startsWith('operations'));
  return [...new Set(lists.map((call) => call.split(' ').slice(0, 2).join(' ')))].toSorted();
};

describe('a process that starts cold in a large account', () => {
  test('polls all projects although the list cannot be read, and knows how often something happens there', async () => {
    const { poll, calls, deps, newEvents } = await catalogued();
    await poll(10_000);

    expect(polledIn(calls)).toEqual(IDS.map((id) => `operations ${id}`));
    expect(deps().planner.historyOf(LAKE)).toMatchObject({ arrivalCount: 3 });
    expect(newEvents()).toEqual([]);
  });

  test('publishes what happened while no process ran, before the list is read', async () => {
    const { poll, script, newEvents } = await catalogued();
    script.operations.unshift(
      anOperation({ id: 'new', project_id: WOOD, status: 'running', created_at: '2026-01-15T12:01:05Z' }),
    );
    await poll(10_000);

    expect(newEvents().map(({ operation_id }) => operation_id)).toEqual(['new']);
  });

  test('leaves a project without a record to the list, because only that says what is history there', async () => {
    const { poll, calls, change, memory, script, newEvents } = await catalogued();
    change(WOOD, () => undefined);
    await poll(10_000);

    expect(polledIn(calls)).toEqual([`operations ${LAKE}`, `operations ${RIVER}`]);
    expect(memory().projects.memories.has(WOOD)).toBe(false);

    script.fails = () => undefined;
    await poll(60_000);
    expect(newEvents().map(({ type, project_id }) => [type, project_id])).toEqual([
      ['Project Discovered', WOOD],
    ]);
  });

  test('leaves a project that is gone to the list, which publishes it when it is back', async () => {
    const { poll, calls, change, script, newEvents } = await catalogued();
    change(WOOD, (item) => ({ ...item, is_visible: false }));
    await poll(10_000);
    expect(calls).not.toContain(`operations ${WOOD}`);

    script.fails = () => undefined;
    await poll(60_000);
    expect(newEvents()).toMatchObject([{ type: 'Project Discovered', project_id: WOOD }]);
    expect(calls).toContain(`operations ${WOOD}`);
  });

  test('polls a project that could not be read for long, because only a reading makes it visible again', async () => {
    const { poll, calls, change, newEvents } = await catalogued();
    change(WOOD, (item) => ({ ...item, is_visible: false, is_unread: true }));
    await poll(10_000);

    expect(calls).toContain(`operations ${WOOD}`);
    expect(newEvents()).toMatchObject([{ type: 'Project Discovered', project_id: WOOD }]);
  });

  test('polls the projects of the other chunks when one chunk cannot be read', async () => {
    const { poll, calls, table } = await catalogued();
    const damaged = catalogueKey('main', chunkOf(WOOD)).sk;
    table.sync.replaceAll(
      table.sync.items().map((item) => (item.sk === damaged ? { ...item, kind: 'other' } : item)),
    );
    await poll(10_000);

    expect(polledIn(calls)).toEqual([`operations ${LAKE}`, `operations ${RIVER}`]);
    expect(table.sync.items().find(({ sk }) => sk === damaged)).toMatchObject({ kind: 'other' });
  });

  test('waits for the list when the catalogue cannot be read at all', async () => {
    const { poll, calls, deps, logs } = await catalogued();
    const { catalogue } = deps();
    Object.assign(catalogue ?? {}, { readAll: () => Promise.reject(new Error('throttled')) });
    await poll(10_000);

    expect(polledIn(calls)).toEqual([]);
    expect(logs.map(({ event }) => event)).toContain('catalogue.not_read');
  });

  test('adds what the catalogue does not name once the list shows it', async () => {
    const { poll, script, newEvents } = await catalogued();
    script.fails = () => undefined;
    script.projectIds.push('new-hill-44444444');
    await poll(30_000);

    expect(newEvents()).toMatchObject([{ type: 'Project Discovered', project_id: 'new-hill-44444444' }]);
  });
});

describe('a small account', () => {
  test('has no catalogue, and none is read', async () => {
    const { poll, calls, table, logs } = await catalogued(4);
    await poll(10_000);

    expect(table.sync.items().filter(({ sk }) => sk.startsWith('CATALOGUE#'))).toEqual([]);
    expect(polledIn(calls)).toEqual([]);
    expect(logs.map(({ event }) => event)).not.toContain('projects.recalled');
  });
});
