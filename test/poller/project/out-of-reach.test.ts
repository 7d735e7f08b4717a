/** Tests a project that cannot be read: what the table holds of it is noted once, while the table still has it. */

import { describe, expect, test } from 'vitest';
import { UNKNOWN_HEAD } from '../../../functions/poller/walk-plan/resume-point.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import { anOperation, NOON_MS } from '../../builders.ts';
import { aProject, atMs, endedRows, MINUTE_MS, PROJECT_ID } from './project-under-test.ts';

const NEWEST = '2026-01-15T11:59:30.000000000Z' as Timestamp;

async function readOnce() {
  const project = aProject();
  const asked: string[] = [];
  Object.assign(project.deps, {
    askForRecorded: async (projectId: string) => {
      asked.push(projectId);
      return { operations: [{ id: 'newest', createdAt: NEWEST }], isBoundMet: false };
    },
  });
  project.script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS });
  await project.poll();
  const fail = async (kind: 'unavailable' | 'cancelled' | undefined) => {
    project.script.fails = () => kind;
    await project.poll();
  };
  return { ...project, asked, fail };
}

describe('a project that cannot be read', () => {
  test('is noted at the second failure in a row, once', async () => {
    const { fail, asked, stored } = await readOnce();
    await fail('unavailable');
    expect(asked).toEqual([]);
    await fail('unavailable');
    expect(asked).toEqual([PROJECT_ID]);
    expect(stored()).toMatchObject({ recorded_above: { newest: Date.parse(NEWEST) / 1_000 } });
    await fail('unavailable');
    await fail('unavailable');

    expect(asked).toEqual([PROJECT_ID]);
  });

  test('is not noted for failures that do not follow each other', async () => {
    const { fail, asked } = await readOnce();
    await fail('unavailable');
    await fail(undefined);
    await fail('unavailable');

    expect(asked).toEqual([]);
  });

  test('is noted again after it could be read meanwhile', async () => {
    const { fail, asked } = await readOnce();
    await fail('unavailable');
    await fail('unavailable');
    await fail(undefined);
    await fail('unavailable');
    await fail('unavailable');

    expect(asked).toEqual([PROJECT_ID, PROJECT_ID]);
  });

  test('is neither failing nor well when the end of an invocation has cut its poll', async () => {
    const { fail, asked } = await readOnce();
    await fail('unavailable');
    await fail('cancelled');
    expect(asked).toEqual([]);
    await fail('unavailable');

    expect(asked).toEqual([PROJECT_ID]);
  });

  test('whose list is unordered is noted, too: a process may have crashed before it named what it had recorded', async () => {
    const { fail, asked, put, stored } = await readOnce();
    const before = { older: Date.parse(NEWEST) / 1_000 - 60 };
    put({ is_unordered: true, recorded_until: UNKNOWN_HEAD, recorded_above: before });
    await fail('unavailable');
    await fail('unavailable');

    expect(asked).toEqual([PROJECT_ID]);
    expect(stored()).toMatchObject({
      recorded_until: UNKNOWN_HEAD,
      recorded_above: { ...before, newest: Date.parse(NEWEST) / 1_000 },
    });
  });

  test('is left as it is when the table cannot be asked', async () => {
    const { script, poll, stored } = aProject();
    script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS });
    await poll();
    script.fails = () => 'unavailable';
    await poll();
    await poll();

    expect(stored()).not.toHaveProperty('recorded_above');
  });
});

describe('a reading of the operations', () => {
  async function readWith(kind: 'unavailable' | 'cancelled' | undefined, failsFrom: number) {
    const { script, poll } = aProject();
    script.rows = endedRows(40, { newestMs: NOON_MS - MINUTE_MS });
    let callCount = 0;
    script.fails = () => (++callCount >= failsFrom ? kind : undefined);
    let readCount = 0;
    await poll({ onRead: () => void readCount++ });
    return readCount;
  }

  test('is reported once it is there, before anything is published', async () => {
    const order: string[] = [];
    const { script, poll, deps } = aProject();
    script.rows = [anOperation({ created_at: atMs(NOON_MS - 1_000) })];
    const publish = deps.bus.publish.bind(deps.bus);
    deps.bus.publish = async (events) => {
      order.push('published');
      return publish(events);
    };
    await poll({ onRead: () => void order.push('read') });

    expect(order).toEqual(['read', 'published']);
  });

  test('is one also where the deadline has cut it, and none where it failed or has not begun', async () => {
    expect(await readWith(undefined, 1)).toBe(1);
    expect(await readWith('cancelled', 2)).toBe(1);
    expect(await readWith('cancelled', 1)).toBe(0);
    expect(await readWith('unavailable', 2)).toBe(0);
  });
});
