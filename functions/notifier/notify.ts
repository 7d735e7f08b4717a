/**
 * Takes events from the queue: it stores the notice that each makes on every channel that has to report it, keeps the
 * record of its incident up to date, and lets every channel send on its own.
 */

import * as z from 'zod';
import { incidentIdOf, incidentOf, isOngoing, keyPart } from '../../shared/alerts/incidents.ts';
import { projectTransferred } from '../../shared/events/catalog.ts';
import { REPLAY_RESOURCE } from '../../shared/events/event-names.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError, toError } from '../../shared/runtime/errors.ts';
import type { NotifierDeps } from './alert-store.ts';
import { incidentAfter, isTrouble, saysHowItStands } from './deciding/incident-record.ts';
import type { Notice, PendingNotice } from './deciding/notice.ts';
import { noticeOf } from './deciding/notice-of-event.ts';
import { isWantedBy, routeOf, usesNames } from './deciding/policy.ts';
import { SEND_BUDGET_MS } from './environment.ts';
import { onEachChannel, sendDue } from './sending/send-due.ts';

interface QueueRecord {
  readonly messageId: string;
  readonly body: string;
}

/**
 * This is Lambda's partial batch response. The queue hands out these records again, and they end in the dead-letter
 * queue.
 */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** Takes a batch of the queue. A record that cannot be stored is handed out again. */
export async function notify(deps: NotifierDeps, records: readonly QueueRecord[]): Promise<BatchResponse> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  const fresh: FreshNotices = new Map(deps.channels.map(({ name }) => [name, []]));
  const batchItemFailures: { itemIdentifier: string }[] = [];
  const troubles = new Map<string, Notice>();
  const orFail = async (messageId: string, task: () => Promise<void>) => {
    try {
      await task();
    } catch (error) {
      const { name } = toError(error);
      deps.telemetry.log('error', 'alert.not_stored', { message_id: messageId, reason: name });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  };
  for (const { messageId, body } of records)
    await orFail(messageId, async () => {
      const notice = await storeEvent(deps, body, fresh);
      if (notice !== undefined && isTrouble(notice)) troubles.set(messageId, notice);
    });
  await onEachChannel(deps, async (channel) => {
    const own = fresh.get(channel.name) ?? [];
    if (own.length > 0)
      await sendDue(await withStoredMutes(deps), channel, {
        fresh: own,
        acknowledged: [],
        deadlineMs,
      });
  });
  // People hear of the failure first, and then that it goes on in another account.
  for (const [messageId, notice] of troubles) await orFail(messageId, () => endIfMoved(deps, notice));
  // A stored notice is safe. The sweep repeats a send that failed, so the queue does not have to.
  return { batchItemFailures };
}

/**
 * Resolves to the dependencies with the mutes as they are now. Rejects when the table does: what people have muted must
 * not wake them, and the next round of the notifier sends the rest.
 */
export async function withStoredMutes(deps: NotifierDeps): Promise<NotifierDeps> {
  const stored_mutes = await deps.store.mutes.readAll();
  return { ...deps, policy: { ...deps.policy, stored_mutes } };
}

/** Names, for each channel, the notices for it that this invocation has stored. */
type FreshNotices = ReadonlyMap<string, PendingNotice[]>;

const busEvent = z.object({
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  resources: z.array(z.string()).default([]),
  detail: z.record(z.string(), z.unknown()),
});

/**
 * Adds what it stores to `fresh`, and resolves to the notice that the event makes. Throws when the event cannot be read or
 * stored, so that the queue hands it out again.
 */
