/** Works on the replay that a caller has asked for, beside the polls and slower than the relay. */

import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { Replay } from '../../../shared/store/adapters/replays.ts';
import { type NudgeBell, pauseOf } from '../nudges/nudge-bell.ts';
import { type ReplayDeps, takeReplayStep } from './replay-step.ts';

/** Two looks for a replay are this far apart. A look costs a read unit. */
const LOOK_MS = 5_000;

/** With a bell, a look only finds what was left without a ring. */
const REST_MS = MINUTE_MS;

export interface ReplayPort {
  readonly recorded: ReplayDeps['recorded'];
  readonly store: ReplayDeps['replays'] & { readReplay(): Promise<Replay | undefined> };
}

export interface ReplayLoopDeps extends Omit<ReplayDeps, 'recorded' | 'replays'> {
  /** It rings when a replay was asked for. Without one the loop looks all the time. */
  readonly bell?: NudgeBell | undefined;
}

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
  const { clock, telemetry, bell, signal } = deps;
  const pause = pauseOf(bell, clock, { lookMs: LOOK_MS, restMs: REST_MS });
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
    if (replaying.isBusy && !isGoingOn) await clock.sleep(LOOK_MS, signal).catch(() => {});
    else if (!isGoingOn) await pause(signal);
  }
}
