/**
 * Is the upstream service at the poller's door: it answers requests from rows that a script changes, and it can answer
 * from a replica that lags, with a clock that is wrong, or not at all.
 */

import type { HttpAnswer, HttpRequest } from '../../../shared/upstream/pooled-http.ts';

/** Is an operation as the service shows it (specification, "Operations"). A script may leave a field out or add one. */
export interface Row {
  readonly id: string;
  readonly project_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly status: string;
  readonly action: string;
  readonly failures_count: number;
  readonly [name: string]: unknown;
}

interface Version {
  readonly fromMs: number;
  /** It is undefined from when on the service shows the row no more. */
  readonly row: Row | undefined;
}

interface Sent {
  readonly atMs: number;
  readonly method: string;
  /** It begins behind `/api/v2`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Says what a script answers instead of the service: nothing ever, a broken connection, or this answer. */
type Answer =
  | 'never'
  | 'reset'
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };

/** A script turns these while time goes on. */
interface Dials {
  /** The list is read from a replica that lags by this time. */
  listLagMs: number;
  /** A single operation is read from a replica that lags by this time. */
  getLagMs: number;
  /** The `Date` header differs by this much from the true time. Answers have no such header while it is undefined. */
  dateOffsetMs: number | undefined;
  /** A page holds at most this many rows, however many were asked for. */
  pageRowsMax: number;
  /** The project list says this of each project beside its id. */
  projectFields: Readonly<Record<string, unknown>>;
  /** Returns what is answered instead of the service's own answer, or undefined. */
  answers: (request: Sent) => Answer | undefined;
}

export interface Service {
  readonly dials: Dials;
  /** Lists what was asked, the oldest request first. */
  readonly sent: readonly Sent[];
  /** The project was created now, or at this time. */
  readonly addProject: (projectId: string, createdAt?: string) => void;
  readonly removeProject: (projectId: string) => void;
  /** From now on the service shows the row like this. */
  readonly put: (row: Row) => void;
  /** From now on the service shows the row no more. */
  readonly remove: (operationId: string) => void;
  /** Returns the rows as they truly are now. */
  readonly rows: () => readonly Row[];
  readonly send: (request: HttpRequest) => Promise<HttpAnswer>;
  /** So many requests wait for an answer that never comes. */
  readonly waitingCount: () => number;
}

const PAGE_ROWS_DEFAULT = 10;
/** An error of Node's sockets has this code when the other side hangs up. */
const RESET = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

