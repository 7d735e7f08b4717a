/** Sets up everything that one wide run has on its stage. */

import type { Health } from '../../../functions/api/bridge/health-routes.ts';
import { createMemoryTable } from '../memory-table.ts';
import type { Process } from '../scheduler.ts';
import type { BusSide } from './cloud/bus.ts';
import { createIndexCopy } from './cloud/index-copy.ts';
import { type MovingProject, moveProject } from './cloud/moving-project.ts';
import type { TableSide } from './cloud/table.ts';
import { createEar, type Ear } from './cloud/telemetry.ts';
import { secretsOutages, unauthorizedSpans, withForeignFaults } from './foreign.ts';
import { drawLongLists, withLongLists } from './long-lists.ts';
import { drawLongOutage, withLongOutage } from './long-outages.ts';
import { drawPlan, MINUTE_MS, type WidePlan } from './plan.ts';
import { drawReadComputes, withComputes } from './read-computes.ts';
import { START_MS, type Timeline, timelineOf } from './timeline.ts';
import { drawTruth } from './upstream/draw-truth.ts';
import type { Span } from './upstream/truth.ts';
import { createVirtualUpstream, type VirtualUpstream } from './upstream/virtual-upstream.ts';
import { withUsage } from './usage.ts';
import { createWideWorld, type Trace, type WideWorld } from './world.ts';

export const ACCOUNT_ID = 'main';

/** Says how one process ended and why, for the checker's rules about processes. */
interface Ending {
  readonly atMs: number;
  readonly by: string;
  readonly kind: 'killed' | 'failed';
  readonly detail: string;
}

export interface SentCommand {
  readonly requestId: string;
  readonly projectId: string;
  readonly operationIds: readonly string[];
  readonly sentAtMs: number;
  /** Says whether `recordCommand` came to its end. */
  isRecorded: boolean;
}

export interface Stage {
  readonly world: WideWorld;
  readonly timeline: Timeline;
  readonly upstream: VirtualUpstream;
  /** It is undefined in a run without a project that moves. */
  readonly moving: MovingProject | undefined;
  readonly tableSide: TableSide;
  readonly bus: BusSide;
  readonly ear: Ear;
  /** Holds the key that the secret contains now. */
  readonly secret: { key: string };
  /** Nobody can read the secret within these spans. */
  readonly secretsOutages: readonly Span[];
  /** Lists the times at which a valid key was put into the secret. */
  readonly secretChanges: number[];
  /** Holds every process that was started, so that an operator can end them all. */
  readonly processes: Set<Process>;
  readonly endings: Ending[];
  /** Lists every invocation of the poller. Its `toMs` is infinite while it runs. */
  readonly invocations: { readonly by: string; readonly fromMs: number; toMs: number }[];
  readonly commands: SentCommand[];
  /** Lists the requests for a fresh reading that the table has taken. */
  readonly wishes: { readonly projectId: string; readonly atMs: number }[];
  /** Maps the id of each event that the consumer of the feed has got to the type of the event. */
  readonly fed: Map<string, string>;
  readonly feedFailures: string[];
  /** Lists when the consumer has begun to read a page of the feed that it got. */
  readonly feedReadsMs: number[];
  /** Records what each look at the account's health has shown, and when. */
  readonly healthSeen: { readonly atMs: number; readonly health: Health }[];
  /**
   * Names the items that another version wrote in a way that this one cannot read, each by partition and sort key
   * with a space between.
   */
  readonly unreadable: Set<string>;
  /** Records when the table was set back, and to which time. */
  readonly restores: { readonly atMs: number; readonly toMs: number }[];
}

export function setTheWideStage(
  seed: number,
  trace?: Trace,
  change: (plan: WidePlan) => WidePlan = (plan) => plan,
): Stage {
  const drawn = drawPlan(seed);
  const longLists = drawLongLists(seed);
  const usual = drawReadComputes(seed) ? withComputes(drawn) : drawn;
  const outage = drawLongOutage(seed);
  const listed = longLists === undefined ? usual : withLongLists(drawn, longLists);
  const ours = outage === undefined ? listed : withLongOutage(drawn, outage);
  const plan = change(withUsage(withForeignFaults(ours)));
  const world = createWideWorld(plan, START_MS, trace);
  const timeline = timelineOf(plan);
  const { truth, source } = drawTruth(world, timeline);
  const table = createMemoryTable();
  return {
    world,
    timeline,
    upstream: createVirtualUpstream(world, truth, source),
    moving: moveProject(world, timeline, table),
    tableSide: {
      table,
      index: createIndexCopy(world),
      writtenAtMs: new Map(),
      putBack: [],
    },
    bus: {
      delivered: [],
      untaken: [],
      misuse: [],
      outages: outagesOf(world, timeline),
      unauthorized: unauthorizedSpans(plan, timeline),
    },
    ear: createEar(world),
    secret: { key: 'key-0' },
    secretsOutages: secretsOutages(plan, timeline),
    secretChanges: [],
    processes: new Set(),
    endings: [],
    invocations: [],
    commands: [],
    wishes: [],
    fed: new Map(),
    feedFailures: [],
    feedReadsMs: [],
    healthSeen: [],
    unreadable: new Set(),
    restores: [],
  };
}

/**
 * Draws an outage of the bus. It begins within the first minute of the second busy time, and lasts for one to two
 * minutes.
 */
function outagesOf({ plan, random }: WideWorld, { busy: [, second] }: Timeline) {
  if (plan.faults.bus_outage === 0) return [];
  const fromMs = second.fromMs + random.next() * MINUTE_MS;
  return [{ fromMs, toMs: fromMs + (1 + random.next()) * MINUTE_MS }];
}
