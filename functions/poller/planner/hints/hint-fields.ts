/**
 * Reads the project list as a source of hints: it finds the projects of which a field has moved since the listing
 * before.
 */

import type { FieldEvidence, HintRecall } from '../../../../shared/core/records/hint-evidence.ts';
import { createHintPrecision } from './hint-precision.ts';
import { cautiousRecall, expectedRecall, noteHint, RECALL_MIN, UNTRIED } from './hint-recall.ts';

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
  takeListing(rows: readonly ProjectRow[], listing: ReadingTimes): readonly string[];
  /**
   * Learns what a poll has found there. A transition was shown by an earlier listing, or is shown by the first listing
   * that begins after the poll; otherwise the fields have missed it.
   */
  takeReading(projectId: string, foundTransition: boolean, reading: ReadingTimes): void;
  /** Returns the share of transitions, from 0 to 1, that the best field is expected to show. */
  recall(): number;
  /** Returns a lower estimate of that share, which only much evidence raises. */
  provenRecall(): number;
  /** Returns the share of the readings, from 0 to 1, that found a transition after a believed field had moved. */
  precision(): number;
  /**
   * Returns when a poll last found a transition after a believed field had moved, in milliseconds since the epoch. It is
   * -Infinity before the first of them.
   */
  shownAtMs(): number;
  forget(projectId: string): void;
  /** Returns what was learned of each field, for the status that is kept across restarts. */
  evidence(): readonly FieldEvidence[];
  /** Evidence of fields that are no longer read is ignored. */
  restore(evidence: readonly FieldEvidence[]): void;
}

/** Says when a request was sent and when its answer came, in milliseconds since the epoch. */
interface ReadingTimes {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}

/** A false alarm costs a request, so a field is no longer believed once it is wrong ten times as often as right. */
const FALSE_ALARMS_PER_HIT_MAX = 10;

interface Field {
  readonly name: (typeof HINT_FIELDS)[number];
  recall: HintRecall;
  hitCount: number;
  moveCount: number;
}

/** The process remembers this of a project between two listings. Each array follows the order of `HINT_FIELDS`. */
interface KnownRow {
  /** The value of each field in the last listing is kept to be compared with the next one. */
  values: readonly unknown[];
  /** It says of each field whether it has moved, until a poll explains the move or finds nothing. It may be empty. */
  moved: readonly boolean[];
  /** The last of these moves was shown at this time, in milliseconds since the epoch. */
  movedAtMs: number;
  /**
   * These moves were shown while a poll was under way that found a transition. They may have shown that one, or the next
   * one, which the poll came too early for.
   */
  movedMeanwhile: readonly boolean[];
  /**
   * A transition was found at this time that the field had not shown. The field has missed it when a listing that
   * began later does not show it either; one that began earlier may have looked before the transition.
   */
  foundAtMs: readonly (number | undefined)[];
}

