/** Tests how the console writes durations and times, and that every page uses the zone that its visitor has chosen. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  age,
  duration,
  epochMsIn,
  fieldTextIn,
  roughDuration,
  time,
  utc,
  ZONES,
} from '../../functions/api/console/html/times.ts';
import { createApiUnderTest } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
};

const partsOf = (text: string) =>
  [...text.matchAll(/([\d.]+) (ms|s|min|h|days)/g)].map(([, count, unit]) => ({
    count: Number(count),
    unitMs: UNITS_MS[unit ?? ''] ?? Number.NaN,
  }));

const anyDurationMs = fc.oneof(
  fc.double({ min: 0, max: 400 * 86_400_000, noNaN: true }),
  fc.integer({ min: 0, max: 4_000_000 }),
  // The moments just before a larger unit begins.
  fc
    .tuple(fc.constantFrom(1_000, 60_000, 3_600_000, 172_800_000), fc.integer({ min: -60_000, max: 60_000 }))
    .map(([unitMs, besideMs]) => Math.max(0, unitMs + besideMs)),
);

describe('a duration', () => {
  test.each([
    [0, '0 ms'],
    [999.6, '1.0 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min'],
    [119_600, '2 min'],
    [3_599_600, '1 h'],
    [7_170_000, '2 h'],
    [7_199_999, '2 h'],
    [172_800_000, '2 days'],
  ])('of %d ms is written as "%s"', (durationMs, text) => {
    expect(duration(durationMs)).toBe(text);
  });

  test('never has sixty of a unit, and lies within half of its smallest unit', () => {
    fc.assert(
      fc.property(anyDurationMs, (durationMs) => {
        const parts = partsOf(duration(durationMs));
        const [larger, smaller] = parts;
        const readMs = parts.reduce((sum, { count, unitMs }) => sum + count * unitMs, 0);
        for (const { count, unitMs } of parts)
          expect(count).toBeLessThan(unitMs === 1 ? 1_000 : unitMs === 86_400_000 ? 1e6 : 60);
        if (smaller !== undefined) expect(smaller.unitMs).toBe((larger?.unitMs ?? 0) / 60);
        expect(Math.abs(readMs - durationMs)).toBeLessThanOrEqual(
          parts.at(-1)?.unitMs === 86_400_000 ? 43_200_000 : 30_000,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('is never written as less than a shorter one', () => {
    const read = (text: string) => partsOf(text).reduce((sum, { count, unitMs }) => sum + count * unitMs, 0);
    fc.assert(
      fc.property(anyDurationMs, anyDurationMs, (a, b) => {
        const [shorter, longer] = [Math.min(a, b), Math.max(a, b)];
        expect(read(duration(shorter))).toBeLessThanOrEqual(read(duration(longer)));
      }),
      { numRuns: 2_000 },
    );
  });
});

test.each([
  [0, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [3_599_999, '59 min'],
  [6_000_000, '1 h 40 min'],
  [3 * 86_400_000, '3 days'],
])('an age of %d ms is written as "%s", in no smaller unit than people need', (durationMs, text) => {
  expect(roughDuration(durationMs)).toBe(text);
});

describe('a time', () => {
  const nowMs = Date.UTC(2026, 6, 15, 12, 0, 0);
  const shown = async (iso: string | undefined, zone: string) => String(await time(iso, { zone, nowMs }));

  test.each([
    ['UTC', '2026-07-15T11:30:00Z', '>11:30:00<'],
    ['Europe/Berlin', '2026-07-15T11:30:00.5Z', '>13:30:00<'],
    ['Europe/Berlin', '2026-07-14T23:30:00Z', '>01:30:00<'],
    ['America/New_York', '2026-07-15T03:30:00Z', '>14 Jul 23:30:00<'],
    ['UTC', '2025-12-31T23:59:59Z', '>31 Dec 2025 23:59:59<'],
    ['Asia/Kathmandu', '2026-07-15T00:00:00Z', '>05:45:00<'],
  ])('in %s is shown in that zone, with the date when it is another day: %s', async (zone, iso, part) => {
    expect(await shown(iso, zone)).toContain(part);
  });

  test('has the full time in UTC as its title, whatever the zone', async () => {
    expect(await shown('2026-07-15T13:30:00+02:00', 'Asia/Tokyo')).toContain(
      'title="2026-07-15 11:30:00 UTC"',
    );
  });

  test('that is missing or no time is shown as unknown', async () => {
    expect(await shown(undefined, 'UTC')).toContain('unknown');
    expect(await shown('soon', 'UTC')).toContain('unknown');
    expect(age(undefined, { nowMs })).toBe('never');
    expect(utc('2026-07-15T11:30:00.123456789Z')).toBe('2026-07-15 11:30:00 UTC');
  });

  test('can be shown in every zone of the list', async () => {
    for (const zone of ZONES)
      expect(await shown('2026-07-15T11:30:00Z', zone)).toMatch(/>[^<]*\d\d:\d\d:00</);
  });
});

describe('the zone of a page', () => {
  async function signedIn() {
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'k',
      fetch: createUpstreamDouble().fetch,
      clock: { now: () => Date.UTC(2026, 0, 15, 12), sleep: async () => {} },
    });
    const response = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: await api.issueToken(), next: '/console' }).toString(),
    });
    const session = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    return async (path: string, cookie = '') => {
      const answer = await api.app.request(path, { headers: { cookie: `${session}; ${cookie}` } });
      return { kept: answer.headers.get('set-cookie'), text: await answer.text() };
    };
  }

  test('is UTC until the address names another, which a cookie keeps', async () => {
    const get = await signedIn();

    const first = await get('/console/events');
    const switched = await get('/console/events?tz=Asia%2FTokyo');
    const next = await get('/console/events', switched.kept?.split(';')[0]);

    expect(first.text).toContain('All times are in UTC.');
    expect(first.kept).toBeNull();
    expect(switched.text).toContain('All times are in Asia/Tokyo.');
    expect(switched.kept).toMatch(
      /^bridge_zone=Asia%2FTokyo; Max-Age=31536000; Path=\/console; SameSite=Lax$/,
    );
    expect(next.text).toContain('All times are in Asia/Tokyo.');
  });

  test.each(['Mars/Olympus', '"><script>', '', '../etc', '+05:00'])(
    'is not changed by "%s"',
    async (zone) => {
      const get = await signedIn();

      const { kept, text } = await get(`/console/events?tz=${encodeURIComponent(zone)}`);

      expect(kept).toBeNull();
      expect(text).toContain('All times are in UTC.');
      expect(text).not.toContain('<script>');
    },
  );

  test.each(['Asia/Kolkata', 'Europe/Kyiv', 'Asia/Calcutta'])(
    'can have each of its names: %s',
    async (zone) => {
      const get = await signedIn();

      const { text } = await get(`/console/time-zone?tz=${zone}`);

      const [, shown = ''] = /All times are in ([^<]*)\./.exec(text) ?? [];
      expect(shown).toMatch(/^(Asia\/(Kolkata|Calcutta)|Europe\/(Kyiv|Kiev))$/);
      expect(text).toContain(`<option value="${shown}" selected>`);
    },
  );

  test('leads to no other site', async () => {
    const get = await signedIn();

    const { text } = await get(`/console/time-zone?next=${encodeURIComponent('https://evil.example/')}`);

    expect(text).toContain('action="/console"');
  });
});

describe('a range of times', () => {
  test.each(ZONES.filter((_zone, index) => index % 7 === 0))('in %s is read as it was written', (zone) => {
    for (let hour = 0; hour < 366 * 24; hour += 37) {
      const epochMs = Date.UTC(2026, 0, 1, hour, 30);
      const text = fieldTextIn(zone, epochMs);
      const read = epochMsIn(zone, text) ?? Number.NaN;

      // Of two equal times in the night when clocks go back, one is taken.
      expect(fieldTextIn(zone, read)).toBe(text);
      expect([0, 1_800_000, 3_600_000]).toContain(Math.abs(read - epochMs));
    }
  });

  test('that cannot be read counts as none', () => {
    expect(epochMsIn('UTC', 'yesterday')).toBeUndefined();
  });
});
