import { expect, test } from 'vitest';
import { emptyMemory } from '../../../functions/poller/project/memory/project-memory.ts';
import { saveProgress } from '../../../functions/poller/project/save-progress.ts';
import { startWalk } from '../../../functions/poller/walk-plan/page-walk.ts';
import type { Progress } from '../../../shared/core/records/reading-progress.ts';
import { secondOf } from '../../../shared/core/time/timestamp.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);
const WATERMARK = secondOf(NOON_MS);
const NEWEST = secondOf(NOON_MS + 4_000);
const LIMITS = { firstPageRows: 5, widePageRows: 100, pagesMax: 4, overlapMs: 5_000 };

test('the newest operation of a project that cannot be read is looked up again when the table refused to note it', async () => {
  const memory = emptyMemory();
  const noted: Progress[] = [];
  let isThrottled = true;
  const deps = {
    store: {
      saveProgress: async (_projectId: string, progress: Progress) => {
        if (isThrottled) throw new Error('throttled');
        noted.push(progress);
        return 'recorded' as const;
      },
    },
    newestRecorded: async () => NEWEST,
    clock: { now: () => NOON_MS, sleep: async () => {} },
    telemetry: silentTelemetry,
    options: { watermarkStepRows: 1 },
  };
  const project = {
    kind: 'project',
    account_id: 'main',
    project_id: 'p',
    is_visible: true,
    revision: 0,
    published: 0,
    entries: [],
    watermark: WATERMARK,
  } as const;
  const walk = {
    state: startWalk({ bound: WATERMARK, resume: undefined }, LIMITS),
    lastPage: undefined,
    failure: 'unavailable',
  } as const;
  const nothingNew = { sweep: undefined, newerRowCount: 0, history: undefined, ended: [] };
  const poll = () => saveProgress(deps, { projectId: 'p', project, walk, ...nothingNew }, memory);
  await poll();
  await expect(poll()).rejects.toThrow('throttled');
  isThrottled = false;
  await poll();
  await poll();

  expect(noted).toEqual([{ recordedUntil: NEWEST }]);
});
