/** Has the protocol's model follow a simulated run, and says which steps of it the model does not allow. */

import { createAcceptor, type Rejection, type Step } from '../model/accept.ts';
import { createPortListener, type Listening, type PortListener } from './port-listener.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** PROTOCOL.md has these numbers. The overlap is one of each run. */
const LAW = {
  lag: MINUTE_MS,
  reading: 15 * MINUTE_MS,
  history: 190 * DAY_MS,
  retention: 200 * DAY_MS,
  pendingMax: 64,
} as const;

/** Takes one line for each step, and for each rejection. */
export type StepTrace = (line: string) => void;

export interface Followed {
  readonly listener: PortListener;
  readonly rejections: readonly Rejection[];
}

export interface Following extends Omit<Listening, 'onStep'> {
  readonly overlapMs: number;
  readonly backfill: string;
  readonly trace?: StepTrace | undefined;
}

export function followRun({ overlapMs, backfill, trace, ...listening }: Following): Followed {
  const acceptor = createAcceptor({
    ...LAW,
    overlap: overlapMs,
    isHistoryNews: backfill === 'all',
  });
  const onStep = (step: Step) => {
    const before = acceptor.rejections.length;
    trace?.(`${acceptor.stepCount} ${lineOf(step)}`);
    acceptor.take(step);
    for (const { rule, detail } of acceptor.rejections.slice(before)) trace?.(`REJECTED ${rule}: ${detail}`);
  };
  return { listener: createPortListener({ ...listening, onStep }), rejections: acceptor.rejections };
}

function lineOf(step: Step): string {
  if (step.kind === 'restore') return `restore of ${step.items.size} items`;
  const { kind, ...rest } = step;
  return `${kind} ${JSON.stringify(rest)}`;
}
