/** Adds to a message about one alert what people ask next: how often it failed lately, and whether others fail alike. */

import { incidentIdOf, incidentOf } from '../../../shared/alerts/incident-key.ts';
import type { IncidentStore } from '../../../shared/alerts/incidents/incident-store.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { ALIKE_MS, contextOf, hasContext, type OpenIncidents } from '../deciding/context.ts';
import type { Message } from '../deciding/message-plan.ts';

export interface ContextDeps {
  readonly store: {
    readonly incidentsOf: (accountId: string) => Pick<IncidentStore, 'read'>;
    /** Resolves to incidents of the account that have not ended and began after this time, the oldest first. */
    readonly openIncidents: (accountId: string, sinceMs: number) => Promise<OpenIncidents>;
  };
  readonly clock: Pick<Clock, 'now'>;
  readonly telemetry: Telemetry;
}

/**
 * A message of many alerts lists them, and stays as it is. An alert is never late or lost for its context: when that
 * cannot be read, the message goes without it.
 */
export async function withContext(
  { store, clock, telemetry }: ContextDeps,
  message: Message,
): Promise<Message> {
  const [notice, second] = message.flat();
  if (notice === undefined || second !== undefined || !hasContext(notice)) return message;
  const { account_id } = notice;
  const nowMs = clock.now();
  try {
    const [record, open] = await Promise.all([
      store.incidentsOf(account_id).read(incidentIdOf(incidentOf(notice))),
      store.openIncidents(account_id, nowMs - ALIKE_MS),
    ]);
    return [[{ ...notice, ...contextOf(notice, record, open, nowMs) }]];
  } catch (error) {
    telemetry.log('warn', 'alert.context_not_read', { account_id, reason: toError(error).name });
    return message;
  }
}
