/** Says which promises of the README ("What it promises") the published events of operations break. */

import type { Row } from './service.ts';

/** Is one acceptance of an event by the bus. */
export interface Published {
  readonly atMs: number;
  readonly type: string;
  /** Is the detail exactly as it was published. */
  readonly text: string;
  readonly detail: Detail;
}

interface Detail {
  readonly id: string;
  readonly operation_id?: string;
  readonly sequence?: number;
  readonly status?: string;
  readonly previous_status?: string | null;
  readonly [name: string]: unknown;
}

/** Returns a sentence for each broken promise. `rows` are the operations as they truly are in the end. */
export function brokenPromises(copies: readonly Published[], rows: readonly Row[]): readonly string[] {
  const chains = Map.groupBy(
    distinct(copies).filter(({ type }) => type === 'Operation State Changed'),
    ({ detail }) => detail.operation_id ?? 'an operation without an id',
  );
  const inOrder = new Map([...chains].map(([id, chain]) => [id, bySequence(chain)]));
  return [
    ...differingCopies(copies),
    ...[...inOrder].flatMap(([id, chain]) => brokenLinks(id, chain)),
    ...rows.flatMap(({ id, status }) => untoldEnd(id, status, inOrder.get(id)?.at(-1))),
  ];
}

/** Returns each event once, in the order in which the bus has accepted them first. */
export function distinct(copies: readonly Published[]): readonly Published[] {
  return [...new Map(copies.toReversed().map((event) => [event.detail.id, event])).values()].toReversed();
}

function bySequence(chain: readonly Published[]): readonly Detail[] {
  return chain.map(({ detail }) => detail).toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
}

/** Promise 1: all copies of one event are equal. */
function differingCopies(copies: readonly Published[]): readonly string[] {
  return [...Map.groupBy(copies, ({ detail }) => detail.id)].flatMap(([id, same]) =>
    new Set(same.map(({ text }) => text)).size > 1 ? [`Two copies of event ${id} differ.`] : [],
  );
}

/** Promise 2: the events of an operation are numbered without a gap, and each begins where the one before it ended. */
function brokenLinks(operationId: string, chain: readonly Detail[]): readonly string[] {
  return chain.flatMap(({ sequence, previous_status }, place) => {
    const before = chain[place - 1];
    if (sequence !== place + 1) return [`Event ${place + 1} of ${operationId} has the sequence ${sequence}.`];
    const follows = before === undefined || previous_status === before.status;
    return follows ? [] : [`Event ${place + 1} of ${operationId} does not follow the one before it.`];
  });
}

/** Promises 2 and 3: the last event equals the state of the upstream. */
function untoldEnd(operationId: string, status: string, last: Detail | undefined): readonly string[] {
  if (last === undefined) return [`Nothing was told of ${operationId}, which is ${status}.`];
  return last.status === status
    ? []
    : [`The last state told of ${operationId} is ${last.status}, and the operation is ${status}.`];
}
