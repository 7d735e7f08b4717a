/** Checks that a bound on the number of projects never leaves one unread in silence. */

import type { Violation } from '../../check-history.ts';
import type { Evidence } from './evidence.ts';

/** The metric of a process can be lost when the process ends in that moment. */
const LISTINGS_MIN = 3;

export function checkBound({ stage, answers }: Evidence): readonly Violation[] {
  const { projectsMax } = stage.world.plan;
  if (projectsMax === undefined) return [];
  const listings = Map.groupBy(
    answers.filter(({ route }) => route === 'projects'),
    ({ by }) => by,
  );
  return [...listings].flatMap(([by, own]) => {
    const showsAll = own.filter(({ shownIds }) => shownIds.length > projectsMax);
    const isTold = stage.ear.lines.some((line) => line.by === by && line.event === 'bound.met');
    const isMeasured = (stage.ear.sums.get('BoundMet') ?? 0) > 0;
    if (showsAll.length < LISTINGS_MIN || (isTold && isMeasured)) return [];
    return [{ rule: 'bound-in-silence', operation_id: '', detail: `${by} polls ${projectsMax} projects` }];
  });
}
