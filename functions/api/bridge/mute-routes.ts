/** Serves mutes: which alerts wait, until when and why; and lets callers set and lift them. */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/account-directory.ts';
import type { IncidentStore } from '../../../shared/alerts/incidents.ts';
import type { ConfiguredMute, Mute, MuteStore, NewMute } from '../../../shared/alerts/mutes.ts';
import {
  ACTIVE_MUTES_MAX,
  MUTE_MS_MAX,
  MUTE_MS_MIN,
  type MuteScope,
  mute,
} from '../../../shared/alerts/mutes.ts';
import { type Caller, maySee } from '../../../shared/callers/scopes.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { projectIdSchema } from '../../../shared/upstream/calls/schemas.ts';
import { invalid, keyReused, notFound, Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest, Route } from '../serving/route.ts';
import { ofCaller } from './bridge-route.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';
import { isVisible, reason } from './incident-routes.ts';

export interface MuteRouteDeps {
  readonly muteStores: PerAccount<MuteStore>;
  readonly incidentStores: PerAccount<IncidentStore>;
  /** Resolves to the mutes of the configuration, which cover all accounts. */
  readonly readConfiguredMutes: () => Promise<readonly ConfiguredMute[]>;
  readonly clock: Clock;
}

const PATH = `${BRIDGE_MOUNT}/mutes`;

const body = z.strictObject({
  project_id: projectIdSchema.optional(),
  action: z
    .string()
    .regex(/^[\w.:-]{1,100}$/)
    .optional()
    .describe('Only this action, of the project or of all projects.'),
  incident_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional()
    .describe('Only this incident. Its project and action are filled in.'),
  duration_seconds: z
    .number()
    .int()
    .min(MUTE_MS_MIN / 1_000, {
      error: `must be at least ${MUTE_MS_MIN / 1_000}: a mute lasts a minute or more`,
    })
    .max(MUTE_MS_MAX / 1_000, {
      error: `must be at most ${MUTE_MS_MAX / 1_000}: a mute lasts 30 days or less`,
    }),
  reason,
});

const muteAnswer = mute.omit({ account_id: true }).extend({
  configured: z
    .literal(true)
    .optional()
    .describe('Stands in the configuration, covers all accounts, and cannot be lifted here.'),
  project_ids: z.array(z.string()).optional().describe('The projects of a configured mute; absent for all.'),
});

export function muteRoutes(deps: MuteRouteDeps): readonly Route[] {
  return [
    {
      id: 'listMutes',
      method: 'GET',
      path: PATH,
      group: 'Bridge',
      summary: 'The mutes that have not ended, the one that ends first at the top',
      description: `An account has at most ${ACTIVE_MUTES_MAX} of them, beside those of the configuration, which are marked as \`configured\` and may begin later. A caller who is limited to projects sees those of its projects.`,
      access: 'operations:read',
      status: 200,
      answer: z.object({ mutes: z.array(muteAnswer) }),
      async handle({ caller }) {
        const [active, configured] = await Promise.all([
          ofCaller(deps.muteStores, caller).readActive(),
          deps.readConfiguredMutes(),
        ]);
        const mutes = [
          ...active.filter((one) => isVisible(caller, one)).map(muteView),
          ...configuredFor(caller, configured, deps.clock.now()),
        ];
        return { status: 200, body: { mutes: mutes.toSorted(byEnd) } };
      },
    },
    {
      id: 'muteAlerts',
      method: 'POST',
      path: PATH,
      group: 'Bridge',
      summary: 'Have alerts wait for a time',
      description:
        'Covers what all given fields fit: the account without any of them, a project, an action, or one incident. Alerts wait, are counted in the hourly digest, and are sent when the mute ends, unless what they report has recovered by then. It takes effect with the next message, within a minute. A request with the `Idempotency-Key` of an earlier one of the same caller, within a day after that mute has ended, adds nothing: it gives that mute back when it asks for the same, and is refused otherwise.',
      access: 'alerts:mute',
      body,
      status: 201,
      answer: muteAnswer,
      furtherProblems: ['not-found', 'key-reused', 'too-many-mutes'],
      handle: (request) => addMute(deps, request),
    },
    {
      id: 'liftMute',
      method: 'DELETE',
      path: `${PATH}/{mute_id}`,
      group: 'Bridge',
      summary: 'End a mute now',
      access: 'alerts:mute',
      status: 200,
      answer: muteAnswer,
      async handle({ caller, ids }) {
        if (ids['mute_id']?.startsWith(CONFIGURED)) throw notLiftable();
        const store = ofCaller(deps.muteStores, caller);
        const found = await store.read(ids['mute_id'] ?? '');
        if (found === undefined) throw notFound();
        if (!isVisible(caller, found)) throw notFound({ isHidden: true });
        const lifted = await store.lift(found.mute_id, caller.client_id);
        if (lifted === undefined) throw notFound();
        return { status: 200, body: muteView(lifted) };
      },
    },
  ];
}

