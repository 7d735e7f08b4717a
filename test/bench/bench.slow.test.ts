import { describe, expect, test } from 'vitest';
import { type CountedDay, countedDays } from '../../infra/cli/docs/cost-docs.ts';
import { countDay } from './cost/count-calls.ts';
import { type Figures, measure, type Row } from './measure.ts';
import { delayPlot } from './report/plot.ts';

/** In a busy world few polls show many transitions, so a row takes a second. This seed has more than a hundred of them. */
const ROW: Row = {
  world: 'ten-times-busier',
  policy: 'planner-1s',
  projects: 30,
  seed: 2,
  hours: 0.15,
  requestsPerMinute: 150,
};

describe('a row of several seeds', () => {
  test('counts every transition of each seed once, against the bound of its own seed', async () => {
    const row: Row = { ...ROW, policy: 'round-robin', engine: 'ideal' };
    const [one, other] = [await measure(row), await measure({ ...row, seed: 3 })];

    const both = await measure({ ...row, seedCount: 2 });

    const total = one.transitions + other.transitions;
    const pooled = (of: (figures: Figures) => number) =>
      (of(one) * one.transitions + of(other) * other.transitions) / total;
    expect(both).toMatchObject({ seed: 2, seed_count: 2, transitions: total });
    expect(both.mean_s).toBeCloseTo(
      pooled(({ mean_s }) => mean_s),
      9,
    );
    expect(both.bound_s).toBeCloseTo(
      pooled(({ bound_s }) => bound_s),
      9,
    );
    expect(both.max_s).toBe(Math.max(one.max_s, other.max_s));
  });
});

describe('the whole bridge', () => {
  const usual = measure(ROW);

  test('publishes every event once, for at most 2.1 write units a transition, within its share of the rate limit', {
    timeout: 600_000,
  }, async () => {
    const { bridge, transitions, requests_per_second } = await usual;

    expect(transitions).toBeGreaterThan(20);
    expect(bridge).toMatchObject({ complete: 1, duplicates: 0, refused: 0 });
    // Commands add a record and its end to what is written.
    expect(bridge?.write_units).toBeLessThanOrEqual(2.3);
    // The burst is taken from the minute's requests, and commands take theirs.
    expect(requests_per_second).toBeGreaterThan(0.9 * (150 / 60));
    expect(requests_per_second).toBeLessThanOrEqual(150 / 60);
  });

  test('polls by weight better than round robin, and reads every project within four rounds', {
    timeout: 600_000,
  }, async () => {
    const { mean_s, bridge, over_bound } = await usual;
    const roundRobin = await measure({ ...ROW, policy: 'round-robin' });
    const fourRoundsS = (4 * 30 * 60) / 150;

    expect(mean_s).toBeLessThan(roundRobin.mean_s);
    expect(over_bound).toBeLessThan(2.2);
    expect(bridge?.stalest_s).toBeLessThan(fourRoundsS + 5);
    expect(bridge?.stalest_s).toBeGreaterThan(fourRoundsS / 4);
  });

  test('learns from the list what changes, and is then several times as fast', {
    timeout: 600_000,
  }, async () => {
    const hinted = await measure({ ...ROW, policy: 'planner-hint-1' });

    expect(hinted.bridge).toMatchObject({ complete: 1, refused: 0 });
    expect(hinted.mean_s).toBeLessThan((await usual).mean_s / 2);
  });

  test('loses no event and is never refused when it is killed, and when answers fail or are lost', {
    timeout: 600_000,
  }, async () => {
    const { bridge } = await measure({ ...ROW, policy: 'killed-10min-faults-1%' });

    expect(bridge).toMatchObject({ complete: 1, refused: 0 });
  });

  test('loses no event when its invocations end early, and is alive for less of the time in a quiet world', {
    timeout: 600_000,
  }, async () => {
    const short = await measure({ ...ROW, world: 'matched', policy: 'linger-0s' });
    const whole = await usual;

    expect(short.bridge?.complete).toBe(1);
    expect(short.bridge?.alive).toBeLessThan(0.75);
    expect(whole.bridge?.alive).toBeGreaterThan(0.9);
  });

  test('needs the time of its calls and little more when the planner is clairvoyant', {
    timeout: 600_000,
  }, async () => {
    const knowing = await measure({ ...ROW, policy: 'clairvoyant' });

    expect(knowing.bridge?.complete).toBe(1);
    expect(knowing.mean_s).toBeLessThan(0.5);
  });
});

test('the counts behind the page of costs agree with a new count within a tenth', {
  timeout: 60_000,
}, async () => {
  const kept = countedDays.find(({ projects }) => projects === 10);
  const now = await countDay({
    accounts: 1,
    projects: 10,
    memoryMb: 160,
    // In this time the poller finds out that the project list shows no changes, and reads it only for new projects from then on.
    warmUpHours: 0.9,
    measuredHours: 0.1,
  });
  const ratioOf = (figure: (day: CountedDay) => number) => figure(now) / (kept ? figure(kept) : Number.NaN);

  expect(Math.abs(ratioOf(({ requests }) => requests) - 1)).toBeLessThan(0.1);
  expect(Math.abs(ratioOf(({ alive_seconds }) => alive_seconds) - 1)).toBeLessThan(0.1);
  // What a few minutes read and write beside these depends on the operations that happen to begin in them.
  for (const subject of ['nudges', 'lease', 'account', 'list of accounts', 'work of accounts'])
    expect(Math.abs(ratioOf(({ units }) => units[subject]?.read ?? Number.NaN) - 1)).toBeLessThan(0.1);
  // Polls of quiet projects do not read the table. If each poll did, this would be above 1.
  expect((now.units['projects']?.read ?? Number.NaN) / now.requests).toBeLessThan(0.1);
});

test('the plot has a line and a label for each policy and for the bound', () => {
  const figures = (policy: string, requests_per_minute: number, mean_s: number) =>
    ({ policy, requests_per_minute, mean_s, bound_s: 3_500 / requests_per_minute, projects: 500 }) as Figures;
  const svg = delayPlot([
    figures('a', 70, 60),
    figures('a', 700, 6),
    figures('b', 70, 6),
    figures('b', 700, 0.4),
  ]);

  expect(svg.match(/<polyline/g)).toHaveLength(3);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  for (const name of ['>a<', '>b<', '>bound<']) expect(svg).toContain(name);
});
