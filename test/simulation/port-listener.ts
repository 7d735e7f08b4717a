/**
 * Turns what crosses the ports of a simulated run into the steps of the protocol's model. It knows the names of attributes and of fields of
 * the upstream, and nothing of what the poller does with them.
 */

import type { Key, Item as StoredItem, Update } from '../../shared/store/table.ts';
import type { Item, Journal, Reach, Row, State, Step } from '../model/accept.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** The model's names for the attributes of items. */
const NAMES = {
  since: 'history_until',
  bootSince: 'boot_at',
  bound: 'watermark',
  resume: 'resume',
  sequence: 'revision',
  published: 'published',
  derived: 'derived',
  status: 'status',
  failures: 'failures_count',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  observedAt: 'status_observed_at',
  work: 'work',
  isWatchEnded: 'watch_ended',
  expiresAt: 'expires_at',
  entries: 'entries',
  id: 'i',
  place: 'r',
} as const;

/** The item of the account has this key in the model. Items of the account's projects begin with the project's id. */
const ACCOUNT = 'ACCOUNT';

/** A walk that has seen no time has an earlier head than this. */
const BELOW_ALL_MS = Date.UTC(1900, 0, 1);

type Call = Pick<Extract<Step, { kind: 'read' }>, 'process' | 'sentAt' | 'clock'>;

interface HeardEvent {
  readonly detail: string;
  readonly isTaken: boolean;
}

interface HeardAnswer {
  readonly method: string;
  readonly url: URL;
  readonly status: number;
  readonly date: string | undefined;
  readonly body: () => unknown;
}

/** Every port tells it when a call leaves, and what the call came to at the instant of its effect. */
export interface PortListener {
  sent(owner: Process): Call;
  read(call: Call, keys: readonly Key[], items: readonly StoredItem[]): void;
  /** The table holds `after` now. Nothing tells of a write that was refused. */
  wrote(call: Call, update: Update, after: StoredItem | undefined, isKnown: boolean): void;
  answered(call: Call, answer: HeardAnswer): void;
  published(call: Call, events: readonly HeardEvent[], isAnswered: boolean): void;
  restored(items: readonly StoredItem[]): void;
  expired(key: Key): void;
}

const NO_CALL: Call = { process: '', sentAt: 0, clock: 0 };

/** Nobody listens. */
export const DEAF: PortListener = {
  sent: () => NO_CALL,
  read() {},
  wrote() {},
  answered() {},
  published() {},
  restored() {},
  expired() {},
};

export interface Listening {
  readonly scheduler: Scheduler;
  readonly accountId: string;
  readonly onStep: (step: Step) => void;
}

export function createPortListener({ scheduler, accountId, onStep }: Listening): PortListener {
  const names = new WeakMap<Process, string>();
  let processCount = 0;
  let stepCount = 0;
  const hear = (step: Step) => {
    onStep(step);
    stepCount += 1;
  };
  /** A process that begins anew can have the name of the one before. */
  const nameOf = (owner: Process) => {
    const name = names.get(owner) ?? `${owner.name}#${processCount++}`;
    names.set(owner, name);
    return name;
  };
  const prefix = `A#${accountId}`;
  const keyOf = ({ pk, sk }: Key): string | undefined => {
    if (pk === prefix && sk.startsWith('PARKED#')) return `${ACCOUNT}/${sk}`;
    if (pk === prefix) return sk === 'ACCOUNT' ? ACCOUNT : undefined;
    if (!pk.startsWith(`${prefix}#P#`)) return undefined;
    const project = pk.slice(prefix.length + 3);
    return sk === 'PROJECT' ? project : `${project}/${sk.replace(/^OP#/, '')}`;
  };

  return {
    sent: (owner) => ({
      process: nameOf(owner),
      sentAt: stepCount,
      clock: scheduler.clockOf(owner).now(),
    }),
    read(call, keys, items) {
      for (const key of keys) {
        const name = keyOf(key);
        const found = items.find(({ pk, sk }) => pk === key.pk && sk === key.sk);
        if (name === undefined) continue;
        hear({
          ...call,
          kind: 'read',
          key: name,
          reach: found && reachOf(found),
          sequence: Number(found?.[NAMES.sequence] ?? 0),
          published: Number(found?.[NAMES.published] ?? 0),
          // The world writes such a value as another version would.
          isUnreadable: typeof (found?.[NAMES.isWatchEnded] ?? true) !== 'boolean',
        });
      }
    },
    wrote(call, update, after, isKnown) {
      const key = keyOf(update.key);
      if (key === undefined || after === undefined) return;
      const { kind, event, [NAMES.status]: status } = update.set;
      const parked = kind === 'parked' ? idOf(JSON.parse(event as string)) : undefined;
      const isOfState = kind === 'operation' && status !== undefined;
      const state = isOfState ? { follows: followsOf(update.condition) } : undefined;
      hear({ ...call, kind: 'write', key, isKnown, state, item: itemOf(after), parked });
    },
    answered(call, { method, url, status, date, body }) {
      const [project, kind, id] = url.pathname.split('/').slice(4);
      const common = { ...call, date: date === undefined ? undefined : Date.parse(date) };
      const isOperations = kind === 'operations' && project !== undefined;
      if (status < 200 || status >= 300) return;
      const { operations, operation, pagination } = body() as Answer;
      const raw = operations ?? (operation === undefined ? [] : [operation]);
      const rows = raw.flatMap((row) => rowOf(row, project) ?? []);
      if (!isOperations || method !== 'GET' || id !== undefined)
        return hear({ ...common, kind: 'get', rows });
      hear({
        ...common,
        kind: 'list',
        project,
        cursor: url.searchParams.get('cursor') ?? undefined,
        rowCount: raw.length,
        rows,
        next: pagination?.cursor ?? undefined,
      });
    },
    published(call, events, isAnswered) {
      const entries = events
        .filter(({ detail }) => JSON.parse(detail).account_id === accountId)
        .map(({ detail, isTaken }) => ({
          id: idOf({ detail }),
          body: detail,
          isTaken: isTaken && isAnswered,
        }));
      if (entries.length > 0) hear({ ...call, kind: 'put', entries });
    },
    restored(items) {
      const kept = items.flatMap((item) => {
        const key = keyOf(item);
        return key === undefined ? [] : [[key, itemOf(item)] as const];
      });
      hear({ kind: 'restore', items: new Map(kept) });
    },
    expired(key) {
      const name = keyOf(key);
      if (name !== undefined) hear({ kind: 'expire', key: name });
    },
  };
}

