/** Puts into the table what the poller keeps of the operations of an account: how long they took, how often they failed, and how many began. */

import { createInsightsStore, dayOf } from '../../../shared/insights/day-insights.ts';
import { createHourCountsStore, hourOf } from '../../../shared/insights/hour-counts.ts';
import { createProjectNames, namesPlaceOf } from '../../../shared/store/project-names.ts';
import { aChange, addTo } from '../../insights/values.ts';
import { type Happening, happens } from './script.ts';

interface Usual {
  readonly action: string;
  /** Within seven days this many operations of the action ended. */
  readonly operations: number;
  /** This many of them failed at least once. */
  readonly failed: number;
  /** In the hour before, this many operations of the account began. */
  readonly startedPerHour: number;
}

const ACCOUNT = 'main';

/** Says what is usual of an action, beside what was said of other actions before. */
export function isUsual({ action, operations, failed, startedPerHour }: Usual): Happening {
  const words = `of ${operations} operations ${action} within a week ${failed} failed; ${startedPerHour} operations began in the last hour`;
  return happens(words, async ({ memory, clock }) => {
    const day = dayOf(clock.now());
    const samples = Array.from({ length: operations }, (_, place) => ({
      projectId: 'any',
      action,
      day,
      durationMs: 1_200,
      attempts: place < failed ? 2 : 1,
    }));
    await addTo(createInsightsStore(memory, ACCOUNT).itemOf({ projectId: undefined, day }), samples);
    const item = createHourCountsStore(memory, ACCOUNT).itemOf(hourOf(clock.now() - 3_600_000));
    await addTo(item, [aChange({ startedCount: startedPerHour, failedCount: 0 })]);
  });
}

/** The project list has shown these names. */
export function areNamed(names: Readonly<Record<string, string>>): Happening {
  const words = Object.entries(names).map(([project, name]) => `${project} is named "${name}"`);
  return happens(words.join(', '), async ({ memory }) => {
    const store = createProjectNames(memory, ACCOUNT);
    for (const [project, name] of Object.entries(names)) {
      const place = namesPlaceOf(project);
      const { names: known = new Map<string, string>(), revision = 0 } =
        (await store.readAll()).get(place) ?? {};
      await store.write(place, { names: new Map([...known, [project, name]]), revision: revision + 1 });
    }
  });
}
