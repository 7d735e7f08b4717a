/** Works on the replay that a caller has asked for, beside the polls and slower than the relay. */

import type { Replay } from '../../../shared/store/adapters/replays.ts';
import { type ReplayDeps, takeReplayStep } from './replay-step.ts';

/** Two looks for a replay are this far apart. A look costs a read unit. */
const LOOK_MS = 5_000;

export interface ReplayPort {
  readonly recorded: ReplayDeps['recorded'];
  readonly store: ReplayDeps['replays'] & { readReplay(): Promise<Replay | undefined> };
}

export type ReplayLoopDeps = Omit<ReplayDeps, 'recorded' | 'replays'>;

/** What the loop shares with the other loops of its invocation. */
export interface Replaying {
  /** It is true while a replay is in progress, so the invocation must not end early. */
  isBusy: boolean;
  /** Runs a task, and notes its failure without letting it pass. */
  readonly survive: (task: () => Promise<void>) => Promise<void>;
}

export async function replayRepeatedly(
  deps: ReplayLoopDeps,
  { recorded, store }: ReplayPort,
  replaying: Replaying,
): Promise<void> {
  const { clock, telemetry, signal } = deps;
  while (!signal.aborted) {
    let isGoingOn = false;
    await replaying.survive(async () => {
      const replay = await store.readReplay();
      replaying.isBusy = replay !== undefined && replay.ended_at === undefined;
      if (replay === undefined || !replaying.isBusy) return;
      const step = await takeReplayStep({ ...deps, recorded, replays: store }, replay);
      isGoingOn = !step.mustRepeat;
      const { sent_count, refused_count, ended_at } = step.replay;
      if (ended_at !== undefined || step.isStopped)
        telemetry.log('info', 'replay.ended', { sent_count, refused_count });
    });
    if (!isGoingOn) await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}
