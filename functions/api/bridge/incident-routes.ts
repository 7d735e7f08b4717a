/** Serves incidents: what fails in the account, since when, and who has acknowledged it. */

import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/account-directory.ts';
import {
  acknowledge,
  acknowledgement,
  GRAVITIES,
  type IncidentRecord,
  type IncidentStore,
  incidentIdOf,
  incidentOf,
  isOpen,
  withdrawAcknowledgement,
} from '../../../shared/alerts/incidents.ts';
import { MUTE_REASON_CHARACTERS_MAX } from '../../../shared/alerts/mutes.ts';
import { type Caller, maySee } from '../../../shared/callers/scopes.ts';
import { isGivenUp, isOpen as isWatched } from '../../../shared/records/operation-record.ts';
import { HOUR_MS, isoTimeOf } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { isAmong } from '../read-model/list-page.ts';
import { notFound, Problem } from '../serving/problem.ts';
import type { ApiRequest, Route } from '../serving/route.ts';
import { cursor, filterList, limit, type ModelOf, ofCaller, paged, readRoute } from './bridge-route.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

/** An incident has more operations only in a storm, and each of them has a page of its own. */
const SHOWN_OPERATIONS_MAX = 50;

export const reason = z
  .string()
  .trim()
  .min(1)
  .max(MUTE_REASON_CHARACTERS_MAX)
  .regex(/^[^\p{Cc}]*$/u);

export interface IncidentRouteDeps {
  readonly incidentStores: PerAccount<IncidentStore>;
  readonly clock: Clock;
}

const listQuery = z.strictObject({
  limit,
  cursor,
  state: z
    .enum(['open', 'ended'])
    .default('open')
    .describe(
      'open: something fails or has stalled, or was given up and is not acknowledged. ended: all has recovered or is acknowledged.',
    ),
  project_id: filterList,
  action: filterList,
});

const incidentAnswer = z.object({
  incident_id: z.string(),
  project_id: z.string().optional().describe('Absent when the incident is about the account itself.'),
  action: z.string().optional(),
  state: z.enum(['failing', 'stalled', 'given_up', 'recovered']),
  gravity: z
    .enum(GRAVITIES)
    .describe(
      'The worst since it began: an operation failed, took too long, failed three times, was given up.',
    ),
  began_at: z.string().describe("By the upstream's clock."),
  ended_at: z.string().optional(),
  failing_operation_ids: z
    .array(z.string())
    .describe(`At most ${SHOWN_OPERATIONS_MAX} operations that fail, have stalled or were given up.`),
  failing_operation_count: z.number(),
  failed_attempts_last_hour: z.number(),
  acknowledged: acknowledgement.optional(),
});

const body = z.strictObject({
  reason: reason.optional(),
  operation: z
    .strictObject({ project_id: z.string().min(1).max(100), operation_id: z.string().min(1).max(100) })
    .optional()
    .describe(
      'An operation of the incident that has failed. It is needed where no alert was due, such as for what failed before the bridge watched: the incident is then recorded with its acknowledgement.',
    ),
});

const PATH = '/incidents/{incident_id}';

export function incidentRoutes(modelOf: ModelOf, deps: IncidentRouteDeps): readonly Route[] {
  const nowMs = () => deps.clock.now();
  const acknowledgementRoute = {
    path: `${BRIDGE_MOUNT}${PATH}/acknowledgement`,
    group: 'Bridge',
    access: 'alerts:mute',
    status: 200,
    answer: incidentAnswer,
    furtherProblems: ['incident-ended'],
  } as const;
  return [
    readRoute(
      modelOf,
      {
        id: 'listIncidents',
        path: '/incidents',
        summary: 'What fails now, or what has ended, newest first',
        description:
          'An incident is everything that fails or stalls of one project and action, whether or not a channel has reported it. It is kept for 40 days after its last change. A page with filters may be short or empty and still have a cursor.',
        access: 'operations:read',
        query: listQuery,
        answer: paged(incidentAnswer, 'incidents'),
      },
      async ({ caller, query }, model) => {
        const { items, next } = await model.incidents(query.state, query);
        const visible = items.filter((incident) => isVisible(caller, incident) && fits(incident, query));
        const incidents = visible.map((incident) => incidentView(incident, nowMs()));
        return { status: 200, body: { incidents, cursor: next } };
      },
    ),
    readRoute(
      modelOf,
      {
        id: 'getIncident',
        path: PATH,
        summary: 'One incident',
        access: 'operations:read',
        answer: incidentAnswer,
      },
      async (request) => ({
        status: 200,
        body: incidentView(await findFor(ofCaller(deps.incidentStores, request.caller), request), nowMs()),
      }),
    ),
    {
      ...acknowledgementRoute,
      id: 'acknowledgeIncident',
      method: 'POST',
      summary: 'Say that a person takes care of an incident',
      description:
        'Further failures of the incident, and its reminders, wake nobody until it ends or gets worse. An incident that was given up ends.',
      body,
      isBodyOptional: true,
      async handle(request) {
        const { client_id } = request.caller;
        const asked = body.parse(request.body ?? {});
        const by = { at: isoTimeOf(nowMs()), client_id, ...(asked.reason && { reason: asked.reason }) };
        const store = ofCaller(deps.incidentStores, request.caller);
        const isUntold = (found: IncidentRecord | undefined) =>
          found === undefined || found.state === 'recovered';
        if (asked.operation !== undefined && isUntold(await store.read(request.ids['incident_id'] ?? ''))) {
          const untold = await untoldIncident(modelOf, request, asked.operation);
          // Channels were not told of the failure, so they need not hear that somebody took it.
          const { announce_until: _, ...taken } = acknowledge(untold, by) ?? untold;
          const next = await store.change(untold.incident_id, (found) =>
            isUntold(found) ? taken : undefined,
          );
          if (next !== undefined) return { status: 200, body: incidentView(next, nowMs()) };
        }
        const known = await findFor(store, request);
        // A repetition changes nothing, so that channels are informed of one acknowledgement.
        if (isOpen(known) && known.acknowledged?.client_id === client_id)
          return { status: 200, body: incidentView(known, nowMs()) };
        return changed(deps, request, (found) => acknowledge(found, by));
      },
    },
    {
      ...acknowledgementRoute,
      id: 'withdrawAcknowledgement',
      method: 'DELETE',
      summary: 'Withdraw the acknowledgement of an incident',
      description: 'Further failures and reminders of the incident wake people again.',
      handle: (request) =>
        changed(deps, request, (found) => withdrawAcknowledgement(found, isoTimeOf(nowMs()))),
    },
  ];
}

