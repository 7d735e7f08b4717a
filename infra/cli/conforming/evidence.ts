/** What a conformance run has seen of the upstream: the answers to its requests, and nothing else. */

import * as z from 'zod';

/** One answer of the upstream. */
export interface Reply {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body, and undefined when it is no JSON. */
  readonly json: unknown;
}

export interface ListPage {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** The cursor as the upstream gave it; undefined when there was none. */
  readonly cursor: string | undefined;
  /** Whether the answer had the key `pagination`. */
  readonly hasPagination: boolean;
  /** The limit that was asked for; undefined when none was. */
  readonly limit: number | undefined;
}

export interface Evidence {
  readonly projectPages: readonly ListPage[];
  /** Pages of the operations of one project, newest first, each at the cursor of the one before. */
  readonly operationPages: readonly ListPage[];
  /** The operations of the same project, asked for without a limit. */
  readonly unlimited: ListPage | undefined;
  /** A page older than every operation. */
  readonly afterTheEnd: ListPage | undefined;
  /** The newest operation of the list, asked for by its id. */
  readonly single: Reply | undefined;
  readonly withoutKey: Reply | undefined;
  readonly wrongKey: Reply | undefined;
  readonly unknownProject: Reply | undefined;
  readonly unknownOperation: Reply | undefined;
  readonly malformedCursor: Reply | undefined;
  readonly computes: Reply | undefined;
  /** Every answer of the run. */
  readonly replies: readonly Reply[];
}

const listBody = z.looseObject({
  pagination: z.looseObject({ cursor: z.string().optional() }).optional(),
});

/** Reads a page of a list whose rows are under `name`. Returns undefined for any other answer. */
export function listPageOf(
  { status, json }: Reply,
  name: string,
  limit: number | undefined,
): ListPage | undefined {
  const body = listBody.safeParse(json);
  const rows = z.looseObject({ [name]: z.array(z.record(z.string(), z.unknown())) }).safeParse(json);
  if (status !== 200 || !body.success || !rows.success) return undefined;
  return {
    rows: rows.data[name] as ListPage['rows'],
    cursor: body.data.pagination?.cursor,
    hasPagination: body.data.pagination !== undefined,
    limit,
  };
}
