/** Turns what a crash test found into figures, and decides whether the promise held. */

import type { Violation } from '../simulation/check-history.ts';
import type { EventLines } from './event-lines.ts';
import type { Lateness, Outage } from './lateness.ts';

export interface Findings {
  readonly kills: number;
  readonly owedCount: number;
  readonly lines: EventLines;
  readonly violations: readonly Violation[];
  readonly lateness: readonly Lateness[];
  /**
   * A final state may arrive this late: after four rounds of all projects, or after the planner's minimum for a small
   * account.
   */
  readonly latenessMsMax: number;
  readonly outages: readonly Outage[];
  readonly unexpectedEnds: readonly (number | null)[];
  readonly errors: readonly string[];
}

export interface Verdict {
  readonly lines: readonly string[];
  readonly isKept: boolean;
}

/** At most this many findings of each kind are printed; the figures above them count all. */
const SHOWN_MAX = 10;

export function verdictOf(findings: Findings): Verdict {
  const { kills, owedCount, lines, violations, lateness, latenessMsMax, unexpectedEnds, errors } = findings;
  const countOf = (rule: string) => violations.filter((violation) => violation.rule === rule).length;
  const netMs = lateness.map(({ delayMs, outageMs }) => delayMs - outageMs).toSorted((a, b) => a - b);
  const tooLate = lateness.filter(({ delayMs, outageMs }) => delayMs - outageMs > latenessMsMax);
  const ids = new Set(lines.events.map(({ detail }) => detail['id']));
  const outagesMs = findings.outages.map(({ fromMs, toMs }) => toMs - fromMs);
  const isKept =
    violations.length + tooLate.length + unexpectedEnds.length + errors.length === 0 &&
    owedCount > 0 &&
    lateness.length > 0;
  return {
    isKept,
    lines: [
      `${kills} kills; down for ${seconds(Math.max(...outagesMs))} at most, ${seconds(sumOf(outagesMs))} in all`,
      `${lines.events.length} events delivered, ${lines.events.length - ids.size} of them copies, ${lines.tornCount} torn lines`,
      `${owedCount} operations whose end had to be published`,
      `${countOf('final')} lost, ${countOf('chain')} gaps in sequence, ${countOf('same-id')} copies that differ, ${countOf('invented')} invented, ${countOf('history')} published as news though history`,
      `final states after ${seconds(quantile(netMs, 0.5))} in the median, ${seconds(quantile(netMs, 0.95))} in 95 of 100 cases, ${seconds(netMs.at(-1) ?? 0)} at most, not counting outages`,
      `${tooLate.length} of ${lateness.length} later than four rounds (${seconds(latenessMsMax)}) plus the outage`,
      `${unexpectedEnds.length} processes ended by themselves, ${errors.length} lines of errors`,
      ...violations.slice(0, SHOWN_MAX).map((each) => `  ${each.rule} ${each.operation_id} ${each.detail}`),
      ...tooLate
        .slice(0, SHOWN_MAX)
        .map(
          (each) =>
            `  late ${each.operationId} ${seconds(each.delayMs)}, of which ${seconds(each.outageMs)} down`,
        ),
      ...errors.slice(0, SHOWN_MAX).map((line) => `  error ${line}`),
      isKept ? 'The promise held.' : 'The promise was broken.',
    ],
  };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
