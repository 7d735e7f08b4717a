/**
 * Checks that a refusal that can pass parks no event, that one operation that cannot be read takes no more than its share, and that
 * nobody puts back how far another process has come.
 */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS } from '../plan.ts';
import type { Evidence } from './evidence.ts';

export function checkRefusals(evidence: Evidence): readonly Violation[] {
  return [...parkedInVain(evidence), ...askedTooOften(evidence), ...putBack(evidence)];
}

/** Authorization can come back, so an event that lacks it is tried again. Only what is malformed or too large is parked (design, section 3). */
function parkedInVain({ stage }: Evidence): readonly Violation[] {
  return stage.tableSide.table.sync
    .items()
    .flatMap(({ kind, code, sk }) =>
      kind === 'parked' && typeof code === 'string' && /author|access/i.test(code)
        ? [{ rule: 'parked-in-vain', operation_id: sk, detail: code }]
        : [],
    );
}

/**
 * In the first hour after its failure an operation is read once a minute (docs/limits.md), whatever the answer is. Within these minutes a
 * process asks at most once more than that, because the first reading comes at once, and once because another operation's end lets it look.
 */
const ASKED_WITHIN_MS = 4 * MINUTE_MS;
const ASKED_MAX = 6;

function askedTooOften({ stage }: Evidence): readonly Violation[] {
  const refused = stage.upstream.truth.operations().filter(({ readingIs }) => readingIs === 'refused');
  return refused.flatMap(({ id }) => {
    const own = stage.upstream.log.filter(
      ({ operationId, isCommand, status }) => operationId === id && !isCommand && status === 403,
    );
    const byProcess = Map.groupBy(own, ({ by }) => by);
    return [...byProcess].flatMap(([by, asked]) => {
      const first = asked.find(
        ({ atMs }, place) =>
          (asked[place + ASKED_MAX]?.atMs ?? Number.POSITIVE_INFINITY) - atMs < ASKED_WITHIN_MS,
      );
      if (first === undefined) return [];
      const detail = `${by} asked more than ${ASKED_MAX} times from ${new Date(first.atMs).toISOString()} on`;
      return [{ rule: 'asked-too-often', operation_id: id, detail }];
    });
  });
}

/** Where a walk continues is true only beside the watermark with which the walk began. */
function putBack({ stage }: Evidence): readonly Violation[] {
  return [...new Set(stage.tableSide.putBack)].map((pk) => ({
    rule: 'progress-put-back',
    operation_id: '',
    detail: pk,
  }));
}
