/** The protocol holds in seeded schedules, and each of its rules is needed: without it, the named schedule breaks a promise. */

import { describe, expect, test } from 'vitest';
import { follow } from './follow.ts';
import { RULES, type Rule } from './protocol.ts';
import type { Features } from './world.ts';

const SEEDS = 3_000;

/** Worlds in which little else happens. */
const QUIET: Partial<Features> = {
  replicas: false,
  poison: false,
  restore: false,
  tiedPlaces: false,
  veryLate: false,
  stuckUpdates: false,
  pagesMax: 99,
};
const ASLEEP = { ...QUIET, sleep: true, keepsRows: true, wrongDates: false, outages: false };

/** Without the rule, this schedule breaks a promise. */
const BREAKS: Readonly<Record<Rule, readonly [seed: number, breaks: RegExp, forced?: Partial<Features>]>> = {
  'a bound is read with an overlap': [7_002_743, /hole|lost/, QUIET],
  'only walks raise the bound': [3_000_007, /hole/],
  'only a walk that has arrived raises the bound': [3_000_022, /hole/],
  'a refused write holds the bound': [3_000_044, /hole/],
  'a row from the future bounds nothing': [3_000_024, /hole|lost/],
  'a sweep raises no bound': [3_000_075, /hole|lost/],
  'a walk that was cut short resumes': [3_000_029, /lost/],
  'a short page is no end': [3_000_004, /hole|lost/],
  'the first walk reads the whole list': [3_000_016, /hole/],
  'the clock of a reading is also our own': [3_000_667, /hole/],
  'the clock of a reading is also the Date of its answer': [3_000_014, /hole/],
  'the first sight is by the earlier clock': [3_000_110, /hole|lost/],
  'what ended before the first sight is history': [3_000_002, /history told/],
  'history has ended, and not only begun, before the first sight': [3_000_008, /hole|lost/],
  'a row older than 190 days is history': [3_000_037, /told twice/],
  'history begins before the retention ends': [
    7_000_403,
    /told twice/,
    { ...ASLEEP, bursts: true, skew: -50 },
  ],
  'records outlive the horizon': [3_000_013, /told twice|hole/],
  'a record expires after its acknowledgement': [3_000_012, /never published/],
  'a record expires after its created_at': [3_000_070, /told twice/],
  'a reading that is old creates nothing': [3_000_051, /told twice/],
  'a reading has the Date of its own answer': [7_000_973, /told twice/, ASLEEP],
  'a write names the sequence that it follows': [3_000_001, /told twice|never published/],
  'a reading that goes back is doubted for a while': [3_000_179, /invented/],
  'an acknowledgement names its sequence': [3_000_005, /never published|not published/],
  'work is found by the index': [3_000_001, /never published|not published/],
  'the acknowledgement follows the publication': [3_000_001, /never published|not derived/],
  'an entry that failed is not acknowledged': [3_000_002, /never published/],
  'the record precedes the publication': [3_000_001, /never recorded/],
  'an id is a hash of the whole event': [3_000_076, /copies differ/],
  'what derives stays behind': [3_000_016, /never published/],
  'memory ends with the table': [7_000_158, /hole/, { ...QUIET, restore: true, sleep: false }],
  'a sweep reads what walks do not find': [3_000_744, /lost/],
  'a sweep has pages of random size': [3_000_745, /lost/],
  'what can never be recorded is passed over': [7_000_029, /lost/, { ...QUIET, poison: true, pagesMax: 2 }],
};

test(`no promise is broken and each trace is accepted in ${SEEDS} schedules, in which every fault happens`, () => {
  const fired = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations, rejections, fired: faults } = follow({ seed });
    for (const fault of faults.keys()) fired.add(fault);
    expect(violations, `seed ${seed}`).toEqual([]);
    expect(rejections, `seed ${seed}`).toEqual([]);
  }

  expect([...fired].toSorted()).toEqual(
    [
      'Date wrong',
      'asleep for long',
      'command recorded',
      'condition refused',
      'crash',
      'entry failed',
      'outage',
      'pause',
      'places tied',
      'page short',
      'reading doubted',
      'reading too old',
      'record expired',
      'replica lags',
      'reply lost',
      'reply of the bus lost',
      'row from the future',
      'row late',
      'row never recorded',
      'row very late',
      'table restored',
      'updated_at stuck',
      'walk cut short',
      'walk to be resumed',
      'write throttled',
    ].toSorted(),
  );
});

/** No step is wrong without these rules: what is not read, not resumed, or not found leaves no trace. */
const OUT_OF_SIGHT: ReadonlySet<Rule> = new Set([
  'a walk that was cut short resumes',
  'work is found by the index',
  'what can never be recorded is passed over',
  'a sweep reads what walks do not find',
  'a sweep has pages of random size',
]);

describe('a promise is broken, and the trace is not accepted, without the rule that', () => {
  test.each(Object.keys(RULES) as Rule[])('%s', (without) => {
    const [seed, breaks, forced] = BREAKS[without];
    const whole = follow({ seed, forced });
    const broken = follow({ seed, forced, without });

    expect(whole.violations).toEqual([]);
    expect(whole.rejections).toEqual([]);
    expect(broken.violations.join('\n')).toMatch(breaks);
    expect(broken.rejections.length > 0).toBe(!OUT_OF_SIGHT.has(without));
  });
});