export function createHintFields(): HintFields {
  const fields = HINT_FIELDS.map(untriedField);
  const precision = createHintPrecision();
  const rows = new Map<string, KnownRow>();
  /**
   * These projects have a move that no poll has explained. A poll of any other one that finds nothing teaches nothing, so
   * its row is not searched among hundreds of thousands.
   */
  const moving = new Set<string>();
  const hasBelieved = (moved: readonly boolean[]) =>
    moved.some((didMove, index) => didMove && isBelieved(fields[index]));
  const best = (estimate: (recall: HintRecall) => number) =>
    Math.max(RECALL_MIN, ...fields.filter(isBelieved).map(({ recall }) => estimate(recall)));
  /** It is kept because every decision of the planner asks for it. */
  let recall = best(expectedRecall);
  let shownAtMs = Number.NEGATIVE_INFINITY;

  return {
    takeListing(listed, listing) {
      const moved = listed.filter((row) => hasBelieved(takeRow(row, listing)));
      recall = best(expectedRecall);
      return moved.map(({ id }) => id);
    },
    takeReading(projectId, foundTransition, { beganAtMs, endedAtMs }) {
      const known = foundTransition || moving.has(projectId) ? rows.get(projectId) : undefined;
      if (known === undefined) return;
      const isExplained = known.movedAtMs <= beganAtMs;
      if (isExplained && hasBelieved(known.moved)) precision.note(foundTransition);
      if (foundTransition && hasBelieved(known.moved)) shownAtMs = endedAtMs;
      if (foundTransition) takeTransition(fields, known, endedAtMs);
      known.movedMeanwhile = foundTransition && !isExplained ? known.moved : NONE_MOVED;
      if (foundTransition || isExplained) known.moved = NONE_MOVED;
      if (known.moved === NONE_MOVED && known.movedMeanwhile === NONE_MOVED) moving.delete(projectId);
      if (foundTransition) recall = best(expectedRecall);
    },
    recall: () => recall,
    provenRecall: () => best(cautiousRecall),
    precision: () => precision.share(),
    shownAtMs: () => shownAtMs,
    forget(projectId) {
      rows.delete(projectId);
      moving.delete(projectId);
    },
    evidence: () => fields.map((field) => ({ ...field })),
    restore(evidence) {
      restoreFields(fields, evidence);
      recall = best(expectedRecall);
    },
  };

  /**
   * Returns for each field whether it moved since the listing before. Of a project that is met for the first time,
   * none has.
   */
  function takeRow(row: ProjectRow, { beganAtMs, endedAtMs }: ReadingTimes): readonly boolean[] {
    const values = fields.map(({ name }) => row[name]);
    const known = rows.get(row.id);
    if (known === undefined) {
      const none = { moved: NONE_MOVED, movedMeanwhile: NONE_MOVED, foundAtMs: NONE_FOUND };
      rows.set(row.id, { values, movedAtMs: endedAtMs, ...none });
      return NONE_MOVED;
    }
    const moved = values.map((value, index) => value !== undefined && value !== known.values[index]);
    known.values = values;
    takeProofs(fields, known, moved, beganAtMs);
    if (moved.includes(true)) {
      takeMoves(fields, known, moved, endedAtMs);
      moving.add(row.id);
    }
    return moved;
  }
}

const NONE_MOVED: readonly boolean[] = [];
const NONE_FOUND: readonly undefined[] = [];

function untriedField(name: Field['name']): Field {
  return { name, recall: UNTRIED, hitCount: 0, moveCount: 0 };
}

/** A move counts until a poll of the project, however many listings lie between. */
function takeMoves(
  fields: readonly Field[],
  known: KnownRow,
  moved: readonly boolean[],
  shownAtMs: number,
): void {
  fields.forEach((field, index) => {
    if (moved[index] === true) field.moveCount += 1;
  });
  known.moved = moved.map((didMove, index) => didMove || known.moved[index] === true);
  known.movedAtMs = shownAtMs;
}

/**
 * A field has shown the transition if it has moved, and nothing is learned where it may have. It has missed it at once
 * if its row lacks the field.
 */
function takeTransition(fields: readonly Field[], known: KnownRow, foundAtMs: number): void {
  known.foundAtMs = fields.map((field, index) => {
    const didMove = known.moved[index] === true;
    if (!didMove && known.movedMeanwhile[index] === true) return known.foundAtMs[index];
    if (!didMove && known.values[index] !== undefined) return known.foundAtMs[index] ?? foundAtMs;
    noteTransition(field, didMove);
    return known.foundAtMs[index];
  });
}

/** The listing shows what was found before it began. A field that moves in it has shown the transition. */
function takeProofs(
  fields: readonly Field[],
  known: KnownRow,
  moved: readonly boolean[],
  beganAtMs: number,
): void {
  if (known.foundAtMs === NONE_FOUND) return;
  const left = fields.map((field, index) => {
    const foundAtMs = known.foundAtMs[index];
    const didMove = moved[index] === true;
    if (foundAtMs === undefined || (!didMove && beganAtMs < foundAtMs)) return foundAtMs;
    noteTransition(field, didMove);
    return undefined;
  });
  known.foundAtMs = left.some((foundAtMs) => foundAtMs !== undefined) ? left : NONE_FOUND;
}

function noteTransition(field: Field, didMove: boolean): void {
  if (didMove) field.hitCount += 1;
  field.recall = noteHint(field.recall, didMove);
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
