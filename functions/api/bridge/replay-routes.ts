/** Serves the replay of an account: what it would send, its begin and its end, and how far it has come. */

import * as z from 'zod';
import { DAY_MS } from '../../../shared/core/time/durations.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import type { EventRange } from '../../../shared/protocol/recorded-range.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Replay } from '../../../shared/store/adapters/replays.ts';
import { invalid, notFound, Problem } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';
import { cursor } from './page-query.ts';

const PATH = '/replay';

const time = z.iso.datetime({ offset: true });

const rangeFields = {
  since: time.describe('Events that the bridge observed at this time or later are in the range.'),
  until: time.describe('Events that the bridge observed at this time or later are not in the range.'),
  project_id: z.string().min(1).max(100).optional().describe('Only events of this project.'),
};

const body = z.strictObject(rangeFields);

const previewQuery = z.strictObject({
  ...rangeFields,
  since: rangeFields.since
    .optional()
    .meta({ description: `${rangeFields.since.description} By default, a day ago.` }),
  until: rangeFields.until
    .optional()
    .meta({ description: `${rangeFields.until.description} By default, now.` }),
  cursor,
});

const answer = z.object({
  state: z.enum(['in_progress', 'ended', 'stopped']),
  since: z.string(),
  until: z.string(),
  project_id: z.string().optional(),
  of_parked: z.boolean().optional().describe('Parked events are sent again, and no range.'),
  resource: z
    .string()
    .optional()
    .describe('The events have this in `resources` of their envelope. Parked events have nothing there.'),
  requested_at: z.string(),
  ended_at: z.string().optional(),
  sent_count: z.number().describe('The last few events may be sent twice, with the same ids.'),
  refused_count: z.number().describe('The bus refused this many events for good.'),
});

const previewAnswer = z.object({
  event_count: z.number(),
  detail_types: z.record(z.string(), z.number()).describe('How many events of which type.'),
  oldest: z.string().optional(),
  newest: z.string().optional(),
  cursor: z.string().optional().describe('For the next stretch; absent at the end of the range.'),
});

export function replayRoutes(modelOf: ModelOf, clock: Pick<Clock, 'now'>): readonly Route[] {
  const common = { path: `${BRIDGE_MOUNT}${PATH}`, group: 'Bridge', isAccountWide: true, answer } as const;
  return [
    readRoute(
      modelOf,
      {
        id: 'previewReplay',
        path: `${PATH}/preview`,
        summary: 'What a replay would send, one stretch of the table at a time',
        access: 'operations:read',
        isAccountWide: true,
        query: previewQuery,
        answer: previewAnswer,
      },
      async ({ query }, model) => {
        const nowMs = clock.now();
        const { since = isoTimeOf(nowMs - DAY_MS), until = isoTimeOf(nowMs), project_id } = query;
        const page = await model.recordedEvents(rangeOf({ since, until, project_id }), query.cursor);
        const types = Map.groupBy(page.items, ({ detailType }) => detailType);
        const times = page.items.map(({ time: at }) => at).toSorted();
        const detail_types = Object.fromEntries([...types].map(([type, events]) => [type, events.length]));
        const [oldest, newest] = [times[0], times.at(-1)];
        const shown = { event_count: page.items.length, detail_types, oldest, newest, cursor: page.next };
        return { status: 200, body: shown };
      },
    ),
    {
      ...common,
      id: 'startReplay',
      method: 'POST',
      summary: 'Publish the events of a range again',
      description: `The poller publishes what the journals of the table have, with the same ids and byte-equal details. \`resources\` of each event names \`${REPLAY_RESOURCE}\` and the id of the replay, by which rules tell it from news: alerts leave it out. The table has the last 32 entries of an operation and forgets an operation 200 days after its end; the archive of the bus has every event. A caller may ask 30 times a minute.`,
      access: 'events:replay',
      limit: 'wishes',
      body,
      status: 202,
      furtherProblems: ['replay-in-progress'],
      async handle(request) {
        const model = await modelOf(request.caller);
        const { since, until, projectId: project_id } = rangeOf(body.parse(request.body));
        const wanted = { replay_id: request.requestId, since, until, project_id };
        if ((await model.requestReplay(wanted)) === 'conflict') throw inProgress();
        return { status: 202, body: viewOf(await model.replay()) };
      },
    },
    {
      ...common,
      path: `${BRIDGE_MOUNT}/redrive`,
      id: 'redriveParkedEvents',
      method: 'POST',
      summary: 'Publish the parked events again',
      description:
        'The poller publishes every event that the bus has refused for good, with the same ids and byte-equal details, and unmarked: for subscribers and alerts it is news. An event that the bus refuses again stays parked. `GET /replay` shows how far it has come, and `DELETE /replay` stops it. A caller may ask 30 times a minute.',
      access: 'events:replay',
      limit: 'wishes',
      status: 202,
      furtherProblems: ['replay-in-progress'],
      async handle(request) {
        const model = await modelOf(request.caller);
        const now = isoTimeOf(clock.now());
        const wanted = { replay_id: request.requestId, since: now, until: now, of_parked: true };
        if ((await model.requestReplay(wanted)) === 'conflict') throw inProgress();
        return { status: 202, body: viewOf(await model.replay()) };
      },
    },
    {
      ...common,
      id: 'stopReplay',
      method: 'DELETE',
      summary: 'Stop the replay that is in progress',
      access: 'events:replay',
      status: 200,
      furtherProblems: ['not-found'],
      async handle({ caller }) {
        const model = await modelOf(caller);
        const replay = await model.replay();
        if (replay === undefined) throw notFound();
        await model.stopReplay(replay.replay_id);
        return { status: 200, body: viewOf(await model.replay()) };
      },
    },
    readRoute(
      modelOf,
      {
        id: 'getReplay',
        path: PATH,
        summary: 'How far the latest replay has come',
        access: 'operations:read',
        isAccountWide: true,
        furtherProblems: ['not-found'],
        answer,
      },
      async (_, model) => ({ status: 200, body: viewOf(await model.replay()) }),
    ),
  ];
}

function rangeOf({ since, until, project_id }: z.output<typeof body>): EventRange {
  const range = { since: isoTimeOf(Date.parse(since)), until: isoTimeOf(Date.parse(until)) };
  if (range.since >= range.until)
    throw invalid([{ field: 'until', reason: 'must be a later time than since' }]);
  return { ...range, projectId: project_id };
}

function viewOf(replay: Replay | undefined): z.output<typeof answer> {
  if (replay === undefined) throw notFound();
  const { replay_id, since, until, project_id, requested_at, ended_at, sent_count, refused_count } = replay;
  const ended = replay.is_stopped ? 'stopped' : 'ended';
  return {
    state: ended_at === undefined ? 'in_progress' : ended,
    since,
    until,
    project_id,
    ...(replay.of_parked === true ? { of_parked: true } : { resource: `${REPLAY_RESOURCE}${replay_id}` }),
    requested_at,
    ended_at,
    sent_count,
    refused_count,
  };
}

function inProgress(): Problem {
  return new Problem('replay-in-progress', {
    detail: 'A replay of this account has not ended yet. GET shows how far it has come, and DELETE stops it.',
  });
}
