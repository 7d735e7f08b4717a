/** Lists the rows of a run without options: every world, every size, the planner and its rivals. */

import type { Row } from '../measure.ts';
import { HINTED_RIVALS, RIVALS } from '../rivals/contenders.ts';
import { worldNamed } from '../world/drawn-world.ts';
import { WORLDS, type World } from '../world/world.ts';
import { PLANNER, PLANNER_WITH_HINTS } from './performance-page.ts';

const SIZES = [50, 500, 5_000];
const REQUESTS_PER_MINUTE = 700;
const SEED = 1;

/** A small account needs more hours until its mean hardly moves any more. */
const HOURS: Readonly<Record<number, number>> = { 50: 8, 500: 3, 5000: 2 };

/**
 * A seed has about this many sessions at least, which are some 1,800 transitions. With less than half of them and 50 projects the mean over the bound of
 * one seed was 1.18 to 1.42 for the same planner.
 */
const SESSIONS_OF_SEED_MIN = 300;

/**
 * A row has about this many sessions at least, over several seeds: eight seeds of 300 sessions had 1.35 to 1.53 times the
 * bound for the same planner, so four of them together are known to three parts in a hundred.
 */
const SESSIONS_MIN = 1_200;

/** A drawn world may be so quiet that even this many seeds have fewer sessions. */
const SEEDS_MAX = 20;

const DRAWN_COUNT = 20;
const DRAWN_PROJECTS = 500;
const DRAWN_HOURS = 2;

const named = (contenders: readonly { readonly name: string }[]) => contenders.map(({ name }) => name);
const UNHINTED = [PLANNER, ...named(RIVALS)];
const HINTED = [PLANNER_WITH_HINTS, ...named(HINTED_RIVALS).filter((name) => name.endsWith('-hint-1'))];

export function standardRows(): readonly Row[] {
  const usual = { seed: SEED, requestsPerMinute: REQUESTS_PER_MINUTE, engine: 'ideal' } as const;
  const rows = WORLDS.flatMap((world) =>
    SIZES.flatMap((projects) =>
      [...UNHINTED, ...HINTED].map((policy) => ({
        ...usual,
        world: world.name,
        projects,
        policy,
        ...spanOf(world, projects, hoursOf(world, projects)),
      })),
    ),
  );
  const drawn = Array.from({ length: DRAWN_COUNT }, (_, place) => worldNamed(`drawn-${place + 1}`)).flatMap(
    (world) =>
      UNHINTED.map((policy) => ({
        ...usual,
        world: world.name,
        policy,
        projects: DRAWN_PROJECTS,
        ...spanOf(world, DRAWN_PROJECTS, DRAWN_HOURS),
      })),
  );
  return [...rows, ...drawn];
}

function hoursOf(world: World, projects: number): number {
  const needed = Math.ceil(SESSIONS_OF_SEED_MIN / sessionsPerHour(world, projects));
  return Math.max(HOURS[projects] ?? DRAWN_HOURS, needed);
}

function spanOf(world: World, projects: number, hours: number): Pick<Row, 'hours' | 'seedCount'> {
  const sessionsOfSeed = hours * sessionsPerHour(world, projects);
  return { hours, seedCount: Math.min(SEEDS_MAX, Math.ceil(SESSIONS_MIN / sessionsOfSeed)) };
}

function sessionsPerHour({ sessionsPerDay, deployments }: World, projects: number): number {
  const ofDeployments = deployments === undefined ? 0 : deployments.perDay * deployments.sessionsPerProject;
  return (projects * (sessionsPerDay + ofDeployments)) / 24;
}
