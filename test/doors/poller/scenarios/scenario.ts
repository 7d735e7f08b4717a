/** Is one script at the poller's door: what the upstream, the table and the bus do, and what the bridge must tell of it. */

import { aBridge, type Bridge, type BridgeOptions, MINUTE_MS, type Poller, SECOND_MS } from '../bridge.ts';
import type { Published } from '../promises.ts';
import { anOperationRow, idOf, PROJECT_ID, timeOf } from '../rows.ts';
import type { Row } from '../service.ts';

/** The lease of a process that has died ends a minute later at the latest, and the next one needs some time. */
export const RECOVERY_S = 150;

export interface Scenario {
  /** Is one sentence about what the bridge does. */
  readonly name: string;
  readonly options?: BridgeOptions;
  /** The script begins before the bridge has run for the first time. Otherwise the bridge has watched for a minute. */
  readonly isFirstSight?: true;
  /** The account has one project when the script begins, and nothing has happened in it. */
  readonly script: (stage: Stage) => Promise<void>;
  /** Lists what is told, if the script fixes it, in the words of `linesOf`: operation by operation, and within one in its order. */
  readonly tells?: readonly string[];
  /** Checks what the events alone do not show: requests, log lines, figures. */
  readonly also?: (stage: Stage) => void;
  /** The promises say nothing of these operations, for the reason that the name gives. */
  readonly exceptFor?: readonly number[];
  /** A process that dies may see less, so a run with a crash is judged by the promises alone. `false` leaves it out. */
  readonly crashes?: false;
  /** `false` leaves out a script in which the second edition breaks a promise. */
  readonly takesOver?: false;
}

/** Is the bridge with words for the rows of a script. Operations are numbered, and stand in the first project. */
export interface Stage extends Bridge {
  /** The operation begins now, or after so many seconds. */
  readonly begin: (number: number, fields?: Partial<Row>, afterS?: number) => void;
  /** The operation changes now, or after so many seconds. */
  readonly change: (number: number, fields: Partial<Row>, afterS?: number) => void;
  /** Runs the bridge for so many seconds. */
  readonly runS: (seconds: number) => Promise<void>;
  /** Counts the requests whose method and path look like this, since the script began. */
  readonly requests: (pattern: RegExp) => number;
}

/** Begins the stage of a scenario: a bridge that has watched its project for a minute, or not at all. */
export async function stageOf({ options, isFirstSight }: Scenario, poller?: Poller): Promise<Stage> {
  const bridge = aBridge({ ...options, ...(poller && { poller }) });
  const { service } = bridge;
  service.addProject(PROJECT_ID);
  if (isFirstSight !== true) await bridge.run(MINUTE_MS);
  const earlierCount = service.sent.length;
  const soon = (afterS: number, act: () => void) =>
    afterS === 0 ? act() : bridge.at(afterS * SECOND_MS, act);
  return {
    ...bridge,
    begin: (number, fields = {}, afterS = 0) =>
      soon(afterS, () =>
        service.put(anOperationRow(number, bridge.nowMs(), { action: 'apply_config', ...fields })),
      ),
    change: (number, fields, afterS = 0) =>
      soon(afterS, () => {
        const row = service.rows().find(({ id }) => id === idOf(number));
        if (row === undefined) throw new Error(`The script changes operation ${number}, which has not begun`);
        service.put({ ...row, updated_at: timeOf(bridge.nowMs()), ...fields });
      }),
    runS: (seconds) => bridge.run(seconds * SECOND_MS),
    requests: (pattern) =>
      service.sent.slice(earlierCount).filter(({ method, path }) => pattern.test(`${method} ${path}`)).length,
  };
}

/**
 * Says each event in a line. A change of an operation reads `3: running -> failed, failures 1`, and its first state
 * `3: running`. What an event says besides follows in brackets. Operations stand in the order of their numbers, because
 * no order among them is promised, and everything else stands behind them.
 */
export function linesOf(events: readonly Published[]): readonly string[] {
  const bySubject = Map.groupBy(events, ({ type, detail }) => subjectOf(type, detail));
  return [...bySubject]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([subject, same]) =>
      subject.startsWith('Project ') ? same.map(lineOf).toSorted() : same.map(lineOf),
    );
}

/** Says whether the line tells how a creation has ended, which is told once whoever dies. Of other lines a process that dies may see less. */
export function isOfBranch(line: string): boolean {
  return line.startsWith('Branch ');
}

/** Says whether the line is told whichever process of this version dies: each step of a script about usage is seen by another one. */
export function isSureToBeTold(line: string): boolean {
  return isOfBranch(line) || line.startsWith('Project Usage ');
}

function subjectOf(type: string, detail: Published['detail']): string {
  return detail.operation_id === undefined || type === 'Compute State Changed' ? type : detail.operation_id;
}

function lineOf({ type, detail }: Published): string {
  const { operation_id, status, previous_status, failures_count, new_failures } = detail;
  const number = Number(operation_id?.slice(-12));
  if (type !== 'Operation State Changed') return [`${type}:`, ...namesIn(type, detail, number)].join(' ');
  const states = previous_status === null ? status : `${previous_status} -> ${status}`;
  const failures = Number(new_failures) > 0 ? `, failures ${String(failures_count)}` : '';
  const marks = [
    detail['irregular'] === true && 'irregular',
    detail['late'] === true && 'late',
    detail['was_stalled'] === true && 'was stalled',
    detail['observed_by'] !== 'poll' && detail['observed_by'],
  ].filter(Boolean);
  return `${number}: ${states}${failures}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`;
}

/** Names what an event of another type is about. */
function namesIn(type: string, detail: Published['detail'], number: number): readonly string[] {
  const named = [
    'branch_id',
    'endpoint_id',
    'project_id',
    'reason',
    'state',
    'threshold_ms',
    'call',
    'outcome',
    'metric',
    'limit_from',
    'threshold_percent',
  ];
  const isAboutOperation = type.startsWith('Operation ');
  const left = named.filter((name) => name !== 'project_id' || type.startsWith('Project '));
  return [
    ...(isAboutOperation ? [String(number)] : []),
    ...left
      .flatMap((name) => (isAboutOperation && name.endsWith('_id') ? [] : (detail[name] ?? [])))
      .map(String),
  ];
}

/** Returns the records whose events are not published. */
export function unpublished({ table }: Stage): readonly string[] {
  return table.sync
    .items()
    .flatMap(({ sk, revision, published }) => (Number(published) < Number(revision) ? [sk] : []));
}

/** Returns the time from a change of an operation to the reading that its event tells of, in milliseconds. */
export function delayMsOf({ detail }: Published): number {
  const timeIn = (field: string) => Date.parse(String(detail[field]));
  return timeIn('observed_at') - timeIn('operation_updated_at');
}

/** An operation passes through three states, each of which a bridge that works would see. */
export function threeStates({ begin, change }: Stage): void {
  begin(1, { status: 'scheduling' });
  change(1, { status: 'running' }, 11);
  change(1, { status: 'finished' }, 23);
}

/** A bridge that works tells these. */
export const THREE_STATES = ['1: scheduling', '1: scheduling -> running', '1: running -> finished'];
