/** One policy against one workload on virtual time, with an upstream that counts what exceeds its limits. */

import { REQUEST_BURST } from '../../functions/poller/limits.ts';
import { type ActivityRow, activityOf } from '../../shared/core/project-activity.ts';
import { rateLimitOf, spend, UNUSED, waitMs } from '../../shared/core/rate-limit.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import type { Policy } from './policies.ts';
import { createWindow } from './virtual-upstream.ts';
import { createdS, type Workload } from './workload.ts';

/** Rows of a usual poll, and projects on one page of the list, as in production. */
const PAGE_ROWS = 100;
const LIST_PAGE_ROWS = 400;

export interface Outcome {
  /** Seconds from a transition to the poll that could see it, sorted. */
  readonly delaysS: Float64Array;
  readonly transitionCount: number;
  readonly requestCount: number;
  /** Requests that a limit of 700 in any minute or 40 in any second would have refused. */
  readonly refusedCount: number;
  /** Operations met in a new state, per poll: the rest of the transitions were passed over between two polls. */
  readonly stateCount: number;
  /** The longest time that a project was not read for. */
  readonly stalestS: number;
}

export interface AccountOptions {
  readonly requestsPerMinute: number;
  /** Share of the transitions that move a field of the project list. */
  readonly recall: number;
  readonly seed: number;
  readonly measuredFromS: number;
}

export function runPolicy(workload: Workload, policy: Policy, options: AccountOptions): Outcome {
  const account = createAccount(workload, options);
  const window = createWindow();
  const limit = rateLimitOf(options.requestsPerMinute, REQUEST_BURST);
  let permits = UNUSED;
  let requestCount = 0;
  let refusedCount = 0;
  const endMs = workload.endS * 1_000;
  let nowMs = workload.startS * 1_000;
  const send = () => {
    permits = spend(limit, permits, nowMs);
    requestCount += 1;
    if (!window.admits(nowMs)) refusedCount += 1;
  };
  while (nowMs < endMs) {
    nowMs += waitMs(limit, permits, nowMs);
    const decision = policy.next(nowMs);
    if (decision.kind === 'wait') nowMs = Math.max(nowMs + 1, Math.ceil(decision.untilMs));
    else if (decision.kind === 'list') {
      const pageCount = Math.ceil(workload.projectCount / LIST_PAGE_ROWS);
      for (let page = 0; page < pageCount; page++) {
        nowMs += waitMs(limit, permits, nowMs);
        send();
      }
      policy.reportListing(account.revisionsAt(nowMs / 1_000), pageCount, nowMs);
    } else {
      send();
      policy.report(decision.project, account.poll(decision.project, nowMs / 1_000), nowMs);
    }
  }
  return { ...account.score(), requestCount, refusedCount };
}

function createAccount(workload: Workload, { recall, seed, measuredFromS }: AccountOptions) {
  const random = seededRandom(seed + 1_000);
  const { operations, transitions, projectCount } = workload;
  const moves = transitions.map((own) => own.filter(() => random.next() < recall));
  const places = new Int32Array(projectCount);
  const movePlaces = new Int32Array(projectCount);
  const createdPlaces = new Int32Array(projectCount);
  const revisions = Array.from({ length: projectCount }, () => 0);
  const readAtS = new Float64Array(projectCount).fill(workload.startS);
  const delaysS: number[] = [];
  let stateCount = 0;
  let stalestS = 0;

  return {
    poll(project: number, nowS: number) {
      const own = transitions[project] ?? [];
      let place = places[project] ?? 0;
      const met = new Set<unknown>();
      for (let next = own[place]; next !== undefined && next.atS <= nowS; next = own[++place]) {
        if (next.atS >= measuredFromS) delaysS.push(nowS - next.atS);
        met.add(next.operation);
      }
      noteRead(project, nowS);
      places[project] = place;
      if (nowS >= measuredFromS) stateCount += met.size;
      const rows = rowsAt(project, nowS);
      const hasOpen = rows.some(({ status }) => status !== 'finished');
      const activity = () => activityOf(rows, rows.length < PAGE_ROWS, nowS * 1_000);
      return { foundTransition: met.size > 0, hasOpen, activity };
    },
    revisionsAt(nowS: number) {
      for (let project = 0; project < projectCount; project++) {
        const own = moves[project] ?? [];
        let place = movePlaces[project] ?? 0;
        while ((own[place]?.atS ?? Number.POSITIVE_INFINITY) <= nowS) place += 1;
        movePlaces[project] = place;
        revisions[project] = place;
      }
      return revisions;
    },
    score() {
      for (let project = 0; project < projectCount; project++) noteRead(project, workload.endS);
      return {
        delaysS: Float64Array.from(delaysS).toSorted(),
        transitionCount: delaysS.length,
        stateCount,
        stalestS,
      };
    },
  };

  function noteRead(project: number, nowS: number): void {
    stalestS = Math.max(stalestS, nowS - (readAtS[project] ?? nowS));
    readAtS[project] = nowS;
  }

  function rowsAt(project: number, nowS: number): readonly ActivityRow[] {
    const own = operations[project] ?? [];
    let end = createdPlaces[project] ?? 0;
    for (let next = own[end]; next !== undefined && createdS(next) <= nowS; next = own[++end]);
    createdPlaces[project] = end;
    const rows: ActivityRow[] = [];
    for (let place = end - 1; place >= Math.max(0, end - PAGE_ROWS); place--) {
      const operation = own[place];
      if (operation === undefined) continue;
      const state = operation.states.findLast(({ atS }) => atS <= nowS);
      const created_at = timeOf(createdS(operation));
      const updated_at = state === undefined ? created_at : timeOf(state.atS);
      rows.push({
        action: operation.action,
        status: state?.status ?? 'scheduling',
        endpoint_id: `ep-${operation.session}`,
        branch_id: undefined,
        created_at,
        updated_at,
      });
    }
    return rows;
  }
}

/** Whole seconds, as rows have them. Kept, because the same rows are read thousands of times. */
const times = new Map<number, string>();

function timeOf(atS: number): string {
  const second = Math.floor(atS);
  const known = times.get(second);
  if (known !== undefined) return known;
  const time = new Date(second * 1_000).toISOString();
  times.set(second, time);
  return time;
}
