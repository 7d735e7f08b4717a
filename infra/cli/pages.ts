/** Reads lists page after page, those that a subcommand shows and any that a person asks for, and prints rows below a heading. */

import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod';
import type { BridgeAnswer } from './bridge-client.ts';
import type { Asked } from './subcommands/subcommand.ts';

/** The largest page of the bridge. */
const PAGE_MAX = 100;

/**
 * Reads pages until `most` rows were shown, or `pagesMax` pages were read: a page with filters may be empty. Resolves to the
 * number of rows, and to whether there are more.
 */
export async function showPages<Row>(
  { most, pagesMax }: { readonly most: number; readonly pagesMax: number },
  read: (part: object) => Promise<{ readonly rows: readonly Row[]; readonly cursor: string | undefined }>,
  show: (rows: readonly Row[]) => void,
): Promise<{ readonly count: number; readonly hasMore: boolean }> {
  let [count, cursor]: [number, string | undefined] = [0, undefined];
  for (let pages = 0; pages < pagesMax && count < most; pages++) {
    const page = await read({ limit: Math.min(most, PAGE_MAX), cursor });
    show(page.rows.slice(0, most - count));
    [count, cursor] = [count + page.rows.length, page.cursor];
    if (cursor === undefined) break;
  }
  return { count, hasMore: cursor !== undefined };
}

/** What a column shows of a row, by the heading of the column. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | undefined>>;

/**
 * Returns a function that prints rows below one heading, or with `--json` each as a line of JSON. The heading goes to the error output, so that the
 * rows can be piped. The rows of the first call decide how wide the columns are.
 */
export function rowPrinter<Row>(
  columns: Columns<Row>,
  { show, note, values }: Asked<unknown>,
): (rows: readonly Row[]) => void {
  const [headings, cellsOf] = [Object.keys(columns), Object.values(columns)];
  let widths: readonly number[] | undefined;
  const lineOf = (cells: readonly string[]) =>
    cells
      .map((cell, place) => cell + ' '.repeat(Math.max(0, (widths?.[place] ?? 0) - lengthOf(cell))))
      .join('  ')
      .trimEnd();
  return (rows) => {
    if (rows.length === 0) return;
    const table = rows.map((row) =>
      cellsOf.map((cellOf) => String(cellOf(row) ?? '-').replaceAll(/\s/g, ' ')),
    );
    if (widths === undefined) {
      widths = headings.map((heading, place) =>
        Math.max(...[heading, ...table.map((cells) => cells[place] ?? '')].map(lengthOf)),
      );
      if (!values.json) note(lineOf(headings));
    }
    for (const [place, row] of rows.entries()) show(row, lineOf(table[place] ?? []));
  };
}

/** Colours take no place on a terminal. */
const lengthOf = (cell: string) => stripVTControlCharacters(cell).length;

/** Each page has at most a hundred rows, and an account at most 250,000 projects. */
const PAGES_MAX = 2_500;

/** A list of the bridge ends with a page without a cursor, and one of the upstream with an empty page or a cursor that stays. */
const listPage = z.looseObject({
  cursor: z.string().optional(),
  pagination: z.looseObject({ cursor: z.string().optional() }).optional(),
  has_more: z.boolean().optional(),
});

/** Resolves to the last page with the rows of all pages in it, or to the first answer that is no page. */
export async function readPages<Sent extends { readonly answer: BridgeAnswer }>(
  path: string,
  note: (sentence: string) => void,
  send: (path: string) => Promise<Sent | undefined>,
): Promise<Sent | undefined> {
  const rows: Record<string, unknown[]> = {};
  let next: string | undefined;
  for (let pages = 1; ; pages++) {
    const answered = await send(next === undefined ? path : withCursor(path, next));
    const page = listPage.safeParse(answered?.answer.json).data;
    if (answered === undefined || answered.answer.status > 299 || page === undefined) return answered;
    const lists = Object.entries(page).filter((field): field is [string, unknown[]] =>
      Array.isArray(field[1]),
    );
    for (const [name, more] of lists) rows[name] = [...(rows[name] ?? []), ...more];
    const cursor =
      page.cursor ?? (lists.some(([, more]) => more.length > 0) ? page.pagination?.cursor : undefined);
    if (pages === PAGES_MAX) note(`The list goes on behind ${PAGES_MAX} pages, which are shown.`);
    if (cursor === undefined || cursor === next || page.has_more === false || pages === PAGES_MAX) {
      const json = { ...page, ...rows };
      return { ...answered, answer: { ...answered.answer, json, text: JSON.stringify(json) } };
    }
    next = cursor;
  }
}

function withCursor(path: string, cursor: string): string {
  const [place = '', query] = path.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${place}?${parameters.toString()}`;
}
