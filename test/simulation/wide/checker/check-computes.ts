/** Checks that the poller leaves a list of computes alone for a while after the upstream has refused it. */

import type { Violation } from '../../check-history.ts';
import { LEFT_ALONE_MS } from '../timeline.ts';
import type { LoggedRequest } from '../upstream/request-log.ts';
import type { Evidence } from './evidence.ts';

export function checkComputes({ stage }: Evidence): readonly Violation[] {
  const readings = stage.upstream.log.filter(({ route }) => route === 'computes');
  const byReader = Map.groupBy(readings, ({ by, projectId }) => `${by} ${projectId}`);
  return [...byReader.values()].flatMap(askedAgain);
}

/** `readings` are those that one process made of one project. */
function askedAgain(readings: readonly LoggedRequest[]): readonly Violation[] {
  return readings.flatMap(({ by, projectId = '', atMs }, place) => {
    const before = readings[place - 1];
    const isRefused = before?.isDelivered === true && before.status === 403;
    if (!isRefused || atMs - before.atMs >= LEFT_ALONE_MS) return [];
    const detail = `by ${by} ${Math.round((atMs - before.atMs) / 1_000)} s after it was refused`;
    return [{ rule: 'computes-asked-again', operation_id: projectId, detail }];
  });
}
