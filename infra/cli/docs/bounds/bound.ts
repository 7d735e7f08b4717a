/** One row of docs/limits.md. */

import type { BoundName } from '../../../../functions/poller/account/note-bound.ts';

export interface Bound {
  /** What is bounded. */
  readonly name: string;
  /** Taken from the constant itself, so that the page cannot drift. */
  readonly value: number;
  /** Of the value, as it is read aloud: "40 pages", "60 s". Values of `ms` and `bytes` are shown in larger units. */
  readonly unit: string;
  /** Why it is there, and why it is this large. */
  readonly reason: string;
  readonly whenMet: string;
  /** The metric, log line, event or answer that says so. */
  readonly signal: string;
}

/** The bounds of one part of the bridge. */
export interface BoundGroup {
  readonly title: string;
  readonly bounds: readonly Bound[];
}

/** The signal of the poller's bounds that would otherwise be met in silence. */
export function boundMet(name: BoundName): string {
  return `\`BoundMet\`, with the alarm \`bound-met\`; log line \`bound.met\` with \`bound: ${name}\``;
}
