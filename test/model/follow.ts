/** Plays a schedule and lets the acceptor follow what its processes do. */

import { createAcceptor, type Rejection } from './accept.ts';
import { play, type Schedule } from './schedule.ts';
import { TIMES, type World } from './world.ts';

export interface Followed extends Pick<World, 'violations' | 'fired'> {
  readonly rejections: readonly Rejection[];
}

export function follow(schedule: Schedule): Followed {
  const acceptor = createAcceptor(TIMES);
  const { violations, fired } = play({ ...schedule, hear: acceptor.take });
  return { violations, fired, rejections: acceptor.rejections };
}
