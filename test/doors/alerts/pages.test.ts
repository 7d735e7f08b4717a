/** Tests the promise of PagerDuty's pages: one trouble wakes a person once, however many projects it has. */

import { describe, expect, test } from 'vitest';
import { play } from './play.ts';
import { pages } from './scripts/pages.ts';
import type { World } from './world.ts';

async function played(name: string): Promise<World['channels']> {
  const script = pages.find((one) => one.name === name);
  if (script === undefined) throw new Error(`There is no script ${name}`);
  return (await play(script, 'bot')).channels;
}

describe('an outage of five hundred projects', () => {
  test.each(['outage-at-pagerduty', 'outage-without-evidence'])(
    'opens at most three incidents at PagerDuty, takes few requests, and each operation is named (%s)',
    async (name) => {
      const { pagerDuty, sends } = await played(name);

      expect(pagerDuty.notificationCount()).toBeLessThanOrEqual(3);
      expect(sends.length).toBeLessThanOrEqual(20);
      const named = JSON.stringify(pagerDuty.alerts);
      const ids = Array.from({ length: 501 }, (_, place) => `op-${place + 1}`);
      expect(ids.filter((id) => !new RegExp(`\\b${id}\\b`).test(named))).toEqual([]);
    },
  );
});

test('nothing is resolved that was not opened', async () => {
  expect((await played('nothing-opened-nothing-resolved')).sends).toEqual([]);
});
