import { describe, expect, test } from 'vitest';
import { afterRefusal, FULL_SHARE } from '../../shared/rates/account-rate.ts';
import { anOperation } from '../builders.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const other = 'wild-river-87654321';
const anHourOf = (projectId: string, count: number) =>
  Array.from({ length: count }, (_, index) =>
    anOperation({
      id: `${projectId}-${index}`,
      project_id: projectId,
      created_at: new Date(Date.UTC(2026, 0, 15, 11, 59) - index * 600_000).toISOString(),
      status: 'finished',
    }),
  );

describe('a process after another one', () => {
  test('knows how often something happens in a project before it has read it', async () => {
    const walkLimits = { firstPageRows: 100, widePageRows: 1_000, pagesMax: 20, overlapMs: 300_000 };
    const { script, poll, restart, deps } = anAccount({ walkLimits });
    script.projectIds.push(other);
    script.operations = [...anHourOf(PROJECT_ID, 90), ...anHourOf(other, 1)];
    await poll(10_000);
    restart();
    const histories: unknown[] = [];
    const { planner } = deps();
    const addProjects = planner.addProjects.bind(planner);
    planner.addProjects = (ids, known) => {
      histories.push(Object.fromEntries(known ?? []));
      addProjects(ids, known);
    };
    await poll(10_000);

    expect(histories.at(-1)).toMatchObject({
      [PROJECT_ID]: { arrivalCount: 90 },
      [other]: { arrivalCount: 1 },
    });
  });

  test('keeps to what refusals have taught the one before it', async () => {
    const { poll, restart, deps, nowMs } = anAccount();
    await poll(10_000);
    const share = afterRefusal(FULL_SHARE, nowMs());
    deps().budget.restore({ share, pausedUntilMs: nowMs() + 500 });
    await poll(60_000);
    restart();

    expect(deps().budget.learned().share.ceiling).toBe(1);
    await poll(10_000);
    expect(deps().budget.learned().share).toEqual(share);
  });

  test('knows which fields of the list show transitions', async () => {
    const { poll, restart, deps } = anAccount();
    const evidence = deps()
      .planner.hintEvidence()
      .map((field) => ({
        ...field,
        hitCount: 40,
        moveCount: 44,
        recall: { foundCount: 40, missedCount: 3 },
      }));
    deps().planner.restoreHints(evidence);
    await poll(60_000);
    restart();
    await poll(10_000);

    expect(deps().planner.hintEvidence()).toEqual(evidence);
  });

  test('goes to work all the same when the status cannot be read', async () => {
    const { poll, deps, calls } = anAccount();
    Object.assign(deps().status ?? {}, { read: () => Promise.reject(new Error('throttled')) });
    await poll(10_000);

    expect(calls).toContain(`operations ${PROJECT_ID}`);
  });
});