async function addMute(
  deps: MuteRouteDeps,
  { caller, requestId, headers, body: sent }: ApiRequest,
): Promise<ApiAnswer> {
  const { duration_seconds, reason: why, ...asked } = body.parse(sent);
  const scope = await scopeFor(deps, caller, asked);
  const wanted = {
    ...scope,
    mute_id: muteIdOf(caller, headers['idempotency-key']) ?? requestId,
    reason: why,
    client_id: caller.client_id,
    durationMs: duration_seconds * 1_000,
  };
  const added = await ofCaller(deps.muteStores, caller).add(wanted);
  if (added === 'too_many') throw tooMany();
  if (!isAnswerTo(wanted, added)) throw keyReused();
  return { status: 201, body: muteView(added) };
}

/** The same key of the same caller gives the same id, so that a request which arrives twice adds one mute. */
function muteIdOf({ client_id }: Caller, idempotencyKey: string | undefined): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return createHash('sha256')
    .update(JSON.stringify([client_id, idempotencyKey]))
    .digest('hex')
    .slice(0, 32);
}

/** A mute that was lifted does not show how long it was to last. */
function isAnswerTo({ durationMs, ...wanted }: NewMute, kept: Mute): boolean {
  const lastsMs = Date.parse(kept.until) - Date.parse(kept.created_at);
  return (
    wanted.project_id === kept.project_id &&
    wanted.action === kept.action &&
    wanted.incident_id === kept.incident_id &&
    wanted.reason === kept.reason &&
    (kept.lifted_by !== undefined || lastsMs === durationMs)
  );
}

/** Fills in the project and the action of an incident, and refuses what reaches beyond the caller's projects. */
async function scopeFor(
  { incidentStores }: MuteRouteDeps,
  caller: Caller,
  { incident_id, ...place }: z.output<typeof muteScopeOf>,
): Promise<MuteScope> {
  if (incident_id === undefined) return withinProjects(caller, place);
  if (place.project_id !== undefined || place.action !== undefined)
    throw invalid([
      { field: 'body.incident_id', reason: 'names project and action already; leave them out' },
    ]);
  const incident = await ofCaller(incidentStores, caller).read(incident_id);
  if (incident === undefined) throw notFound();
  if (!isVisible(caller, incident)) throw notFound({ isHidden: true });
  const { project_id, action } = incident;
  return { incident_id, ...(project_id && { project_id }), ...(action && { action }) };
}

const muteScopeOf = body.pick({ project_id: true, action: true, incident_id: true });

function withinProjects(caller: Caller, scope: MuteScope): MuteScope {
  const { project_id } = scope;
  if (caller.projectIds === undefined || (project_id !== undefined && maySee(caller, project_id)))
    return scope;
  throw new Problem('account-wide', {
    detail: 'This token is limited to projects, and this mute covers all of them; name one in project_id.',
  });
}

/** The ids of configured mutes begin with this. A mute that a person sets has a hash or a request id. */
const CONFIGURED = 'configured-';

/** Returns the configured mutes that have not ended, with the projects of them that the caller may see. */
function configuredFor(
  caller: Caller,
  configured: readonly ConfiguredMute[],
  nowMs: number,
): readonly z.output<typeof muteAnswer>[] {
  return configured.flatMap(({ project_ids, from, until }, place) => {
    const seen = project_ids?.filter((project_id) => isVisible(caller, { project_id }));
    const isSeen = seen === undefined ? isVisible(caller, {}) : seen.length > 0;
    if (!isSeen || Date.parse(until) <= nowMs) return [];
    return {
      mute_id: `${CONFIGURED}${place + 1}`,
      configured: true as const,
      ...(seen && { project_ids: seen }),
      reason: 'alerts.policy.mutes of the configuration',
      client_id: 'configuration',
      created_at: from,
      until,
    };
  });
}

function byEnd(a: { readonly until: string }, b: { readonly until: string }): number {
  return Date.parse(a.until) - Date.parse(b.until);
}

function notLiftable(): Problem {
  return invalid([
    {
      field: 'path.mute_id',
      reason: 'names a mute of the configuration; take it out of alerts.policy.mutes, and deploy',
    },
  ]);
}

function muteView({ account_id: _account, ...shown }: z.output<typeof mute>): z.output<typeof muteAnswer> {
  return shown;
}

function tooMany(): Problem {
  return new Problem('too-many-mutes', {
    detail: `The account has ${ACTIVE_MUTES_MAX} mutes already. Lift some that are no longer needed, or mute a project or the account as a whole.`,
  });
}
