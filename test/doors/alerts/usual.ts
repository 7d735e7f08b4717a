/** Puts into the table what the poller keeps of the operations of an account: how long they took, how often they failed, and how many began. */

import { createInsightsStore, dayOf, withSamples } from '../../../shared/insights/day-insights.ts';
import { createHourCountsStore, hourOf } from '../../../shared/insights/hour-counts.ts';
import { createProjectNames, namesPlaceOf } from '../../../shared/store/project-names.ts';
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
    const days = createInsightsStore(memory, ACCOUNT);
    const day = { projectId: undefined, day: dayOf(clock.now()) };
    const found = await days.readDay(day);
    if (found === 'unreadable') throw new Error('The day cannot be read');
    const samples = Array.from({ length: operations }, (_, place) => ({
      projectId: 'any',
      action,
      day: day.day,
      durationMs: 1_200,
      attempts: place < failed ? 2 : 1,
    }));
    const { insights } = withSamples(found.insights, samples);
    await days.writeDay(day, { insights, revision: found.revision + 1, writer: 'a-poller' });
    const hours = createHourCountsStore(memory, ACCOUNT);
    const hour = hourOf(clock.now() - 3_600_000);
    const counted = await hours.readHour(hour);
    if (counted === 'unreadable') throw new Error('The hour cannot be read');
    await hours.writeHour(hour, {
      counts: { ...counted.counts, started_count: startedPerHour },
      revision: counted.revision + 1,
    });
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
