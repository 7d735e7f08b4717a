/** Gives each project that is polled its turn, and forgets projects that are no longer polled. */

import type { ArrivalHistory } from './activity/arrival-history.ts';
import type { ComputeReadings } from './compute-readings.ts';
import type { HintFields } from './hints/hint-fields.ts';
import type { NeededTurns } from './needed-turns.ts';
import type { ProjectStrides } from './project-strides.ts';
import type { Turn } from './queues/turn.ts';
import { joinByWeight, joinFirst, leaveQueues, type TurnQueues } from './queues/turn-queues.ts';

export interface PolledProjects {
  /** Polls exactly these projects from now on. */
  set(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Adds the projects that have no turn yet. The others keep theirs. */
  add(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  remove(projectIds: readonly string[]): void;
  /** Starts the deadlines of the projects that were added since the last call, because adding them needs no clock. */
  welcomeNewcomers(nowMs: number): void;
}

/** These parts of the planner keep something of each project. */
export interface ProjectTurnParts {
  readonly byId: Map<string, Turn>;
  readonly queues: TurnQueues;
  readonly strides: Pick<ProjectStrides, 'welcome' | 'forget'>;
  readonly hints: Pick<HintFields, 'forget'>;
  readonly computes: Pick<ComputeReadings, 'forget'>;
  readonly needed: Pick<NeededTurns, 'follow' | 'forget'>;
}

export function createPolledProjects({
  byId,
  queues,
  strides,
  hints,
  needed,
  computes,
}: ProjectTurnParts): PolledProjects {
  let newcomers: Turn[] = [];

  return {
    set(projectIds, histories) {
      const wanted = new Set(projectIds);
      for (const [id, turn] of byId) if (!wanted.has(id)) removeOne(turn);
      add([...wanted], histories);
    },
    add,
    remove(projectIds) {
      for (const turn of projectIds.flatMap((id) => byId.get(id) ?? [])) removeOne(turn);
    },
    welcomeNewcomers(nowMs) {
      for (const turn of newcomers) if (byId.get(turn.id) === turn) queues.deadlines.welcome(turn, nowMs);
      newcomers = [];
    },
  };

  function add(ids: readonly string[], histories: ReadonlyMap<string, ArrivalHistory> = new Map()): void {
    const added = ids.filter((id) => !byId.has(id));
    for (const turn of strides.welcome(added, histories)) {
      byId.set(turn.id, turn);
      needed.follow(turn);
      newcomers.push(turn);
      // A project that no process has read yet is read first, before its rate is known.
      if (turn.history === undefined) joinFirst(queues, turn);
      else joinByWeight(queues, turn);
    }
  }

  function removeOne(turn: Turn): void {
    leaveQueues(queues, turn);
    byId.delete(turn.id);
    hints.forget(turn.id);
    strides.forget(turn);
    needed.forget(turn);
    computes.forget(turn);
  }
}
