/** Serves whether events of the caller's account are on time, and whether the alert channels take alerts. */

import * as z from 'zod';
import type { StandingOf } from '../../../shared/accounts/account-directory.ts';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OpenWork } from '../read-model/open-work.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';
import { decideHealth, type Health } from './decide-health.ts';

export interface HealthDeps {
  /** Resolves to undefined while the poller has not written its status yet. */
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly standingOf: StandingOf;
  /** Resolves to a sentence for each alert channel that accepts nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

export function healthRoutes(modelOf: ModelOf, deps: HealthDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getHealth',
        path: '/health',
        summary: 'Whether events are on time and the alert channels take alerts',
        description:
          '503 when they are not, with the reasons. About the account of the caller. A project that could not be read completely for three minutes is a reason, by its name. A paused account is in order: `state` says that it is paused, and the poller is not expected to read it.',
        access: 'signed_in',
        otherStatuses: [503],
        answer: z.looseObject({
          healthy: z.boolean(),
          reasons: z.array(z.string()),
          state: z.enum(['active', 'paused', 'refused']),
        }),
      },
      async ({ caller }, work) => {
        const { health } = await readHealth(deps, work, caller);
        return { status: health.healthy ? 200 : 503, body: health };
      },
    ),
  ];
}

/** Reads the health of an account. It names only projects that the caller may see. */
export async function readHealth(
  { statusOf, standingOf, deafChannels, clock }: HealthDeps,
  work: Pick<OpenWork, 'unpublished'>,
  caller: Caller,
): Promise<{ readonly status: AccountStatus | undefined; readonly health: Health }> {
  const [status, unpublished, channelReasons] = await Promise.all([
    statusOf(caller.account_id),
    work.unpublished(),
    deafChannels(),
  ]);
  const nowMs = clock.now();
  const isVisible = (projectId: string) => maySee(caller, projectId);
  const standing = standingOf(caller.account_id);
  const observed = { standing, status, unpublished, channelReasons, nowMs, maySee: isVisible };
  return { status, health: decideHealth(observed) };
}
