/** Decides what a search finds among the projects and the latest records of an account. */

import type { ChangedRecord } from '../../read-model/account-activity.ts';

export interface FoundProject {
  readonly project_id: string;
  readonly name: string | undefined;
}

export interface Matches {
  readonly projects: readonly FoundProject[];
  /** The record that changed last comes first. */
  readonly records: readonly ChangedRecord[];
  /** The text is the whole id of this record, or the whole id or name of this only project. */
  readonly exact: ChangedRecord | FoundProject | undefined;
}

/** People look at no more than this many rows of a kind; a longer text finds fewer. */
export const MATCHES_PER_KIND_MAX = 20;

/** A shorter text would match a part of almost every id. */
export const TEXT_CHARACTERS_MIN = 2;

export function searchMatches(
  text: string,
  projects: readonly FoundProject[],
  records: readonly ChangedRecord[],
): Matches {
  const wanted = text.trim().toLowerCase();
  if (wanted.length < TEXT_CHARACTERS_MIN) return { projects: [], records: [], exact: undefined };
  const has = (value: string | undefined) => value?.toLowerCase().includes(wanted) === true;
  const foundProjects = projects.filter(({ project_id, name }) => has(project_id) || has(name));
  // A project stands in its own list.
  const foundRecords = records.filter(({ kind, id }) => kind !== 'project' && has(id));
  const is = (value: string | undefined) => value?.toLowerCase() === wanted;
  const exactProjects = foundProjects.filter(({ project_id, name }) => is(project_id) || is(name));
  const exactRecord = foundRecords.find(({ id }) => is(id));
  return {
    projects: foundProjects.slice(0, MATCHES_PER_KIND_MAX),
    records: firstOfEachKind(foundRecords),
    exact: exactRecord ?? (exactProjects.length === 1 ? exactProjects[0] : undefined),
  };
}

function firstOfEachKind(records: readonly ChangedRecord[]): readonly ChangedRecord[] {
  const byKind = Map.groupBy(records, ({ kind }) => kind);
  return [...byKind.values()].flatMap((each) => each.slice(0, MATCHES_PER_KIND_MAX));
}
