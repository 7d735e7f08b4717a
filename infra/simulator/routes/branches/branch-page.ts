/** Searches, sorts and cuts the list of branches into pages (public contract). */

import type { Branch } from '../../world/state/branch.ts';

export interface BranchQuery {
  readonly search?: string | undefined;
  readonly sort_by?: string | undefined;
  readonly sort_order?: string | undefined;
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
}

type BranchPage =
  | { readonly kind: 'page'; readonly branches: readonly Branch[]; readonly pagination: object }
  | { readonly kind: 'invalid'; readonly message: string };

const LIMIT_MAX = 10_000;

/** Values compare as text. Times have the same number of digits until the year 2286. */
const SORT_KEYS: Readonly<Record<string, (branch: Branch) => string>> = {
  name: ({ name }) => name,
  created_at: ({ createdAtMs }) => String(Math.floor(createdAtMs)),
  updated_at: ({ updatedAtMs }) => String(Math.floor(updatedAtMs)),
};

/** `next` is present only when more branches follow. */
export function branchPage(branches: Iterable<Branch>, query: BranchQuery): BranchPage {
  const { sort_by = 'updated_at', sort_order = 'desc', limit = String(LIMIT_MAX), cursor } = query;
  const keyOf = SORT_KEYS[sort_by];
  if (keyOf === undefined) return invalid('sort_by must be name, created_at or updated_at');
  if (sort_order !== 'asc' && sort_order !== 'desc') return invalid('sort_order must be asc or desc');
  const count = /^\d+$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > LIMIT_MAX) return invalid(`limit must be between 1 and ${LIMIT_MAX}`);
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  if (cursor !== undefined && after === undefined) return invalid('invalid cursor');
  const sign = sort_order === 'asc' ? 1 : -1;
  const sorted = filterBranches(branches, query.search)
    .map((branch) => ({ branch, place: [keyOf(branch), branch.id] as const }))
    .filter(({ place }) => after === undefined || sign * compare(place, after) > 0)
    .toSorted((a, b) => sign * compare(a.place, b.place));
  const page = sorted.slice(0, count);
  const last = page.at(-1);
  const next = last !== undefined && sorted.length > count ? { next: cursorOf(last.place) } : {};
  return {
    kind: 'page',
    branches: page.map(({ branch }) => branch),
    pagination: { ...next, sort_by, sort_order },
  };
}

/** The search is in ids and names. */
export function filterBranches(branches: Iterable<Branch>, search = ''): readonly Branch[] {
  return [...branches].filter(({ id, name }) => id.includes(search) || name.includes(search));
}

type Place = readonly [key: string, id: string];

function compare([keyA, idA]: Place, [keyB, idB]: Place): number {
  if (keyA !== keyB) return keyA < keyB ? -1 : 1;
  if (idA === idB) return 0;
  return idA < idB ? -1 : 1;
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function parseCursor(cursor: string): Place | undefined {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(place) || place.length !== 2) return undefined;
    return [String(place[0]), String(place[1])];
  } catch {
    return undefined;
  }
}

function invalid(message: string): BranchPage {
  return { kind: 'invalid', message: `invalid request: ${message}` };
}
