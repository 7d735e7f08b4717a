/** Has the poller of the bridge repair a project, and follows the repair to its end. */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import { askedPauseMs, type BridgeClient, BridgeRefusal, isPassing } from '../connection/bridge-client.ts';

const repair = z.looseObject({ state: z.enum(['in_progress', 'ended']) });

type RepairStanding = z.output<typeof repair>;

export interface RepairDeps {
  readonly client: BridgeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence on what the repair waits for. */
  readonly note: (sentence: string) => void;
}

const LOOK_MS = 1_000;

/**
 * A poller begins with a repair within a minute, and reads some twenty thousand operations a poll. After this time no
 * poller is at work, or its table or the upstream does not answer.
 */
const REPAIR_MS_MAX = 10 * 60_000;

/** A sentence says this often that the repair goes on. */
const NOTE_MS = 30_000;

/**
 * Resolves when all operations since that time (ISO 8601) were read again. A repair that is in progress already is
 * awaited first, and an outage of the bridge is waited for. Rejects with `repair_stands_still` when the repair has not ended after ten minutes.
 */
export async function repairThroughBridge(deps: RepairDeps, projectId: string, since: string): Promise<void> {
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
): Promise<void> {
  const beganMs = clock.now();
  let notedMs = beganMs;
  for (;;) {
    let pauseMs = LOOK_MS;
    const standing = await read().catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      pauseMs = Math.max(LOOK_MS, askedPauseMs(error));
      note(`${error.message} The repair goes on meanwhile.`);
    });
    if (standing?.state === 'ended') return;
    if (clock.now() - beganMs >= REPAIR_MS_MAX)
      throw new AppError(
        'repair_stands_still',
        `The repair of ${projectId} has not ended after ten minutes. Look at the health of the poller; the repair goes on once it runs.`,
      );
    if (clock.now() - notedMs >= NOTE_MS) {
      notedMs = clock.now();
      note(`The poller reads the operations of ${projectId} again.`);
    }
    await clock.sleep(pauseMs, signal);
  }
}