interface Answer {
  readonly operations?: readonly unknown[];
  readonly operation?: unknown;
  readonly pagination?: { readonly cursor?: string | null };
}

function idOf({ detail }: { readonly detail: string }): string {
  return (JSON.parse(detail) as { readonly id: string }).id;
}

/** Returns NaN when no time can be read. */
const timeOf = (text: unknown) => Date.parse(String(text));

/** Returns undefined when nothing can be read of the row. */
function rowOf(raw: unknown, project: string | undefined): Row | undefined {
  const row = (raw ?? {}) as Readonly<Record<string, unknown>>;
  const { id, status, project_id = project } = row;
  const failures = row[NAMES.failures];
  if (typeof id !== 'string' || typeof status !== 'string' || typeof failures !== 'number') return undefined;
  const createdAt = timeOf(row[NAMES.createdAt]);
  return {
    key: `${String(project_id)}/${id}`,
    status,
    failures,
    createdAt,
    updatedAt: timeOf(row[NAMES.updatedAt]),
    isPassedOver: Number.isNaN(createdAt),
  };
}

function itemOf(item: StoredItem): Item {
  return { reach: reachOf(item), state: stateOf(item), journal: journalOf(item) };
}

function reachOf(item: StoredItem): Reach | undefined {
  if (item['kind'] === 'account') return { since: timeOf(item[NAMES.bootSince]) || undefined };
  if (item['kind'] !== 'project') return undefined;
  const resume = item[NAMES.resume] as { readonly cursor: string; readonly head: string } | undefined;
  const head = timeOf(resume?.head);
  return {
    since: timeOf(item[NAMES.since]) || undefined,
    bound: timeOf(item[NAMES.bound]) || undefined,
    resume: resume && { cursor: resume.cursor, head: head > BELOW_ALL_MS ? head : undefined },
  };
}

function stateOf(item: StoredItem): State | undefined {
  if (item['kind'] !== 'operation') return undefined;
  const expiresAt = item[NAMES.expiresAt];
  return {
    status: item[NAMES.status] as string,
    failures: Number(item[NAMES.failures]),
    createdAt: timeOf(item[NAMES.createdAt]),
    updatedAt: timeOf(item[NAMES.updatedAt]),
    observedAt: timeOf(item[NAMES.observedAt]),
    isWork: item[NAMES.work] !== undefined,
    isWatchEnded: item[NAMES.isWatchEnded] === true,
    expiresAt: typeof expiresAt === 'number' ? (expiresAt + 1) * 1_000 : undefined,
  };
}

function journalOf(item: StoredItem): Journal | undefined {
  const sequence = item[NAMES.sequence];
  if (typeof sequence !== 'number') return undefined;
  const published = Number(item[NAMES.published] ?? 0);
  const derived = item[NAMES.derived];
  const entries = (item[NAMES.entries] ?? []) as readonly Readonly<Record<string, unknown>>[];
  return {
    sequence,
    published,
    derived: typeof derived === 'number' ? derived : undefined,
    outbox: entries
      .map((entry) => ({ id: String(entry[NAMES.id]), sequence: Number(entry[NAMES.place]) }))
      .filter((entry) => entry.sequence > published),
  };
}

type Condition = NonNullable<Update['condition']>;

/** A write that must not find an item follows sequence 0. */
function followsOf(condition: Condition | undefined): number | undefined {
  if (condition?.kind === 'absent') return 0;
  if (condition?.kind === 'equals' && condition.name === NAMES.sequence) return Number(condition.value);
  const parts = condition?.kind === 'all' || condition?.kind === 'any' ? condition.of.map(followsOf) : [];
  const named = parts.filter((part) => part !== undefined);
  return named.length === 0 ? undefined : Math.max(...named);
}
