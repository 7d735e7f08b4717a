import { describe, expect, test } from 'vitest';
import { chunkOf, digestOf } from '../../../../functions/poller/account/catalogue/catalogue-text.ts';
import { dueChunks } from '../../../../functions/poller/account/catalogue/due-chunks.ts';
import { NOON_MS } from '../../../builders.ts';

const HOUR_MS = 3_600_000;
const a = { id: 'a', history: undefined };
const chunk = chunkOf('a');

/** The chunk of the project `a` was written an hour ago, or at another time, and names it. */
const stored = (fields: Partial<{ revision: number; digest: number; writtenAtMs: number }> = {}) =>
  new Map([[chunk, { revision: 1, digest: digestOf([a]), writtenAtMs: NOON_MS - HOUR_MS, ...fields }]]);

describe('a chunk is written', () => {
  test('at once when there is none, and holds the projects that belong there', () => {
    expect(dueChunks(stored({ revision: 0 }), [a], NOON_MS)).toEqual([{ chunk, projects: [a] }]);
  });

  test('when its projects have changed for an hour, also when the last of them is gone', () => {
    expect(dueChunks(stored({ digest: 1 }), [a], NOON_MS)).toEqual([{ chunk, projects: [a] }]);
    expect(dueChunks(stored(), [], NOON_MS)).toEqual([{ chunk, projects: [] }]);
  });

  test('once a day when nothing has changed but how often something happens', () => {
    expect(dueChunks(stored({ writtenAtMs: NOON_MS - 24 * HOUR_MS }), [a], NOON_MS)).toHaveLength(1);
  });

  test('when a clock that goes wrong has written it days ahead', () => {
    expect(dueChunks(stored({ writtenAtMs: NOON_MS + 24 * HOUR_MS }), [a], NOON_MS)).toHaveLength(1);
  });
});

describe('a chunk is not written', () => {
  test('when nothing has changed', () => {
    expect(dueChunks(stored(), [a], NOON_MS)).toEqual([]);
  });

  test('when it was written less than an hour ago', () => {
    expect(dueChunks(stored({ digest: 1, writtenAtMs: NOON_MS - HOUR_MS + 1 }), [a], NOON_MS)).toEqual([]);
  });

  test('when another version wrote it, so that it cannot be read', () => {
    expect(dueChunks(new Map(), [a], NOON_MS)).toEqual([]);
  });

  test('when there is nothing to write and no such item', () => {
    expect(dueChunks(stored({ revision: 0 }), [], NOON_MS)).toEqual([]);
  });
});
