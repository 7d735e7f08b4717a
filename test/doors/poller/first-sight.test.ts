/** What begins after the first sight of an account or of a project is news, also when one clock is wrong. */

import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../shared/records/time.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aBridge, type Bridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID } from './rows.ts';

const random = seededRandom(43);
const between = (low: number, high: number) => low + Math.floor(random.next() * (high - low));

const WRONG_MS = [HOUR_MS, DAY_MS, 365 * DAY_MS].map((usualMs) => between(0.7 * usualMs, 1.3 * usualMs));
const WHOSE = ['the service', 'the bridge'] as const;
const DRAWS = WRONG_MS.flatMap((aheadMs) => WHOSE.map((whose) => ({ aheadMs, whose })));

/** Lets the clock of one side run ahead until the function is called that it returns. */
function setAhead({ service, dials }: Bridge, whose: (typeof WHOSE)[number], aheadMs: number): () => void {
  if (whose === 'the service') service.dials.dateOffsetMs = aheadMs;
  else dials.clockOffsetMs = aheadMs;
  return () => {
    service.dials.dateOffsetMs = 0;
    dials.clockOffsetMs = 0;
  };
}

/** Operations begin and fail for good between two polls, some minutes apart. */
async function failNowAndThen(bridge: Bridge, projectId: string): Promise<void> {
  for (let number = 1; number <= 4; number++) {
    await bridge.rest(between(1, 20) * MINUTE_MS);
    const createdMs = bridge.nowMs() - between(1_000, 4_000);
    bridge.service.put(anOperationRow(number, createdMs, { project_id: projectId, status: 'error' }));
    await bridge.run(MINUTE_MS / 2);
  }
}

test.each(DRAWS)(
  'an account that is first seen while $whose is $aheadMs ms ahead tells its next failures',
  async ({ aheadMs, whose }) => {
    const bridge = aBridge();
    bridge.service.addProject(PROJECT_ID);
    const setRight = setAhead(bridge, whose, aheadMs);
    bridge.restart();
    await bridge.run(MINUTE_MS);
    setRight();
    bridge.restart();
    await failNowAndThen(bridge, PROJECT_ID);
    expect(bridge.brokenPromises()).toEqual([]);
  },
);

test.each(DRAWS)(
  'a project that appears while $whose is $aheadMs ms ahead tells its next failures',
  async ({ aheadMs, whose }) => {
    const bridge = aBridge();
    bridge.service.addProject(PROJECT_ID);
    await bridge.run(2 * MINUTE_MS);
    const setRight = setAhead(bridge, whose, aheadMs);
    bridge.restart();
    bridge.service.addProject('new-pond-12345678');
    await bridge.run(2 * MINUTE_MS);
    setRight();
    bridge.restart();
    await failNowAndThen(bridge, 'new-pond-12345678');
    expect(bridge.brokenPromises()).toEqual([]);
  },
);

test.each(Array.from({ length: 4 }, () => between(1_000, 4_000)))(
  'what begins while the first answer takes %i ms to come is news',
  async (oneWayMs) => {
    const bridge = aBridge();
    const { service, dials } = bridge;
    service.addProject(PROJECT_ID);
    dials.upstreamOneWayMs = oneWayMs;
    // The first request leaves after some calls of the table and of the secret.
    const begunMs = 200 + between(0, oneWayMs - 200);
    bridge.at(begunMs, () => service.put(anOperationRow(1, bridge.nowMs(), { status: 'error' })));
    await bridge.run(2 * MINUTE_MS);
    expect(bridge.brokenPromises()).toEqual([]);
  },
);
