/**
 * Judges what a team gets in the hour after it has started the bridge with 80 projects: few messages, none of them about
 * something that healed within five minutes, and nothing missing that needed a person.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { type Watched, watchAccount } from './account-under-watch.ts';
import { LASTING_MS, needOf, troubleMs } from './what-needs-a-person.ts';

/** Messages of the worst hour are gathered for at most forty minutes, so what comes in later may still wait. */
const GATHERED_MS_MAX = 40 * 60_000;

/** With this rate limit the bridge reads each project about once a minute, so it sees the end of a failure up to that much later. */
const SEEN_WITHIN_MS = 75_000;

describe('the first hour with 80 projects', () => {
  let hour: Watched;

  beforeAll(async () => {
    hour = await watchAccount({ seed: 7, projectCount: 80, minutes: 60, requestsPerMinute: 75 });
  }, 600_000);

  const lasted = (id: string) => {
    const operation = hour.truth.find(({ operation_id }) => operation_id === id);
    return operation !== undefined && troubleMs(operation, hour.endMs) > LASTING_MS + SEEN_WITHIN_MS;
  };
  const notices = () => hour.sent.flatMap(({ message }) => message.flat());
  const named = () => new Set(notices().flatMap(({ operation_id }) => operation_id ?? []));

  test('has at most three messages about trouble', () => {
    // Good news holds nothing back, so it comes beside them.
    const troubles = hour.sent.filter(({ message }) =>
      message.flat().some(({ severity }) => severity !== 'info'),
    );
    expect(hour.truth.filter((operation) => needOf(operation, hour.endMs)).length).toBeGreaterThan(20);
    expect(troubles.length).toBeGreaterThan(0);
    expect(troubles.length).toBeLessThanOrEqual(3);
  });

  test('has one message that says how much is watched and how much failed at the beginning', () => {
    const sights = notices().filter(({ kind }) => kind === 'first_sight');
    const failing = hour.truth.filter(
      ({ states }) => states.filter(({ at_ms }) => at_ms <= hour.startMs).at(-1)?.status === 'failed',
    );

    // A project that is created while the first ones are read is watched, too.
    const sentAtMs = hour.sent.find(({ message }) =>
      message.flat().some(({ kind }) => kind === 'first_sight'),
    )?.atMs;
    const begun = hour.truth.filter(({ states }) => (states[0]?.at_ms ?? 0) <= (sentAtMs ?? 0));
    const project_count = new Set(begun.map(({ project_id }) => project_id)).size;
    expect(sights).toMatchObject([{ found: { project_count } }]);
    // The projects are read within minutes after the start, in which some of these operations are retried.
    expect(Math.abs((sights[0]?.found?.failing_count ?? 0) - failing.length)).toBeLessThanOrEqual(5);
  });

  test('names no operation that healed within five minutes', () => {
    const healed = hour.truth.filter(
      (operation) =>
        troubleMs(operation, hour.endMs) <= LASTING_MS - SEEN_WITHIN_MS && !needOf(operation, hour.endMs),
    );

    expect(healed.filter(({ operation_id }) => named().has(operation_id))).toEqual([]);
  });

  test('names no operation that had failed before the bridge watched and did nothing since', () => {
    const history = hour.truth.filter(({ states }) => states.every(({ at_ms }) => at_ms < hour.startMs));

    expect(history.filter(({ operation_id }) => named().has(operation_id))).toEqual([]);
  });

  test('misses nothing that needed a person, apart from what is being gathered at its end', () => {
    const needs = hour.truth
      .filter(({ states }) => states.every(({ at_ms }) => at_ms >= hour.startMs))
      .flatMap((operation) => needOf(operation, hour.endMs) ?? [])
      .filter(({ atMs }) => atMs < hour.endMs - GATHERED_MS_MAX)
      .filter(({ operationId, why }) => why !== 'lasting failure' || lasted(operationId));

    expect(needs.length).toBeGreaterThan(3);
    expect(needs.filter(({ operationId }) => !named().has(operationId))).toEqual([]);
  });
});
