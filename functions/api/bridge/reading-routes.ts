/**
 * Serves what callers ask of the poller: to read a project soon, to repair a project, and to replay an account. A
 * redrive is the replay of parked events.
 */

import * as z from 'zod';
import { DETAIL_TYPES, REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import { eventChoice } from '../../../shared/records/event-choice.ts';
import { HISTORY_AFTER_MS } from '../../../shared/records/project-record.ts';
import { DAY_MS, isoTimeOf, normaliseTimestamp } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Repair, Replay } from '../../../shared/store/wishes.ts';
import { invalid, notFound, Problem } from '../serving/problem.ts';
import type { ApiRequest, Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

export function wishRoutes(
  modelOf: ModelOf,
  pollIntervalMsOf: (accountId: string) => number,
): readonly Route[] {
  return [
    {
      id: 'requestRead',
      method: 'POST',
      path: `${BRIDGE_MOUNT}/projects/{project_id}/read`,
      summary: 'Ask the poller for a fresh reading of a project',
      description:
        'The reading follows within seconds while the poller runs and all wishes together take less than a tenth of its requests. What it finds is published as events. Asking again within the poll interval of the account changes nothing. A caller may ask 30 times a minute.',
      group: 'Bridge',
      limit: 'wishes',
      isAudited: false,
      access: 'operations:read',
      status: 202,
      answer: z.object({ requested: z.literal(true) }),
      async handle({ caller, ids }) {
        const model = await modelOf(caller);
        const projectId = ids['project_id'] ?? '';
        if ((await model.project(projectId)) === undefined) throw notFound();
        await model.wishForReading(projectId, pollIntervalMsOf(caller.account_id));
        return { status: 202, body: { requested: true } };
      },
    },
  ];
}

const REPAIR_PATH = '/projects/{project_id}/repair';

/** What is older than this is history where the table does not know it, so a repair never reaches below. */
const DAYS_MAX = HISTORY_AFTER_MS / DAY_MS;

const repairBody = z.strictObject({
  since: z.iso
    .datetime({ offset: true })
    .describe(`Operations that were created before this time are left alone; at most ${DAYS_MAX} days ago.`),
});

const repairAnswer = z.object({
  state: z.enum(['in_progress', 'ended']),
  since: z.string(),
  requested_at: z.string(),
  lowered_at: z
    .string()
    .optional()
    .describe('From this time on the poller reads the list down to `since` again.'),
  ended_at: z
    .string()
    .optional()
    .describe('At this time the list was read again, and what was missing is recorded.'),
});

export function repairRoutes(modelOf: ModelOf, clock: Clock): readonly Route[] {
  return [
    {
      id: 'requestRepair',
      method: 'POST',
      path: `${BRIDGE_MOUNT}${REPAIR_PATH}`,
      summary: 'Have the operations of a project read again, and recorded where they are missing',
      description:
        'The poller reads the list of the project again down to this time, and records and publishes operations that are missing and states that have changed. It removes nothing, and restores no event that somebody has deleted from the table. A caller may ask 30 times a minute.',
      group: 'Bridge',
      limit: 'wishes',
      access: 'operations:repair',
      body: repairBody,
      status: 202,
      answer: repairAnswer,
      furtherProblems: ['repair-in-progress'],
      async handle(request) {
        const model = await modelOf(request.caller);
        const projectId = request.ids['project_id'] ?? '';
        const since = sinceOf(repairBody.parse(request.body).since, clock.now());
        if ((await model.project(projectId)) === undefined) throw notFound();
        const wanted = { projectId, repairId: request.requestId, since };
        if ((await model.requestRepair(wanted)) === 'conflict') throw repairInProgress();
        const repair = await model.repair(projectId);
        if (repair === undefined) throw notFound();
        return { status: 202, body: repairView(repair) };
      },
    },
    readRoute(
      modelOf,
      {
        id: 'getRepair',
        path: REPAIR_PATH,
        summary: 'Whether the latest repair of a project has ended',
        access: 'operations:read',
        answer: repairAnswer,
      },
      async ({ ids }, model) => {
        const repair = await model.repair(ids['project_id'] ?? '');
        if (repair === undefined) throw notFound();
        return { status: 200, body: repairView(repair) };
      },
    ),
  ];
}

function sinceOf(text: string, nowMs: number) {
  const since = normaliseTimestamp(text);
  if (since === undefined || Date.parse(text) < nowMs - HISTORY_AFTER_MS)
    throw invalid([{ field: 'body.since', reason: `must be a time within the last ${DAYS_MAX} days` }]);
  return since;
}

function repairView(repair: Repair): z.output<typeof repairAnswer> {
  const { kind: _kind, repair_id: _id, project_id: _project, ...shown } = repair;
  return { state: repair.ended_at === undefined ? 'in_progress' : 'ended', ...shown };
}

function repairInProgress(): Problem {
  return new Problem('repair-in-progress', {
    detail: 'A repair of this project has not ended yet; GET the same path shows when it has.',
  });
}

const replayBody = eventChoice.extend({
  detail_types: z.array(z.enum(DETAIL_TYPES)).optional().describe('Only events of these types.'),
  is_dry_run: z
    .boolean()
    .optional()
    .describe('The events are counted as if they were sent, and none is sent.'),
});

const replayAnswer = z.object({
  ...eventChoice.shape,
  state: z.enum(['in_progress', 'ended', 'stopped']),
  of_parked: z.boolean().optional().describe('Parked events are sent again, and nothing is chosen.'),
  is_dry_run: z.boolean().optional(),
  resource: z
    .string()
    .optional()
    .describe('`resources` of each event names it, unless the event was parked.'),
  requested_at: z.string(),
  ended_at: z.string().optional(),
  read_count: z.number().describe('So many items of the table were read.'),
  sent_count: z.number(),
  repeated_count: z
    .number()
    .optional()
    .describe(
      'So many events were sent in a second look at what had changed meanwhile; nearly all of them are copies, with the same ids.',
    ),
  refused_count: z.number().describe('The bus refused this many events for good.'),
});

export function replayRoutes(modelOf: ModelOf, clock: Clock): readonly Route[] {
  const common = {
    path: `${BRIDGE_MOUNT}/replay`,
    group: 'Bridge',
    isAccountWide: true,
    answer: replayAnswer,
  } as const;
  const changing = { ...common, access: 'events:replay', furtherProblems: ['replay-in-progress'] } as const;
  const begin = async ({ caller, requestId }: ApiRequest, wanted: Partial<Replay>) => {
    const model = await modelOf(caller);
    if ((await model.requestReplay({ replay_id: requestId, ...wanted })) === 'conflict')
      throw new Problem('replay-in-progress', {
        detail:
          'A replay of this account has not ended yet. GET shows how far it has come, and DELETE stops it.',
      });
    return { status: 202, body: replayView(await model.readReplay()) };
  };
  return [
    {
      ...changing,
      id: 'startReplay',
      method: 'POST',
      summary: 'Publish chosen events again',
      description: `The poller publishes what the journals of the table have, with the same ids and byte-equal details. \`resources\` of each event names \`${REPLAY_RESOURCE}\` and the id of the replay, by which rules tell it from news: alerts leave it out. The table has the last 32 entries of an operation and forgets an operation 200 days after its end. A caller may ask 30 times a minute.`,
      limit: 'wishes',
      body: replayBody,
      status: 202,
      async handle(request) {
        const choice = replayBody.parse(request.body);
        const [since, until] = [Date.parse(choice.since), Date.parse(choice.until)];
        if (since >= until) throw invalid([{ field: 'until', reason: 'must be a later time than since' }]);
        return begin(request, { ...choice, since: isoTimeOf(since), until: isoTimeOf(until) });
      },
    },
    {
      ...changing,
      path: `${BRIDGE_MOUNT}/redrive`,
      id: 'redriveParkedEvents',
      method: 'POST',
      summary: 'Publish the parked events again',
      description:
        'The poller publishes every event that the bus has refused for good, with the same ids and byte-equal details, and unmarked: for subscribers and alerts it is news. An event that the bus refuses again stays parked. `GET /replay` shows how far it has come, and `DELETE /replay` stops it. A caller may ask 30 times a minute.',
      limit: 'wishes',
      status: 202,
      async handle(request) {
        const now = isoTimeOf(clock.now());
        return begin(request, { since: now, until: now, of_parked: true });
      },
    },
    {
      ...changing,
      id: 'stopReplay',
      method: 'DELETE',
      summary: 'Stop the replay that is in progress',
      status: 200,
      furtherProblems: ['not-found'],
      async handle({ caller }) {
        const model = await modelOf(caller);
        const { replay_id } = shownReading(await model.readReplay());
        await model.noteReplay(replay_id, { ended_at: isoTimeOf(clock.now()), is_stopped: true });
        return { status: 200, body: replayView(await model.readReplay()) };
      },
    },
    readRoute(
      modelOf,
      {
        id: 'getReplay',
        path: '/replay',
        summary: 'How far the latest replay has come',
        access: 'operations:read',
        isAccountWide: true,
        furtherProblems: ['not-found'],
        answer: replayAnswer,
      },
      async (_, model) => ({ status: 200, body: replayView(await model.readReplay()) }),
    ),
  ];
}

function shownReading(replay: Replay | undefined): Replay {
  if (replay === undefined) throw notFound();
  return replay;
}

function replayView(found: Replay | undefined): z.output<typeof replayAnswer> {
  const { replay_id, position: _place, is_second_pass: _pass, is_stopped, ...replay } = shownReading(found);
  const ended = is_stopped ? 'stopped' : 'ended';
  const resource = replay.of_parked ? undefined : `${REPLAY_RESOURCE}${replay_id}`;
  return { ...replay, state: replay.ended_at === undefined ? 'in_progress' : ended, resource };
}
