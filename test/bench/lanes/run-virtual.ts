/**
 * `npm run bench -- lanes-virtual` runs 1,000 accounts of 10 projects in lanes of 100 accounts on virtual time, and prints
 * each lane and the worst of them. `-- --lanes 1 --minutes 30` makes it shorter.
 */

import { parseArgs } from 'node:util';
import { type LaneFigures, runVirtualLane } from './virtual-lane.ts';

const { values } = parseArgs({
  options: {
    lanes: { type: 'string', default: '10' },
    accounts: { type: 'string', default: '100' },
    projects: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '30' },
    rpm: { type: 'string', default: '40' },
    'interval-ms': { type: 'string', default: '1000' },
  },
});

/** A lane must find transitions of its accounts this soon in the mean, without hints. */
const MEAN_S_MAX = 5;

const rows: LaneFigures[] = [];
for (let lane = 0; lane < Number(values.lanes); lane++) {
  const figures = await runVirtualLane({
    accounts: Number(values.accounts),
    projects: Number(values.projects),
    minutes: Number(values.minutes),
    requestsPerMinute: Number(values.rpm),
    pollIntervalMs: Number(values['interval-ms']),
    seed: lane + 1,
  });
  rows.push(figures);
  console.log(JSON.stringify({ lane, ...figures }));
}
const isGood = rows.every(
  ({ complete, refused, mean_s }) => complete === 1 && refused === 0 && mean_s <= MEAN_S_MAX,
);
const worst_mean_s = Math.max(...rows.map(({ mean_s }) => mean_s));
console.log(
  JSON.stringify({ accounts: rows.reduce((sum, { accounts }) => sum + accounts, 0), worst_mean_s, isGood }),
);
if (!isGood) process.exitCode = 1;
