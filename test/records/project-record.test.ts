import { describe, expect, test } from 'vitest';
import {
  decideDiscovery,
  decideUnreachable,
  decideUnread,
  type ProjectRecord,
} from '../../shared/records/project-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { NOON_MS } from '../builders.ts';

const sighting = { account_id: 'main', project_id: 'a', nowMs: NOON_MS, isNews: true };
const since = '2026-01-15T11:00:00.000000000Z' as Timestamp;
const OBSERVED_AT = '2026-01-15T12:00:00.000Z';

/** This record has everything that is kept of a project beside its events. */
const kept: ProjectRecord = {
  kind: 'project',
  account_id: 'main',
  project_id: 'a',
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
  bound: '2026-01-15T10:00:00.000000000Z' as Timestamp,
  since: '2026-01-01T00:00:00.000000000Z' as Timestamp,
  swept_at_ms: 17,
  resume: { head: since, cursor: 'row-1' },
  arrivals: { count: 4, observed_ms: 1_000 },
};

const gone = (): ProjectRecord => {
  const record = decideUnreachable(kept, NOON_MS);
  if (record === undefined) throw new Error('nothing changed');
  return record;
};

describe('a project that is seen', () => {
  test('for the first time is published, as the first entry of its journal', () => {
    expect(decideDiscovery(undefined, { ...sighting, since })).toEqual({
      kind: 'project',
      account_id: 'main',
      project_id: 'a',
      is_visible: true,
      since,
      revision: 1,
      published: 0,
      entries: [
        { type: 'project_discovered', id: expect.any(String), revision: 1, observed_at: OBSERVED_AT },
      ],
    });
  });

  test('while the account itself is seen for the first time is recorded and not published', () => {
    expect(decideDiscovery(undefined, { ...sighting, isNews: false })).toEqual({
      kind: 'project',
      account_id: 'main',
      project_id: 'a',
      is_visible: true,
      revision: 0,
      published: 0,
      entries: [],
    });
  });

  test('is not recorded again', () => {
    expect(decideDiscovery(kept, sighting)).toBeUndefined();
  });

  test('again keeps its bound, its journal and whatever else is kept of it', () => {
    const before = gone();
    const { entries, revision, is_visible, ...rest } =
      decideDiscovery(before, { ...sighting, since }) ?? kept;
    const { entries: entriesBefore, revision: _revision, is_visible: _visible, ...restBefore } = before;

    expect(rest).toEqual(restBefore);
    expect({ revision, is_visible }).toEqual({ revision: 2, is_visible: true });
    expect(entries.slice(0, 1)).toEqual(entriesBefore);
    expect(entries[1]).toMatchObject({ type: 'project_discovered', revision: 2 });
  });

  test('again is published also when the account is being listed for the first time', () => {
    expect(decideDiscovery(gone(), { ...sighting, isNews: false })?.revision).toBe(2);
  });
});

describe('a project that cannot be seen any more', () => {
  test('is published with the reason that it is gone, and keeps what is known of it', () => {
    expect(gone()).toEqual({
      ...kept,
      is_visible: false,
      revision: 1,
      entries: [
        {
          type: 'project_unreachable',
          reason: 'gone',
          id: expect.any(String),
          revision: 1,
          observed_at: OBSERVED_AT,
        },
      ],
    });
  });

  test('is published once', () => {
    expect(decideUnreachable(gone(), NOON_MS)).toBeUndefined();
    expect(decideUnread(gone(), NOON_MS)).toBeUndefined();
  });
});

describe('a project that is there and cannot be read', () => {
  const unread = () => decideUnread(kept, NOON_MS) ?? kept;

  test('is published with that reason', () => {
    expect(unread()).toMatchObject({
      is_visible: false,
      is_unread: true,
      entries: [{ type: 'project_unreachable', reason: 'not_read' }],
    });
  });

  test('is not discovered by the list, which shows it all the time', () => {
    expect(decideDiscovery(unread(), sighting)).toBeUndefined();
    expect(decideDiscovery(unread(), { ...sighting, isRead: false })).toBeUndefined();
  });

  test('is discovered by a reading of it, and the list counts from then on', () => {
    const read = decideDiscovery(unread(), { ...sighting, isRead: true });

    expect(read).toMatchObject({ is_visible: true, is_unread: false, revision: 2 });
    const goneNow = read && decideUnreachable(read, NOON_MS);
    expect(goneNow && decideDiscovery(goneNow, sighting)).toMatchObject({ is_visible: true, revision: 4 });
  });
});

test('each event of a project has an id of its own, by account, project, revision, kind and time', () => {
  const ids = [
    decideDiscovery(undefined, sighting),
    decideDiscovery(undefined, { ...sighting, account_id: 'other' }),
    decideDiscovery(undefined, { ...sighting, project_id: 'b' }),
    gone(),
    decideDiscovery(gone(), sighting),
    decideDiscovery(undefined, { ...sighting, nowMs: 0 }),
  ].map((record) => record?.entries.at(-1)?.id);

  expect(new Set(ids).size).toBe(6);
});