async function storeEvent(
  deps: NotifierDeps,
  body: string,
  fresh: FreshNotices,
): Promise<Notice | undefined> {
  const event = busEvent.parse(JSON.parse(body));
  // The rule keeps replays out already. This check also holds when the rule is changed.
  if (event['replay-name'] !== undefined || event.resources.some(isReplay)) return undefined;
  if (event['detail-type'] === projectTransferred.detailType) {
    for (const notice of await noticesOfMove(deps, event.detail)) {
      // A copy of the event finds what has no record yet, so the record comes last.
      await storeNotice(deps, notice, fresh);
      await recordIncident(deps, notice);
    }
    return undefined;
  }
  const notice = noticeOf(event['detail-type'], event.detail);
  if (notice === undefined) return undefined;
  const stored = storeNotice(deps, notice, fresh);
  const results = await Promise.allSettled([stored, recordIncident(deps, notice)]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  // The alert is stored. The event itself does not fit its schema, so the dead-letter queue keeps it for a person to
  // look at.
  if (notice.unread === 'unknown_value')
    throw new AppError('event_unreadable', `Event ${notice.id} does not fit its schema`);
  return notice;
}

/**
 * When the name cannot be read, the notice stays as it is, unless a route needs the name: then it rejects, and the queue
 * repeats the event, because the alert could otherwise go to the wrong people.
 */
async function withProjectName(
  { projectNameOf, policy, telemetry }: NotifierDeps,
  notice: Notice,
): Promise<Notice> {
  const { account_id, project_id } = notice;
  if (project_id === undefined) return notice;
  try {
    const name = await projectNameOf(account_id, project_id);
    return name === undefined ? notice : { ...notice, project_name: name };
  } catch (error) {
    if (usesNames(policy)) throw error;
    telemetry.log('warn', 'alert.name_not_read', { project_id, reason: toError(error).name });
    return notice;
  }
}

/** An alert is never late or lost for it: when it cannot be read, the notice stays as it is. */
async function withUsualDuration(
  { usualDurationOf, telemetry }: NotifierDeps,
  notice: Notice,
): Promise<Notice> {
  const { account_id, project_id, action, severity, usual_duration } = notice;
  const isKnown = usual_duration !== undefined || severity === 'info';
  if (isKnown || project_id === undefined || action === undefined) return notice;
  try {
    const usual = await usualDurationOf(account_id, project_id, action);
    return usual === undefined ? notice : { ...notice, usual_duration: usual };
  } catch (error) {
    telemetry.log('warn', 'insights.not_read', { project_id, reason: toError(error).name });
    return notice;
  }
}

/** Applying a notice twice gives the same record. Rejects when the table does; the queue then repeats the event. */
async function recordIncident({ store, clock }: NotifierDeps, notice: Notice): Promise<void> {
  if (!saysHowItStands(notice)) return;
  const incidentId = incidentIdOf(incidentOf(notice));
  await store
    .incidentsOf(notice.account_id)
    .change(incidentId, (found) => incidentAfter(found, notice, clock.now()));
}

function storeNotice(deps: NotifierDeps, notice: Notice, fresh: FreshNotices): Promise<void> {
  return withProjectName(deps, notice)
    .then((named) => withUsualDuration(deps, named))
    .then((whole) => storeOnChannels(deps, whole, fresh));
}

function isReplay(resource: string): boolean {
  return resource.startsWith(REPLAY_RESOURCE);
}

/**
 * Tries every channel, also when the write for another one fails. The queue then repeats the event, and copies are
 * recognised.
 */
async function storeOnChannels(
  { store, policy, telemetry, channels }: NotifierDeps,
  notice: Notice,
  fresh: FreshNotices,
): Promise<void> {
  const { channels: wanted, isDefault } = routeOf(notice, policy);
  if (isDefault) telemetry.log('warn', 'alert.no_route', { event_id: notice.id, kind: notice.kind });
  const reporting = channels.filter(
    (channel) =>
      (wanted === 'every' || wanted.includes(channel.name)) &&
      isWantedBy(channel, notice, policy) &&
      (channel.takes?.(notice) ?? true),
  );
  const results = await Promise.allSettled(
    reporting.map(async ({ name }) => {
      const pending = await store.inbox.add(name, notice);
      if (pending !== undefined) fresh.get(name)?.push(pending);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** A project that was renamed has its new name in alerts after this time. */
const NAME_REREAD_MS = 10 * 60_000;

/** Beyond this many projects, at about a hundred bytes each, all are read again. */
const REMEMBERED_MAX = 5_000;

type NameOf = (accountId: string, projectId: string) => Promise<string | undefined>;

/** Returns the same function, which reads a name at most once in ten minutes. A name that is not known is read each time. */
export function rememberNames(read: NameOf, clock: Clock): NameOf {
  const known = new Map<string, { readonly name: string; readonly atMs: number }>();
  return async (accountId, projectId) => {
    const key = `${accountId} ${projectId}`;
    const found = known.get(key);
    if (found !== undefined && clock.now() - found.atMs < NAME_REREAD_MS) return found.name;
    const name = await read(accountId, projectId);
    if (name === undefined) return undefined;
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(key, { name, atMs: clock.now() });
    return name;
  };
}

/**
 * Resolves to a notice for each operation of the project that fails or takes too long under its old account, and to the
 * same ones for a copy of the event until they are recorded. What was given up waits for a person, wherever the project is.
 * Of an account with more open incidents than one page of the list holds, the oldest are looked at.
 */
async function noticesOfMove({ store }: NotifierDeps, detail: unknown): Promise<readonly Notice[]> {
  const { id, observed_at, project_id, ...accounts } = projectTransferred.detail.parse(detail);
  const { from_account_id: account_id, to_account_id: moved_to } = accounts;
  const { incidents } = await store.openIncidents(account_id, 0);
  const own = incidents.filter((incident) => incident.project_id === keyPart(project_id));
  const records = await store.incidentsOf(account_id).readMany(own.map(({ name }) => incidentIdOf(name)));
  return records.flatMap(({ operations, action }) =>
    Object.entries(operations)
      .filter(([, { state }]) => isOngoing(state))
      .map(([operation_id, { sequence }]) =>
        movedNotice(
          {
            id: `${id} ${operation_id}`,
            account_id,
            observed_at,
            project_id,
            operation_id,
            action,
            sequence,
          },
          moved_to,
        ),
      ),
  );
}

/**
 * Ends a failure that has come after its project moved, because the queue keeps no order. The poller notes a move in the
 * record of the project before it tells of it.
 */
async function endIfMoved(deps: NotifierDeps, notice: Notice): Promise<void> {
  const { account_id, project_id, operation_id } = notice;
  if (project_id === undefined || operation_id === undefined) return;
  const movedTo = await deps.store.movedTo(account_id, project_id);
  if (movedTo === undefined) return;
  const moved = movedNotice(notice, movedTo);
  await storeNotice(deps, moved, new Map());
  await recordIncident(deps, moved);
}

type Moved = Pick<
  Notice,
  'id' | 'account_id' | 'observed_at' | 'project_id' | 'operation_id' | 'action' | 'sequence'
>;

function movedNotice(
  { id, account_id, observed_at, project_id, operation_id, action, sequence }: Moved,
  moved_to: string,
): Notice {
  return {
    id: `moved ${id}`,
    kind: 'moved',
    severity: 'info',
    account_id,
    moved_to,
    observed_at,
    ...(project_id !== undefined && { project_id }),
    ...(operation_id !== undefined && { operation_id }),
    ...(action !== undefined && { action }),
    ...(sequence !== undefined && { sequence }),
  };
}
