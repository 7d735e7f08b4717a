/** Defines a row of docs/limits.md. */

import type { BoundName } from '../../../../functions/poller/account/status/report-bound.ts';

export interface Bound {
  /** The name says what the bound limits. */
  readonly name: string;
  /** The value is the constant itself, so that the page cannot drift from the code. */
  readonly value: number;
  /**
   * The unit is read aloud with the value: "40 pages", "60 s". Values in `ms` and `bytes` are shown in larger units.
   */
  readonly unit: string;
  /** The reason says why the bound exists, and why it has this size. */
  readonly reason: string;
  readonly whenMet: string;
  /** The signal names the metric, log line, event or answer that reports that the bound was met. */
  readonly signal: string;
}

/** A group has all bounds of one part of the bridge. */
export interface BoundGroup {
  readonly title: string;
  readonly bounds: readonly Bound[];
}

/** Names the metric and the log line that report this bound of the poller. */
export function boundMet(name: BoundName): string {
  return `\`BoundMet\`, with the alarm \`bound-met\`; log line \`bound.met\` with \`bound: ${name}\``;
}
