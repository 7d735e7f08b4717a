/**
 * Formats what the terminal shows of events: one aligned line for each, in colours where the terminal understands
 * them, with the account once there are several, and one line for each rule that loses events.
 */

import { styleText } from 'node:util';
import { DETAIL_TYPES } from '../../shared/events/event-names.ts';
import { oneLine } from '../../shared/runtime/foreign-text.ts';
import type { DeliveredEvent } from './aws/event-bridge/deliveries.ts';

export interface LineStyle {
  readonly isColoured: boolean;
}

/** Longer ids of accounts are rare, and only move the columns behind them. */
const ACCOUNT_COLUMNS = 16;

const PROJECT_COLUMNS = 28;
const ACTION_COLUMNS = 19;
const CHANGE_COLUMNS = 26;

/** The columns of `eventLine` have these names. */
export function eventHeading(showsAccount: boolean): string {
  const account = showsAccount ? `${'account'.padEnd(ACCOUNT_COLUMNS)}  ` : '';
  const names = ['project'.padEnd(PROJECT_COLUMNS), 'action'.padEnd(ACTION_COLUMNS), 'change'.padEnd(24)];
  return `time      ${account}${names.join('  ')}  detected after`;
}

/** A line looks like `12:00:03  quiet-pond-12345678  start_compute  scheduling -> running  +1.2 s`. */
export function eventLine(
  event: Pick<DeliveredEvent, 'detail-type' | 'detail'>,
  style: LineStyle,
  showsAccount = false,
): string {
  const detail = shownDetail(event.detail);
  const account = showsAccount ? `  ${String(detail['account_id'] ?? '').padEnd(ACCOUNT_COLUMNS)}` : '';
  const time = `${timeOf(detail['observed_at'])}${account}`;
  const project = String(detail['project_id'] ?? detail['account_id'] ?? '').padEnd(PROJECT_COLUMNS);
  const state = stateWordsOf(event['detail-type'], detail);
  if (state !== undefined) {
    const subject = state.subject.padEnd(ACTION_COLUMNS);
    return `${time}  ${project}  ${subject}  ${paint('magenta', state.words, style)}`;
  }
  if (event['detail-type'] !== 'Operation State Changed') {
    const what = [event['detail-type'], detail['reason'], detail['action']].filter(Boolean).join(', ');
    return `${time}  ${project}  ${paint('magenta', what, style)}`;
  }
  const action = String(detail['action']).padEnd(ACTION_COLUMNS);
  const change = `${detail['previous_status'] ?? 'new'} -> ${detail['status']}`.padEnd(CHANGE_COLUMNS);
  const delay = delayMsOf(event);
  const failures = Number(detail['failures_count']) > 0 ? `  ${detail['failures_count']} failed` : '';
  const late = delay === undefined ? '' : `+${(delay / 1_000).toFixed(1)} s`.padStart(8);
  return `${time}  ${project}  ${action}  ${paint(colourOf(String(detail['status'])), change, style)}${late}${failures}`;
}

type Shown = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The upstream chooses some of the texts, and a terminal obeys control characters. */
function shownDetail(detail: Readonly<Record<string, unknown>>): Shown {
  const shown = (value: unknown) => (typeof value === 'string' ? oneLine(value) : value);
  return Object.fromEntries(Object.entries(detail).map(([name, value]) => [name, shown(value)])) as Shown;
}

interface StateWords {
  readonly subject: string;
  readonly words: string;
}

/** Returns what an event says of a compute, a branch or a budget, and undefined when it is about something else. */
function stateWordsOf(
  detailType: string,
  { previous_state, state, reason, metric, percent }: Shown,
): StateWords | undefined {
  switch (detailType) {
    case 'Compute State Changed': {
      const change = `${String(previous_state ?? 'not known')} -> ${String(state)}`;
      return { subject: 'compute', words: [change, reason].filter(Boolean).join(', ') };
    }
    case 'Branch Ready':
      return { subject: 'branch', words: 'ready' };
    case 'Branch Failed':
      return { subject: 'branch', words: 'failed' };
    case 'Project Usage Crossed':
      return { subject: 'usage', words: `${String(percent)} % of the limit of ${String(metric)}` };
    default:
      return undefined;
  }
}

/**
 * Returns the milliseconds from the upstream's `updated_at`, which is cut to whole seconds, to our observation, and
 * undefined for history.
 */
export function delayMsOf(event: Pick<DeliveredEvent, 'detail'>): number | undefined {
  const { observed_at, operation_updated_at, observed_by, late } = event.detail;
  if (typeof observed_at !== 'string' || typeof operation_updated_at !== 'string') return undefined;
  if (observed_by === 'backfill' || late === true) return undefined;
  return Math.max(0, Date.parse(observed_at) - Date.parse(operation_updated_at));
}

type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'magenta' | 'gray';

function colourOf(status: string): Colour {
  if (status === 'finished') return 'green';
  if (status === 'failed' || status === 'error') return 'red';
  if (status === 'cancelled' || status === 'cancelling' || status === 'skipped') return 'yellow';
  return 'cyan';
}

export function paint(colour: Colour, text: string, { isColoured }: LineStyle): string {
  return isColoured ? styleText(colour, text, { validateStream: false }) : text;
}

function timeOf(observedAt: unknown): string {
  return typeof observedAt === 'string' ? observedAt.slice(11, 19) : '--:--:--';
}

/**
 * The returned function gives a line, and before it a heading when the columns have changed. What had failed before
 * the bridge watched is no news, and a person who sees it believes that the installation is broken: it makes one line,
 * unless history was asked for.
 */
export function createEventLines(
  style: LineStyle,
  showsHistory = false,
): (event: Pick<DeliveredEvent, 'detail-type' | 'detail'>) => readonly string[] {
  /** How many failures of each account make no line of their own. */
  const oldFailures = new Map<unknown, number>();
  return (event) => {
    const [account, knownCount] = [event.detail['account_id'], oldFailures.size];
    const isOld = !showsHistory && isOldFailure(event);
    const count = (oldFailures.get(account) ?? 0) + Number(isOld);
    oldFailures.set(account, count);
    const showsAccount = oldFailures.size > 1;
    const heading = showsAccount && knownCount === 1 ? [eventHeading(true)] : [];
    if (isOld) return heading;
    const isWatched = event['detail-type'] === DETAIL_TYPES.account_watched;
    const history = isWatched && count > 0 ? [historyLine(count, style)] : [];
    return [...heading, eventLine(event, style, showsAccount), ...history];
  };
}

function isOldFailure({ detail }: Pick<DeliveredEvent, 'detail'>): boolean {
  return detail['observed_by'] === 'backfill' && detail['status'] === 'failed';
}

function historyLine(count: number, style: LineStyle): string {
  const words =
    count === 1 ? '1 operation had failed before; it is' : `${count} operations had failed before; they are`;
  return paint('gray', `          ${words} history`, style);
}

/** The 1st, 10th, 100th, ... lost event of a rule makes a line, because a target that is broken loses all of them. */
export function createDropReports(
  print: (line: string) => void,
): (event: DeliveredEvent, rule: string, reason: string) => void {
  const counts = new Map<string, number>();
  return (event, rule, reason) => {
    const count = (counts.get(rule) ?? 0) + 1;
    counts.set(rule, count);
    if (!Number.isInteger(Math.log10(count))) return;
    const which = count === 1 ? `the event ${event.id}` : `${count} events`;
    print(`rule ${rule}: ${which} did not reach the target: ${reason}`);
  };
}
