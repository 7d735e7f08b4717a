/**
 * How soon the poll planner sees what happened, against the theoretical limit and other ways to poll.
 *
 *   npm run bench                                  50 and 500 projects, one simulated day, seed 1
 *   npm run bench -- --projects 5000 --hours 6 --seeds 3
 *   npm run bench -- --json                        one line of figures per row
 */

import { parseArgs } from 'node:util';
import { lowerBoundS } from './lower-bound.ts';
import { oracleRoot, type Policy, productionPolicy, roundRobin, strictlyHot } from './policies.ts';
import { type Outcome, runPolicy } from './virtual-account.ts';
import { createWorkload, type Workload } from './workload.ts';

interface Contender {
  readonly name: string;
  readonly recall: number;
  readonly create: (workload: Workload, requestsPerMinute: number) => Policy;
}

const planner =
  (pollIntervalMs: number, hasHints: boolean): Contender['create'] =>
  (workload, requestsPerMinute) =>
    productionPolicy({ projectCount: workload.projectCount, requestsPerMinute, pollIntervalMs, hasHints });

export const contenders: readonly Contender[] = [
  { name: 'timer-60s', recall: 0, create: (load, rpm) => roundRobin(load.projectCount, rpm, 60_000) },
  {
    name: 'round-robin',
    recall: 0,
    create: (load, rpm) => roundRobin(load.projectCount, rpm, roundMs(load, rpm)),
  },
  { name: 'hot-5s-strict', recall: 0, create: (load, rpm) => strictlyHot(load.projectCount, rpm) },
  { name: 'oracle-root', recall: 0, create: (load, rpm) => oracleRoot(load.rates, rpm) },
  { name: 'planner-5s', recall: 0, create: planner(5_000, false) },
  { name: 'planner-1s', recall: 0, create: planner(1_000, false) },
  { name: 'planner-hint-0', recall: 0, create: planner(1_000, true) },
  { name: 'planner-hint-0.7', recall: 0.7, create: planner(1_000, true) },
  { name: 'planner-hint-1', recall: 1, create: planner(1_000, true) },
];

export function measure(
  contender: Contender,
  workload: Workload,
  { requestsPerMinute, seed }: { readonly requestsPerMinute: number; readonly seed: number },
) {
  const policy = contender.create(workload, requestsPerMinute);
  const outcome = runPolicy(workload, policy, { recall: contender.recall, seed });
  const boundS = lowerBoundS(workload, requestsPerMinute / 60);
  return figuresOf(contender.name, { workload, outcome, boundS, requestsPerMinute, seed });
}

function figuresOf(
  policy: string,
  run: {
    readonly workload: Workload;
    readonly outcome: Outcome;
    readonly boundS: number;
    readonly requestsPerMinute: number;
    readonly seed: number;
  },
) {
  const { workload, outcome, boundS, requestsPerMinute } = run;
  const { delaysS, requestCount, transitionCount } = outcome;
  const at = (share: number) =>
    delaysS[Math.min(delaysS.length - 1, Math.floor(share * delaysS.length))] ?? 0;
  const mean_s = delaysS.reduce((sum, delay) => sum + delay, 0) / delaysS.length;
  return {
    projects: workload.projectCount,
    policy,
    seed: run.seed,
    mean_s,
    p50_s: at(0.5),
    p95_s: at(0.95),
    p99_s: at(0.99),
    max_s: at(1),
    requests_per_second: requestCount / (workload.endS - workload.startS),
    requests_per_transition: requestCount / transitionCount,
    states_seen: outcome.stateCount / transitionCount,
    refused: outcome.refusedCount,
    bound_s: boundS,
    over_bound: mean_s / boundS,
    p99_over_round: at(0.99) / (workload.projectCount / (requestsPerMinute / 60)),
  };
}

function roundMs(workload: Workload, requestsPerMinute: number): number {
  return (workload.projectCount / requestsPerMinute) * 60_000;
}

function main(): void {
  const { values } = parseArgs({
    options: {
      projects: { type: 'string', default: '50,500' },
      seeds: { type: 'string', default: '1' },
      hours: { type: 'string', default: '24' },
      rpm: { type: 'string', default: '700' },
      policy: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const requestsPerMinute = Number(values.rpm);
  const chosen = contenders.filter(
    ({ name }) => values.policy === undefined || values.policy.split(',').includes(name),
  );
  if (!values.json) console.log(HEAD);
  for (const projectCount of values.projects.split(',').map(Number)) {
    for (let seed = 1; seed <= Number(values.seeds); seed++) {
      const workload = createWorkload(projectCount, seed, Number(values.hours));
      for (const contender of chosen) {
        const figures = measure(contender, workload, { requestsPerMinute, seed });
        console.log(values.json ? JSON.stringify(figures) : lineOf(figures));
      }
    }
  }
}

const HEAD =
  '    N seed policy              mean     p50     p95     p99     max   req/s req/tr states  429  x bound p99/(N/R)';

function lineOf(row: ReturnType<typeof figuresOf>): string {
  const columns = [
    String(row.projects).padStart(5),
    String(row.seed).padStart(4),
    row.policy.padEnd(17),
    row.mean_s.toFixed(2).padStart(7),
    ...[row.p50_s, row.p95_s, row.p99_s, row.max_s].map((value) => value.toFixed(1).padStart(7)),
    row.requests_per_second.toFixed(2).padStart(7),
    row.requests_per_transition.toFixed(1).padStart(6),
    `${(100 * row.states_seen).toFixed(0)}%`.padStart(6),
    String(row.refused).padStart(4),
    row.over_bound.toFixed(2).padStart(8),
    row.p99_over_round.toFixed(2).padStart(9),
  ];
  return columns.join(' ');
}

if (import.meta.main) main();
