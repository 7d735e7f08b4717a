/** Cuts the two lists into pages. Their limits, cursors and order are those of the public contract. */

import type { WorldOperation, WorldProject } from '../world/state/project-state.ts';
import { wholeSeconds } from './rows.ts';

export interface PageQuery {
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
}

export type Page<Item> =
  | {
      readonly kind: 'page';
      readonly items: readonly Item[];
      /**
       * The cursor names the last item. It is present even when nothing follows, and absent on an empty page
       * (observed).
       */
      readonly cursor: string | undefined;
    }
  | { readonly kind: 'invalid'; readonly message: string };

/** A page has 1 to 400 projects, ten by default, or 1 to 1000 operations, all of them by default. */
const PROJECT_ROWS = { max: 400, byDefault: 10 };
const OPERATION_ROWS = { max: 1_000, byDefault: Number.POSITIVE_INFINITY };

/**
 * The newest operation comes first. A page is strictly older than its cursor, which is a time and not a place in the
 * list.
 */
export function operationPage(
  operations: readonly WorldOperation[],
  query: PageQuery,
  isListed: (operation: WorldOperation) => boolean,
): Page<WorldOperation> {
  const limit = parseLimit(query.limit, OPERATION_ROWS);
  if (limit === undefined) return badLimit(OPERATION_ROWS.max);
  const belowUs = query.cursor === undefined ? Number.POSITIVE_INFINITY : microsecondsOf(query.cursor);
  if (belowUs === undefined) return { kind: 'invalid', message: 'invalid request: invalid cursor' };
  const items: WorldOperation[] = [];
  for (let place = operations.length - 1; place >= 0 && items.length < limit; place--) {
    const operation = operations[place];
    if (operation !== undefined && operation.created_us < belowUs && isListed(operation))
      items.push(operation);
  }
  const last = items.at(-1);
  return { kind: 'page', items, cursor: last && cursorOf(last.created_us) };
}

/**
 * Projects come in the order of their ids; the cursor is the last project's id. `search` looks into ids and names.
 */
export function projectPage(
  projects: readonly WorldProject[],
  query: PageQuery & { readonly search?: string | undefined },
): Page<WorldProject> {
  const limit = parseLimit(query.limit, PROJECT_ROWS);
  if (limit === undefined) return badLimit(PROJECT_ROWS.max);
  const { cursor = '', search = '' } = query;
  const items = projects
    .filter(({ id, settings }) => id > cursor && (id.includes(search) || settings.name.includes(search)))
    .slice(0, limit);
  return { kind: 'page', items, cursor: items.at(-1)?.id };
}

/** Gives microseconds without trailing zeros (observed: `2022-12-09T08:47:52.20417Z`). */
export function cursorOf(createdUs: number): string {
  const fraction = String(createdUs % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const seconds = wholeSeconds(createdUs / 1_000).slice(0, 19);
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}

const CURSOR_PATTERN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/;

/** Returns microseconds since the epoch, or undefined when the text is no cursor of this list. */
export function microsecondsOf(cursor: string): number | undefined {
  const match = CURSOR_PATTERN.exec(cursor);
  const secondsMs = Date.parse(`${match?.[1]}Z`);
  if (match === null || Number.isNaN(secondsMs)) return undefined;
  return secondsMs * 1_000 + Number((match[2] ?? '').padEnd(6, '0'));
}

function parseLimit(
  text: string | undefined,
  { max, byDefault }: { readonly max: number; readonly byDefault: number },
): number | undefined {
  if (text === undefined) return byDefault;
  const limit = Number(text);
  return /^\d+$/.test(text) && limit >= 1 && limit <= max ? limit : undefined;
}

function badLimit(max: number): Page<never> {
  return { kind: 'invalid', message: `invalid request: limit must be between 1 and ${max}` };
}
