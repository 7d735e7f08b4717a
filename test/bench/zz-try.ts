import { createDetections } from './detections.ts';
import { lowerBoundS } from './lower-bound.ts';
import { runBridge } from './virtual-bridge.ts';
import { createWorkload } from './workload.ts';

const n = Number(process.argv[2] ?? 500),
  hours = Number(process.argv[3] ?? 1);
const scenario = {
  requestsPerMinute: 700,
  pollIntervalMs: 1000,
  hasHints: false,
  recall: 0,
  warmUpMs: 900000,
  ...JSON.parse(process.argv[4] ?? '{}'),
};
const w = createWorkload(n, 1, hours + scenario.warmUpMs / 3600000, 5 - scenario.warmUpMs / 3600000);
const d = createDetections(w, w.startS + scenario.warmUpMs / 1000);
const t0 = performance.now();
const o = await runBridge(w, d, { scenario, seed: 1 });
const s = d.score();
const mean = s.delaysS.reduce((a: number, b: number) => a + b, 0) / s.delaysS.length;
console.log(
  process.argv.slice(2).join(' '),
  JSON.stringify({
    s: Math.round((performance.now() - t0) / 1000),
    mean,
    over: mean / lowerBoundS(w, 700 / 60),
    p99: s.delaysS[Math.floor(0.99 * s.delaysS.length)],
    n: s.delaysS.length,
    states: s.stateCount / s.delaysS.length,
    complete: s.complete,
    ...o,
    wu: o.writeUnits / s.stateCount,
    iu: o.indexUnits / s.stateCount,
  }),
);
