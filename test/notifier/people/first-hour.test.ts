/**
 * Judges what a team gets in the hour after it has started the bridge with 80 projects: few rings, no message about
 * something that healed within five minutes, nothing critical late, and nothing missing that needed a person.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import type { Notice } from '../../../functions/notifier/deciding/notice.ts';
import { type Watched, watchAccount } from './account-under-watch.ts';
import { LASTING_MS, needOf, troubleMs } from './what-needs-a-person.ts';

/** Messages of the worst hour are gathered for at most forty minutes, so what comes in later may still wait. */
const GATHERED_MS_MAX = 40 * 60_000;

/** With this rate limit the bridge reads each project about once a minute, so it sees the end of a failure up to that much later. */
const SEEN_WITHIN_MS = 75_000;

/** An event is delivered within five seconds here, and the sweep comes once a minute. */
const SHOWN_WITHIN_MS = 65_000;

/** Slack rings at most once in ten minutes, and the sweep that rings comes once a minute. */
const RUNG_WITHIN_MS = 11 * 60_000;

function isCritical(notices: readonly Notice[]): boolean {
  return notices.some(({ severity }) => severity === 'critical');
}

function isOfOne(one: Notice, other: Notice): boolean {
  return one.project_id === other.project_id && one.operation_id === other.operation_id;
}

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

  test('rings at most six times, and at most three times for what is not critical', () => {
    const rings = hour.sent.filter(({ hasRung }) => hasRung);
    // A ring without notices is about critical ones that have joined a message silently.
    const others = rings.filter(({ message }) => message.length > 0 && !isCritical(message.flat()));
    expect(hour.truth.filter((operation) => needOf(operation, hour.endMs)).length).toBeGreaterThan(20);
    expect(rings.length).toBeGreaterThan(0);
    expect(rings.length).toBeLessThanOrEqual(6);
    expect(others.length).toBeLessThanOrEqual(3);
  });

  test('shows everything critical within a minute, and rings for it within eleven', () => {
    const shown = hour.sent.flatMap(({ atMs, message }) =>
      message.flat().map((notice) => ({ atMs, notice })),
    );
    const critical = shown.filter(({ notice }) => isCritical([notice]));
    // A failure that goes on is critical already, and further attempts are told once in five minutes.
    const news = critical.filter(
      ({ notice }, place) =>
        notice.kind !== 'failed' ||
        !critical.slice(0, place).some((before) => isOfOne(before.notice, notice)),
    );
    const late = news.filter(({ atMs, notice }) => atMs > Date.parse(notice.observed_at) + SHOWN_WITHIN_MS);
    const rungAtMs = hour.sent.filter(({ hasRung }) => hasRung).map(({ atMs }) => atMs);
    const silent = critical.filter(({ atMs, notice }) => {
      const hasEnded = shown.some(
        (after) => after.atMs >= atMs && after.notice.severity === 'info' && isOfOne(after.notice, notice),
      );
      const isDue = atMs + RUNG_WITHIN_MS < hour.endMs;
      return isDue && !hasEnded && !rungAtMs.some((ms) => ms >= atMs && ms <= atMs + RUNG_WITHIN_MS);
    });

    expect(critical.length).toBeGreaterThan(10);
    expect(late).toEqual([]);
    expect(silent).toEqual([]);
  });

  test('has one message that says how much is watched and how much failed at the beginning', () => {
    const sights = notices().filter(({ kind }) => kind === 'first_sight');
    const failing = hour.truth.filter(
      ({ states }) => states.filter(({ at_ms }) => at_ms <= hour.startMs).at(-1)?.status === 'failed',
    );

    // A project that is created while the first ones are read is watched, too.
    const sightMs = Date.parse(sights[0]?.observed_at ?? '');
    const countAt = (ms: number) => {
      const begun = hour.truth.filter(({ states }) => (states[0]?.at_ms ?? 0) <= ms);
      return new Set(begun.map(({ project_id }) => project_id)).size;
    };
    // The first reading takes minutes, and a project that is created meanwhile may come with the next list.
    expect(sights).toHaveLength(1);
    expect(sights[0]?.found?.project_count).toBeGreaterThanOrEqual(countAt(sightMs - 5 * 60_000));
    expect(sights[0]?.found?.project_count).toBeLessThanOrEqual(countAt(sightMs));
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
