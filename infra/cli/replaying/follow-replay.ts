/** Has the bridge publish a range of its events again, and follows the replay to its end. */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import { askedPauseMs, type BridgeClient, isPassing } from '../connection/bridge-client.ts';
import type { ReplayRange } from './preview-replay.ts';

const standing = z.looseObject({
  state: z.enum(['in_progress', 'ended', 'stopped']),
  since: z.string(),
  until: z.string(),
  of_parked: z.boolean().optional(),
  resource: z.string().optional(),
  requested_at: z.string(),
  sent_count: z.number(),
  refused_count: z.number(),
});

export type ReplayStanding = z.output<typeof standing>;

const path = '/bridge/v1/replay';

export interface FollowDeps {
  readonly client: BridgeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence on how far the replay has come. */
  readonly note: (sentence: string) => void;
}

export function startReplay(client: BridgeClient, range: ReplayRange): Promise<ReplayStanding> {
  return client.read({ method: 'POST', path, body: JSON.stringify(range) }, standing);
}

/** Has every event sent again that the bus has refused for good. */
export function startRedrive(client: BridgeClient): Promise<ReplayStanding> {
  return client.read({ method: 'POST', path: '/bridge/v1/redrive' }, standing);
}

export function readReplay(client: BridgeClient): Promise<ReplayStanding> {
  return client.read({ method: 'GET', path }, standing);
}

export function stopReplay(client: BridgeClient): Promise<ReplayStanding> {
  return client.read({ method: 'DELETE', path }, standing);
}

const LOOK_MS = 1_000;

/** A poller begins within a minute, and sends a page within seconds. After this time without an event it is not at work. */
const STANDSTILL_MS_MAX = 5 * 60_000;

/**
 * Resolves to the replay at its end. An outage of the bridge is waited for. Rejects with `replay_stands_still` when the
 * poller sends nothing for five minutes, and with the reason of the signal when it aborts; the replay goes on then.
 */
export async function followReplay(deps: FollowDeps, eventCount?: number): Promise<ReplayStanding> {
  const { client, clock, signal, note } = deps;
  let sentCount = 0;
  let movedAtMs = clock.now();
  for (;;) {
    let pauseMs = LOOK_MS;
    const replay = await readReplay(client).catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      pauseMs = Math.max(LOOK_MS, askedPauseMs(error));
      note(`${error.message} The replay goes on meanwhile.`);
    });
    if (replay !== undefined && replay.state !== 'in_progress') return replay;
    if (replay !== undefined && replay.sent_count > sentCount) {
      sentCount = replay.sent_count;
      movedAtMs = clock.now();
      note(`${sentCount}${eventCount === undefined ? '' : ` of about ${eventCount}`} events are sent.`);
    }
    if (clock.now() - movedAtMs >= STANDSTILL_MS_MAX)
      throw new AppError(
        'replay_stands_still',
        'The replay makes no progress. Look at the health of the poller; the replay goes on once it runs and the bus accepts events.',
      );
    await clock.sleep(pauseMs, signal);
  }
}