/**
 * Returns the incident of an operation that nobody was told of. Rejects with `Problem` when the caller must not see the
 * operation, or it belongs to another incident or to none.
 */
async function untoldIncident(
  modelOf: ModelOf,
  { caller, ids }: ApiRequest,
  { project_id, operation_id }: { readonly project_id: string; readonly operation_id: string },
): Promise<IncidentRecord> {
  if (!maySee(caller, project_id)) throw notFound({ isHidden: true });
  const operation = await (await modelOf(caller)).operation(project_id, operation_id);
  const { account_id } = caller;
  const name = operation && incidentOf({ account_id, project_id, action: operation.action });
  if (operation === undefined || name === undefined || incidentIdOf(name) !== ids['incident_id'])
    throw notFound();
  const { action, status, failures_count, status_observed_at: observed_at } = operation;
  const wasGivenUp = isGivenUp(operation);
  const isFailing = isWatched(operation) && (status === 'failed' || failures_count > 0);
  const isStalled = isWatched(operation) && operation.stalled_threshold_ms !== undefined;
  if (!wasGivenUp && !isFailing && !isStalled) throw ended();
  const state = wasGivenUp ? 'given_up' : isFailing ? 'failing' : 'stalled';
  return {
    incident_id: incidentIdOf(name),
    account_id,
    project_id,
    action,
    state,
    gravity: state,
    began_at: isoTimeOf(Date.parse(operation.created_at)),
    operations: { [operation_id]: { state, observed_at } },
    failures: [],
    revision: 1,
  };
}

async function changed(
  deps: IncidentRouteDeps,
  request: ApiRequest,
  change: (record: IncidentRecord) => IncidentRecord | undefined,
) {
  const store = ofCaller(deps.incidentStores, request.caller);
  const { incident_id } = await findFor(store, request);
  const next = await store.change(incident_id, (found) => found && change(found));
  if (next === undefined) throw ended();
  return { status: 200, body: incidentView(next, deps.clock.now()) };
}

/** An incident of a project that the caller must not see looks like one that does not exist. Rejects with `Problem`. */
async function findFor(store: IncidentStore, { caller, ids }: ApiRequest): Promise<IncidentRecord> {
  const found = await store.read(ids['incident_id'] ?? '');
  if (found === undefined) throw notFound();
  if (!isVisible(caller, found)) throw notFound({ isHidden: true });
  return found;
}

/** An incident of the account itself is for callers without a list of projects. */
export function isVisible(
  caller: Caller,
  { project_id }: { readonly project_id?: string | undefined },
): boolean {
  return caller.projectIds === undefined || (project_id !== undefined && maySee(caller, project_id));
}

function fits(incident: IncidentRecord, query: Pick<z.output<typeof listQuery>, 'project_id' | 'action'>) {
  return isAmong(query.project_id, incident.project_id) && isAmong(query.action, incident.action);
}

function incidentView(record: IncidentRecord, nowMs: number): z.output<typeof incidentAnswer> {
  const { incident_id, project_id, action, state, gravity, began_at, ended_at, acknowledged } = record;
  const failing = Object.entries(record.operations).filter(([, standing]) => standing.state !== 'recovered');
  const recent = record.failures.filter(({ at_ms }) => at_ms > nowMs - HOUR_MS);
  return {
    incident_id,
    project_id,
    action,
    state,
    gravity,
    began_at,
    ended_at,
    failing_operation_ids: failing.slice(0, SHOWN_OPERATIONS_MAX).map(([id]) => id),
    failing_operation_count: failing.length,
    failed_attempts_last_hour: recent.reduce((sum, { attempt_count }) => sum + attempt_count, 0),
    acknowledged,
  };
}

function ended(): Problem {
  return new Problem('incident-ended', {
    detail: 'The incident has ended, or is not acknowledged; get it again to see how it stands.',
  });
}