export function createService(nowMs: () => number): Service {
  const projects = new Map<string, string>();
  const versions = new Map<string, Version[]>();
  const sent: Sent[] = [];
  let waitingCount = 0;
  const dials: Dials = {
    listLagMs: 0,
    getLagMs: 0,
    dateOffsetMs: 0,
    pageRowsMax: Number.POSITIVE_INFINITY,
    projectFields: {},
    answers: () => undefined,
  };
  const ids = () => [...versions.keys()];
  const rowAt = (id: string, atMs: number) => versions.get(id)?.findLast(({ fromMs }) => fromMs <= atMs)?.row;
  const rowsAt = (atMs: number) => ids().flatMap((id) => rowAt(id, atMs) ?? []);
  const note = (id: string, row: Row | undefined) =>
    versions.set(id, [...(versions.get(id) ?? []), { fromMs: nowMs(), row }]);

  return {
    dials,
    sent,
    addProject: (projectId, createdAt = new Date(nowMs()).toISOString()) =>
      void projects.set(projectId, createdAt),
    removeProject: (projectId) => void projects.delete(projectId),
    put: (row) => void note(row.id, row),
    remove: (operationId) => void note(operationId, undefined),
    rows: () => rowsAt(nowMs()),
    waitingCount: () => waitingCount,
    async send({ method, url, signal }) {
      const request = {
        atMs: nowMs(),
        method,
        path: url.pathname.replace('/api/v2', ''),
        query: url.searchParams,
      };
      sent.push(request);
      const answer = dials.answers(request) ?? answerOf(request);
      if (answer === 'never') {
        waitingCount += 1;
        return untilAborted(signal).finally(() => {
          waitingCount -= 1;
        });
      }
      if (answer === 'reset') throw RESET;
      const { dateOffsetMs } = dials;
      return httpAnswer(answer, dateOffsetMs === undefined ? undefined : nowMs() + dateOffsetMs);
    },
  };

  function answerOf({ path, query, method }: Sent): Exclude<Answer, string> {
    const [, , projectId, resource, operationId] = path.split('/').map(decodeURIComponent);
    if (method !== 'GET') return notFound();
    if (path === '/projects') return projectPage(query);
    if (projectId === undefined || !projects.has(projectId)) return notFound();
    if (resource === 'endpoints') return { status: 200, body: { endpoints: [] } };
    if (resource !== 'operations') return notFound();
    if (operationId === undefined) return operationPage(projectId, query);
    const row = rowAt(operationId, nowMs() - dials.getLagMs);
    return row?.project_id === projectId ? { status: 200, body: { operation: row } } : notFound();
  }

  function projectPage(query: URLSearchParams): Exclude<Answer, string> {
    const after = query.get('cursor') ?? '';
    const left = [...projects.keys()].toSorted().filter((id) => id > after);
    const page = left.slice(0, Math.min(Number(query.get('limit') ?? PAGE_ROWS_DEFAULT), dials.pageRowsMax));
    const rows = page.map((id) => ({
      id,
      name: `name of ${id}`,
      created_at: projects.get(id),
      ...dials.projectFields,
    }));
    return { status: 200, body: { projects: rows, ...paginationTo(page.at(-1)) } };
  }

  /** The newest operation comes first, and the cursor is the exact time of the page's last row (specification, "Pagination"). */
  function operationPage(projectId: string, query: URLSearchParams): Exclude<Answer, string> {
    const before = query.get('cursor');
    const places = new Map(ids().map((id, place) => [id, place]));
    const left = rowsAt(nowMs() - dials.listLagMs)
      .filter((row) => row.project_id === projectId)
      .map((row) => ({ row, exactly: exactTime(row.created_at, places.get(row.id) ?? 0) }))
      .filter(({ exactly }) => before === null || exactly < before)
      .toSorted((a, b) => (a.exactly < b.exactly ? 1 : -1));
    const page = left.slice(0, Math.min(Number(query.get('limit') ?? PAGE_ROWS_DEFAULT), dials.pageRowsMax));
    const operations = page.map(({ row }) => row);
    return { status: 200, body: { operations, ...paginationTo(page.at(-1)?.exactly) } };
  }
}

/**
 * The service knows the microsecond of a creation and shows the whole second only. Rows whose microsecond is equal stand
 * in the script with a fraction.
 */
function exactTime(createdAt: string, place: number): string {
  const [whole = '', fraction = String(place % 1_000_000).padStart(6, '0')] = createdAt
    .replace('Z', '')
    .split('.');
  return `${whole}.${fraction}Z`;
}

function paginationTo(cursor: string | undefined): object {
  return cursor === undefined ? {} : { pagination: { cursor } };
}

function notFound(): Exclude<Answer, string> {
  return { status: 404, body: { code: 'NOT_FOUND', message: 'not found' } };
}

function httpAnswer(
  { status, body, headers }: Exclude<Answer, string>,
  dateMs: number | undefined,
): HttpAnswer {
  const date = dateMs === undefined ? {} : { date: new Date(dateMs).toUTCString() };
  const all = new Headers({ ...date, ...headers });
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  return { status, ok: status >= 200 && status < 300, headers: all, body: inOnePiece(bytes) };
}

async function* inOnePiece(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = () => reject(signal?.reason);
    if (signal?.aborted === true) giveUp();
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
