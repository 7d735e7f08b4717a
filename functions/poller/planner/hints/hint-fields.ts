/**
 * Reads the project list as a source of hints: it finds the projects of which a field has moved since the listing
 * before.
 */

import type { FieldEvidence, HintRecall } from '../../../../shared/core/records/hint-evidence.ts';
import { cautiousRecall, noteHint, RECALL_MIN, UNTRIED } from './hint-recall.ts';

/**
 * The specification does not say which of these fields moves with an operation, so the bridge measures each of them.
 * `cpu_used_sec` stands in the specification's list of projects. It grows while a compute is used, and not only when one
 * starts. So it is given up where the list is read often, and is a good hint where the list is read once in a minute.
 */
const HINT_FIELDS = ['updated_at', 'compute_last_active_at', 'active_time', 'cpu_used_sec'] as const;

/** This is the part of a row of the project list that can be a hint. */
export type ProjectRow = { readonly id: string } & Partial<
  Readonly<Record<(typeof HINT_FIELDS)[number], unknown>>
>;

export interface HintFields {
  /** Returns the projects of which a believed field has moved. A project that is met for the first time has not moved. */
  takeListing(rows: readonly ProjectRow[]): readonly string[];
  /** Learns that a poll has found a transition there: the last listing or the next one shows which fields moved with it. */
  takeTransition(projectId: string): void;
  /** Returns a lower estimate of the share of transitions, from 0 to 1, that the best field shows. */
  recall(): number;
  forget(projectId: string): void;
  /** Returns what was learned of each field, for the status that is kept across restarts. */
  evidence(): readonly FieldEvidence[];
  /** Evidence of fields that are no longer read is ignored. */
  restore(evidence: readonly FieldEvidence[]): void;
}

/** A false alarm costs a request, so a field is no longer believed once it is wrong ten times as often as right. */
const FALSE_ALARMS_PER_HIT_MAX = 10;

interface Field {
  readonly name: (typeof HINT_FIELDS)[number];
  recall: HintRecall;
  hitCount: number;
  moveCount: number;
}

/** The process remembers this of a project between two listings. */
interface KnownRow {
  /**
   * The value of each field in the last listing, in the order of `HINT_FIELDS`, is kept to be compared with the next
   * one.
   */
  values: readonly unknown[];
  /** It is true when a transition was found since the last listing, and no field had moved before. */
  awaitsProof: boolean;
  /** It says of each field whether it moved at the last listing. It is empty once a transition has explained the moves. */
  moved: readonly boolean[];
}

export function createHintFields(): HintFields {
  const fields = HINT_FIELDS.map(untriedField);
  const rows = new Map<string, KnownRow>();

  return {
    takeListing(listed) {
      const ids: string[] = [];
      for (const row of listed) {
        const moved = takeRow(row);
        if (moved.some((didMove, index) => didMove && isBelieved(fields[index]))) ids.push(row.id);
      }
      return ids;
    },
    takeTransition(projectId) {
      const known = rows.get(projectId);
      if (known === undefined) return;
      if (!known.moved.includes(true)) {
        known.awaitsProof = true;
        return;
      }
      countTransition(fields, known.moved);
      known.moved = [];
    },
    recall: () =>
      Math.max(RECALL_MIN, ...fields.filter(isBelieved).map((field) => cautiousRecall(field.recall))),
    forget: (projectId) => void rows.delete(projectId),
    evidence: () => fields.map((field) => ({ ...field })),
    restore: (evidence) => restoreFields(fields, evidence),
  };

  /**
   * Returns for each field whether it moved since the listing before. Of a project that is met for the first time,
   * none has.
   */
  function takeRow(row: ProjectRow): readonly boolean[] {
    const values = fields.map(({ name }) => row[name]);
    const known = rows.get(row.id);
    if (known === undefined) {
      rows.set(row.id, { values, awaitsProof: false, moved: [] });
      return [];
    }
    const moved = values.map((value, index) => value !== undefined && value !== known.values[index]);
    countMoves(fields, moved);
    if (known.awaitsProof) countTransition(fields, moved);
    Object.assign(known, { values, moved, awaitsProof: false });
    return moved;
  }
}

function untriedField(name: Field['name']): Field {
  return { name, recall: UNTRIED, hitCount: 0, moveCount: 0 };
}

function countMoves(fields: readonly Field[], moved: readonly boolean[]): void {
  fields.forEach((field, index) => {
    if (moved[index] === true) field.moveCount += 1;
  });
}

/** A transition caused these moves, so each field has either shown it or missed it. */
function countTransition(fields: readonly Field[], moved: readonly boolean[]): void {
  fields.forEach((field, index) => {
    const didMove = moved[index] === true;
    if (didMove) field.hitCount += 1;
    field.recall = noteHint(field.recall, didMove);
  });
}

function restoreFields(fields: readonly Field[], evidence: readonly FieldEvidence[]): void {
  for (const field of fields) {
    const known = evidence.find(({ name }) => name === field.name);
    if (known === undefined) continue;
    field.recall = known.recall;
    field.hitCount = known.hitCount;
    field.moveCount = known.moveCount;
  }
}

function isBelieved(field: Field | undefined): boolean {
  if (field === undefined) return false;
  const { hitCount, moveCount } = field;
  return moveCount <= FALSE_ALARMS_PER_HIT_MAX * Math.max(10, hitCount);
}
