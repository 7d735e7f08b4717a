/** Has the poller of the bridge repair a project, and follows the repair to its end. */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import { askedPauseMs, type BridgeClient, BridgeRefusal, isPassing } from '../connection/bridge-client.ts';

const repair = z.looseObject({
  state: z.enum(['in_progress', 'ended', 'failed']),
  failure: z.string().optional(),
  requested_at: z.string(),
  compared_count: z.number(),
  repaired_count: z.number(),
  unrepaired_count: z.number(),
  unrepaired: z.array(z.looseObject({ operation_id: z.string(), reason: z.string() })),
});

export type RepairStanding = z.output<typeof repair>;

export interface RepairDeps {
  readonly client: BridgeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence on how far the repair has come. */
  readonly note: (sentence: string) => void;
}

const LOOK_MS = 1_000;

/**
 * A poller begins with a repair within a minute, and each of its steps takes seconds. After this time without progress
 * no poller is at work, or its table or the upstream does not answer.
 */
const STANDSTILL_MS_MAX = 5 * 60_000;

/**
 * Resolves to the ended repair of all operations since that time (ISO 8601). A repair that is in progress already is
 * awaited first, and an outage of the bridge is waited for. Rejects with `repair_stands_still` when the poller makes no progress for five minutes.
 */
export async function repairThroughBridge(
  deps: RepairDeps,
  projectId: string,
  since: string,
): Promise<RepairStanding> {
  const { client } = deps;
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/repair`;
  const read = () => client.read({ method: 'GET', path }, repair);
  for (;;) {
    try {
      await client.read({ method: 'POST', path, body: JSON.stringify({ since }) }, repair);
      return await untilEnded(deps, projectId, read);
    } catch (error) {
      if (!(error instanceof BridgeRefusal) || error.status !== 409) throw error;
      deps.note(`Another repair of ${projectId} is in progress, and is awaited first.`);
      await untilEnded(deps, projectId, read);
    }
  }
}

async function untilEnded(
  { clock, signal, note }: RepairDeps,
  projectId: string,
  read: () => Promise<RepairStanding>,
): Promise<RepairStanding> {
  let comparedCount = 0;
  let movedAtMs = clock.now();
  for (;;) {
    let pauseMs = LOOK_MS;
    const standing = await read().catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      pauseMs = Math.max(LOOK_MS, askedPauseMs(error));
      note(`${error.message} The repair goes on meanwhile.`);
    });
    if (standing !== undefined && standing.state !== 'in_progress') return standing;
    if (standing !== undefined && standing.compared_count > comparedCount) {
      comparedCount = standing.compared_count;
      movedAtMs = clock.now();
      note(
        `${comparedCount} operations of ${projectId} are compared, ${standing.repaired_count} are repaired.`,
      );
    }
    if (clock.now() - movedAtMs >= STANDSTILL_MS_MAX)
      throw new AppError(
        'repair_stands_still',
        `The repair of ${projectId} makes no progress. Look at the health of the poller; the repair goes on once it runs.`,
      );
    await clock.sleep(pauseMs, signal);
  }
}
