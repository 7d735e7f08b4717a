/** Reads what became of a command, an operation or a branch, and decides the exit code of those who waited for it. */

import * as z from 'zod';
import { EXIT_CODES, type ExitCode } from '../../process/exit-codes.ts';

/** `pending` says that it has not ended; a failed operation is pending, because the upstream may try again. */
export interface Outcome {
  readonly kind: 'pending' | 'succeeded' | 'failed' | 'refused' | 'unknown';
  /** The state in the words of the bridge, such as `running` or `expired`. */
  readonly state: string;
  /** What the bridge said, for people and for `--json`. */
  readonly seen: unknown;
  /** A sentence on why, when there is one. */
  readonly reason?: string | undefined;
}

const QUEUED_KINDS: Readonly<Record<string, Outcome['kind']>> = {
  queued: 'pending',
  sent: 'pending',
  running: 'pending',
  succeeded: 'succeeded',
  refused: 'refused',
  expired: 'refused',
  cancelled: 'refused',
  unknown: 'unknown',
};

export const queuedCommandAnswer = z.looseObject({
  command: z.looseObject({
    command_id: z.string(),
    project_id: z.string(),
    state: z.string(),
    reason: z.string().optional(),
  }),
});

/** A command that waited in line. In the state `unknown` it may have been carried out. */
export function outcomeOfQueued({ command }: z.output<typeof queuedCommandAnswer>): Outcome {
  const { state, reason } = command;
  return { kind: QUEUED_KINDS[state] ?? 'failed', state, reason, seen: command };
}

export const sentCommandAnswer = z.looseObject({
  command: z.looseObject({
    settled: z.boolean(),
    events: z.array(
      z.looseObject({ detail_type: z.string(), detail: z.looseObject({ outcome: z.string().optional() }) }),
    ),
  }),
});

const SETTLED_KINDS: Readonly<Record<string, Outcome['kind']>> = {
  succeeded: 'succeeded',
  unknown: 'unknown',
};

/** A command that was sent at once. Its event `Command Settled` says how it ended. */
export function outcomeOfSent({ command }: z.output<typeof sentCommandAnswer>): Outcome {
  if (!command.settled) return { kind: 'pending', state: 'running', seen: command };
  const settled = command.events.find(({ detail_type }) => detail_type === 'Command Settled');
  const state = settled?.detail.outcome ?? 'failed';
  return { kind: SETTLED_KINDS[state] ?? 'failed', state, seen: settled?.detail ?? command };
}

export const operationAnswer = z.looseObject({
  operation: z.looseObject({ status: z.string(), open: z.boolean() }),
});

/** In these statuses an operation did what was asked, or did not have to. */
const GOOD_ENDS: ReadonlySet<string> = new Set(['finished', 'skipped']);

/** The bridge stops watching a `failed` operation after 30 days; until then the upstream may try again. */
export function outcomeOfOperation({ operation }: z.output<typeof operationAnswer>): Outcome {
  const { status, open } = operation;
  if (open) return { kind: 'pending', state: status, seen: operation };
  return { kind: GOOD_ENDS.has(status) ? 'succeeded' : 'failed', state: status, seen: operation };
}

export const trackedBranchAnswer = z.looseObject({
  branch: z.looseObject({ readiness: z.enum(['pending', 'ready', 'failed']) }),
});

const BRANCH_KINDS = { pending: 'pending', ready: 'succeeded', failed: 'failed' } as const;

/** A branch whose creation the bridge has seen. */
export function outcomeOfBranch({ branch }: z.output<typeof trackedBranchAnswer>): Outcome {
  return { kind: BRANCH_KINDS[branch.readiness], state: branch.readiness, seen: branch };
}

export function exitCodeOf({ kind }: Outcome): ExitCode {
  if (kind === 'pending') return EXIT_CODES.timed_out;
  return EXIT_CODES[kind];
}
