/** Serves the replay of an account: its begin and its end, and how far it has come. A redrive is the replay of parked events. */

import * as z from 'zod';
import { eventChoice } from '../../../shared/core/journal/event-choice.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { DETAIL_TYPES, REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Replay } from '../../../shared/store/adapters/replays.ts';
import { invalid, notFound, Problem } from '../serving/problem.ts';
import type { ApiRequest, Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

const body = eventChoice.extend({
  detail_types: z.array(z.enum(DETAIL_TYPES)).optional().describe('Only events of these types.'),
  is_dry_run: z
    .boolean()
    .optional()
    .describe('The events are counted as if they were sent, and none is sent.'),
});

const answer = z.object({
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
  sent_count: z.number().describe('The last few events may be sent twice, with the same ids.'),
  refused_count: z.number().describe('The bus refused this many events for good.'),
});

export function replayRoutes(modelOf: ModelOf, clock: Clock): readonly Route[] {
  const common = { path: `${BRIDGE_MOUNT}/replay`, group: 'Bridge', isAccountWide: true, answer } as const;
  const changing = { ...common, access: 'events:replay', furtherProblems: ['replay-in-progress'] } as const;
  const begin = async ({ caller, requestId }: ApiRequest, wanted: Partial<Replay>) => {
    const model = await modelOf(caller);
    if ((await model.requestReplay({ replay_id: requestId, ...wanted })) === 'conflict')
      throw new Problem('replay-in-progress', {
        detail:
          'A replay of this account has not ended yet. GET shows how far it has come, and DELETE stops it.',
      });
    return { status: 202, body: viewOf(await model.readReplay()) };
  };
  return [
    {
      ...changing,
      id: 'startReplay',
      method: 'POST',
      summary: 'Publish chosen events again',
      description: `The poller publishes what the journals of the table have, with the same ids and byte-equal details. \`resources\` of each event names \`${REPLAY_RESOURCE}\` and the id of the replay, by which rules tell it from news: alerts leave it out. The table has the last 32 entries of an operation and forgets an operation 200 days after its end. A caller may ask 30 times a minute.`,
      limit: 'wishes',
      body,
      status: 202,
      async handle(request) {
        const choice = body.parse(request.body);
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
        const { replay_id } = shown(await model.readReplay());
        await model.noteReplay(replay_id, { ended_at: isoTimeOf(clock.now()), is_stopped: true });
        return { status: 200, body: viewOf(await model.readReplay()) };
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
        answer,
      },
      async (_, model) => ({ status: 200, body: viewOf(await model.readReplay()) }),
    ),
  ];
}

function shown(replay: Replay | undefined): Replay {
  if (replay === undefined) throw notFound();
  return replay;
}

function viewOf(found: Replay | undefined): z.output<typeof answer> {
  const { replay_id, position: _place, is_second_pass: _pass, is_stopped, ...replay } = shown(found);
  const ended = is_stopped ? 'stopped' : 'ended';
  const resource = replay.of_parked ? undefined : `${REPLAY_RESOURCE}${replay_id}`;
  return { ...replay, state: replay.ended_at === undefined ? 'in_progress' : ended, resource };
}
