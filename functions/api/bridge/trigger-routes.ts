/** Serves the route that publishes a test event, by which a subscriber tries a rule and what is behind it. */

import * as z from 'zod';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { DETAIL_TYPES, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { Problem } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';

export interface TriggerDeps {
  readonly bus: EventBus;
  readonly clock: Clock;
}

const body = z.strictObject({
  detail_type: z.enum(Object.values(DETAIL_TYPES)),
  detail: z.record(z.string(), z.unknown()),
});

export function triggerRoutes({ bus, clock }: TriggerDeps): readonly Route[] {
  return [
    {
      id: 'triggerTestEvent',
      method: 'POST',
      path: `${BRIDGE_MOUNT}/events/test`,
      summary: 'Publish a test event',
      description: `The event goes to the bus with the source \`${TEST_EVENT_SOURCE}\`, so only rules that ask for this source get it. It is not recorded: it appears neither in the feed nor in the archive, and it raises no alert. The account is that of the caller, whatever the detail says. A caller may do this 30 times a minute.`,
      group: 'Bridge',
      access: 'events:trigger',
      isAccountWide: true,
      isClosedWhilePaused: true,
      limit: 'wishes',
      body,
      status: 202,
      answer: z.object({ source: z.literal(TEST_EVENT_SOURCE), detail_type: z.string() }),
      async handle(request) {
        const { detail_type, detail } = body.parse(request.body);
        const outcomes = await bus.publish([
          {
            source: TEST_EVENT_SOURCE,
            detailType: detail_type,
            detail: JSON.stringify({ ...detail, account_id: request.caller.account_id }),
            time: new Date(clock.now()).toISOString(),
          },
        ]);
        if (outcomes[0]?.kind !== 'accepted') throw notAccepted();
        return { status: 202, body: { source: TEST_EVENT_SOURCE, detail_type } };
      },
    },
  ];
}

function notAccepted(): Problem {
  return new Problem('bus-unavailable', {
    detail: 'The bus did not accept the event; try again in some seconds.',
    headers: { 'retry-after': '5' },
    provesNoWork: true,
  });
}
