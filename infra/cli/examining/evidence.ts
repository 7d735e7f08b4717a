/**
 * Collects what a conformance run sees of the upstream: the answers to its requests, which are reads only and sent at
 * a bounded rate, and nothing else.
 */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError, toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { within } from '../../process/time.ts';

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
    limit,
  };
}

/** Sends one GET. The path begins with a slash and stands below the base URL of the API. */
export type Get = (path: string, key: 'valid' | 'wrong' | 'none') => Promise<Reply>;

export interface Collecting {
  readonly get: Get;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onRequest: (count: number) => void;
}

/** The upstream allows 700 requests a minute for an account. This is so little that no one else notices the run. */
export const REQUESTS_PER_MINUTE_MAX = 30;

const PAUSE_MS = 60_000 / REQUESTS_PER_MINUTE_MAX;

/** Small pages show several page edges with few operations. */
const OPERATIONS_LIMIT = 3;
const OPERATION_PAGES_MAX = 6;
const PROJECTS_LIMIT = 2;

/** The busiest of the first projects has the most to show. */
const PROJECTS_TRIED = 5;

const OLDER_THAN_ALL = encodeURIComponent('2000-01-01T00:00:00Z');
const NO_OPERATION = '00000000-0000-4000-8000-000000000000';

/** Rejects with the reason of the signal when it aborts, and with what `get` rejects with. */
export async function collectEvidence(collecting: Collecting): Promise<Evidence> {
  const replies: Reply[] = [];
  const ask = async (path: string, key: 'valid' | 'wrong' | 'none' = 'valid'): Promise<Reply> => {
    if (replies.length > 0) await collecting.clock.sleep(PAUSE_MS, collecting.signal);
    const reply = await collecting.get(path, key);
    replies.push(reply);
    collecting.onRequest(replies.length);
    return reply;
  };
  const projectPages = await projectPagesOf(ask);
  const project = await busiestProject(ask, projectPages);
  const ofProject = project === undefined ? NOTHING_OF_PROJECT : await evidenceOf(ask, project);
  return {
    projectPages,
    ...ofProject,
    withoutKey: await ask('/projects?limit=1', 'none'),
    wrongKey: await ask('/projects?limit=1', 'wrong'),
    unknownProject: await ask('/projects/no-such-project-00000000'),
    replies,
  };
}

type Ask = (path: string) => Promise<Reply>;

async function projectPagesOf(ask: Ask): Promise<readonly ListPage[]> {
  const first = listPageOf(await ask(`/projects?limit=${PROJECTS_LIMIT}`), 'projects', PROJECTS_LIMIT);
  if (first?.cursor === undefined) return first === undefined ? [] : [first];
  const path = `/projects?limit=${PROJECTS_LIMIT}&cursor=${encodeURIComponent(first.cursor)}`;
  const second = listPageOf(await ask(path), 'projects', PROJECTS_LIMIT);
  return second === undefined ? [first] : [first, second];
}

/** Resolves to the id of the project whose list of operations reaches furthest, and undefined when there is none. */
async function busiestProject(ask: Ask, pages: readonly ListPage[]): Promise<string | undefined> {
  const ids = pages.flatMap(({ rows }) => rows.map(({ id }) => String(id))).slice(0, PROJECTS_TRIED);
  let [best, most] = [ids[0], -1];
  for (const id of ids) {
    const page = listPageOf(
      await ask(`/projects/${encodeURIComponent(id)}/operations?limit=100`),
      'operations',
      100,
    );
    const count = page?.rows.length ?? 0;
    if (count > most) [best, most] = [id, count];
  }
  return best;
}

type OfProject = Omit<Evidence, 'projectPages' | 'withoutKey' | 'wrongKey' | 'unknownProject' | 'replies'>;

const NOTHING_OF_PROJECT: OfProject = {
  operationPages: [],
  unlimited: undefined,
  afterTheEnd: undefined,
  single: undefined,
  unknownOperation: undefined,
  malformedCursor: undefined,
  computes: undefined,
};

async function evidenceOf(ask: Ask, projectId: string): Promise<OfProject> {
  const path = `/projects/${encodeURIComponent(projectId)}`;
  const operationPages = await operationPagesOf(ask, `${path}/operations`);
  const newest = operationPages[0]?.rows[0]?.['id'];
  return {
    operationPages,
    unlimited: listPageOf(await ask(`${path}/operations`), 'operations', undefined),
    afterTheEnd: listPageOf(
      await ask(`${path}/operations?cursor=${OLDER_THAN_ALL}`),
      'operations',
      undefined,
    ),
    single:
      typeof newest !== 'string' ? undefined : await ask(`${path}/operations/${encodeURIComponent(newest)}`),
    unknownOperation: await ask(`${path}/operations/${NO_OPERATION}`),
    malformedCursor: await ask(`${path}/operations?cursor=no-time`),
    computes: await ask(`${path}/endpoints`),
  };
}

async function operationPagesOf(ask: Ask, path: string): Promise<readonly ListPage[]> {
  const pages: ListPage[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < OPERATION_PAGES_MAX; count++) {
    const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = listPageOf(
      await ask(`${path}?limit=${OPERATIONS_LIMIT}${query}`),
      'operations',
      OPERATIONS_LIMIT,
    );
    if (page === undefined) break;
    pages.push(page);
    if (page.cursor === undefined || page.cursor === cursor || page.rows.length === 0) break;
    cursor = page.cursor;
  }
  return pages;
}

/** Specification "Errors": the service itself gives up long before. */
const ANSWER_MS_MAX = 30_000;

const WRONG_KEY = 'this-key-is-wrong-on-purpose';

/** `baseUrl` has no slash at its end. The result rejects with `AppError` when there is no answer. */
export function createGet(baseUrl: string, key: Secret, { clock, signal }: Surroundings): Get {
  return async (path, which) => {
    const presented = which === 'wrong' ? WRONG_KEY : key.reveal();
    const authorization = which === 'none' ? undefined : `Bearer ${presented}`;
    try {
      return await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
        const response = await fetch(`${baseUrl}${path}`, {
          redirect: 'manual',
          headers: { accept: 'application/json', ...(authorization && { authorization }) },
          signal: inTime,
        });
        const text = await response.text();
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          json: parseJson(text),
        };
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const { message } = toError(toError(error).cause ?? error);
      throw new AppError(
        'upstream_silent',
        `${baseUrl} does not answer (${message}); check --upstream and the network.`,
      );
    }
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
