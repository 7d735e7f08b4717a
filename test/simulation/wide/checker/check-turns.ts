/**
 * Checks that no project is passed over: one that a process has met is read within two rounds, whatever else is
 * urgent, and one for which a caller asks is read soon. The rules count the polls of other projects and not the time,
 * so what delays every poll excuses nothing and accuses nobody.
 */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS, type WidePlan } from '../plan.ts';
import type { LoggedRequest } from '../upstream/request-log.ts';
import { isWithin, type TruthProject } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

export function checkTurns(evidence: Evidence): readonly Violation[] {
  const { stage, answers } = evidence;
  const { world, upstream, restores } = stage;
  // A poll that a fault of the table ends before its first request leaves no trace in the upstream's log.
  const isDoubtful = ['table_throttled', 'table_reply_lost', 'table_keys_unprocessed'] as const;
  if (restores.length + stage.unreadable.size > 0 || isDoubtful.some((kind) => world.fired.has(kind)))
    return [];
  const byProcess = Map.groupBy(answers, ({ by }) => by);
  return upstream.truth.projects
    .filter(isOrdinary)
    .flatMap((project) => [
      ...[...byProcess].flatMap(([by, own]) => passedOver(evidence, project, by, own)),
      ...wishesNotServed(evidence, project),
    ]);
}

function isOrdinary({ visible, failing, malformed, unavailable, notFound }: TruthProject): boolean {
  const isAlwaysThere = visible.at(-1)?.toMs === Number.POSITIVE_INFINITY && visible.length === 1;
  return isAlwaysThere && [failing, malformed, unavailable, notFound].flat().length === 0;
}

/** A new project is looked for in the broken account, whose items may be too busy to be read, until the list shows it again. */
function busyMs({ faults }: WidePlan): number {
  return faults.account_broken > 0 ? BUSY_MS : 0;
}

const BUSY_MS = 2 * MINUTE_MS;

/** Polls of other workers may have been under way already, and a project joins the others only once it is recorded. */
const POLLS_MORE = 6;

function passedOver(
  { stage }: Evidence,
  project: TruthProject,
  by: string,
  own: readonly LoggedRequest[],
): readonly Violation[] {
  const { plan } = stage.world;
  const shown = own.find(({ route, shownIds }) => route === 'projects' && shownIds.includes(project.id));
  if (shown === undefined) return [];
  const untilMs = firstTriedMs(
    stage.upstream.log.filter((request) => request.by === by),
    project,
  );
  const pollCount = pollsOfOthers(plan, own, project.id, shown.atMs + busyMs(plan), untilMs);
  const pollsMax = 2 * turnCount(stage.upstream.truth.projects, plan, shown.atMs) + POLLS_MORE;
  if (pollCount <= pollsMax) return [];
  const detail = `${by} polled others ${pollCount} times before it`;
  return [{ rule: 'passed-over', operation_id: project.id, detail }];
}

/** A request that a fault refuses was sent all the same, and after it the project rests. */
function firstTriedMs(requests: readonly LoggedRequest[], project: TruthProject): number {
  return requests.find((request) => isFor(request, project))?.atMs ?? Number.POSITIVE_INFINITY;
}

function isFor({ isCommand, path }: LoggedRequest, { id }: TruthProject): boolean {
  return !isCommand && path.includes(`/projects/${id}/operations`);
}

/** Returns the number of turns of the planner: one for each project, and one for each page of the list. */
function turnCount(projects: readonly TruthProject[], { projectPageMax }: WidePlan, atMs: number): number {
  const count = projects.filter(({ visible }) => isWithin(visible, atMs)).length;
  return count + Math.ceil(count / projectPageMax) + 1;
}

/** Each poll begins with a page of this number of rows from the head of the list. */
function pollsOfOthers(
  { walkLimits }: WidePlan,
  own: readonly LoggedRequest[],
  projectId: string,
  fromMs: number,
  untilMs: number,
): number {
  return own.filter(
    (answer) =>
      answer.route === 'operations' &&
      answer.projectId !== projectId &&
      answer.cursor === undefined &&
      answer.limit === walkLimits.firstPageRows &&
      answer.atMs > fromMs &&
      answer.atMs < untilMs,
  ).length;
}

/**
 * Wishes have a tenth of the permits that no deadline takes, so at most this number of polls goes before one, with
 * those that were under way.
 */
const POLLS_BEFORE_WISH_MAX = 26;

/** An earlier wish for another project goes first, and takes one of those permits. */
const POLLS_A_WISH = 10;

/** The index shows a wish up to four seconds late, and the poller takes it with a few calls of the table. */
const TAKEN_WITHIN_MS = 8_000;

/** Returns how many other projects have an earlier wish that is not served at that time. */
function wishesAhead({ stage: { wishes, upstream } }: Evidence, { id }: TruthProject, atMs: number): number {
  const waiting = wishes.filter((wish) => {
    const project = upstream.truth.projects.find((other) => other.id === wish.projectId);
    const since = upstream.log.filter((request) => request.atMs > wish.atMs);
    return wish.atMs <= atMs && project !== undefined && firstTriedMs(since, project) > atMs;
  });
  return new Set(waiting.map(({ projectId }) => projectId).filter((other) => other !== id)).size;
}

function wishesNotServed(evidence: Evidence, project: TruthProject): readonly Violation[] {
  const { stage, shownAtMs } = evidence;
  const { plan } = stage.world;
  const { log } = stage.upstream;
  const shownMs = shownAtMs(project) ?? Number.POSITIVE_INFINITY;
  return stage.wishes
    .filter(({ projectId }) => projectId === project.id)
    .flatMap(({ atMs }) => {
      const takenMs = atMs + plan.workIntervalMs + TAKEN_WITHIN_MS;
      // One process alone can have taken it, and that one has to serve it.
      const running = stage.invocations.filter(({ fromMs, toMs }) => fromMs <= takenMs && toMs >= atMs);
      const [only, ...others] = new Set(running.map(({ by }) => by));
      const isSteady =
        running.length === 1 && (running[0]?.fromMs ?? 0) <= atMs && (running[0]?.toMs ?? 0) >= takenMs;
      // After a failure the project rests, and the wish waits for the end of the rest.
      const last = log.findLast((request) => request.atMs <= atMs && isFor(request, project));
      const rests = last !== undefined && (!last.isDelivered || last.status >= 500);
      if (only === undefined || others.length > 0 || !isSteady || rests) return [];
      const untilMs = firstTriedMs(
        log.filter((request) => request.atMs > atMs),
        project,
      );
      // A wish is served at most once in a poll interval, and waits until the list has shown its project.
      const fromMs = Math.max(takenMs, atMs + plan.pollIntervalSeconds * 1_000, shownMs + busyMs(plan));
      const own = log.filter(
        (request) => request.by === only && request.isDelivered && request.status === 200,
      );
      const pollCount = pollsOfOthers(plan, own, project.id, fromMs, untilMs);
      const pollsMax = POLLS_BEFORE_WISH_MAX + POLLS_A_WISH * wishesAhead(evidence, project, atMs);
      if (pollCount <= pollsMax) return [];
      const detail = `${only} polled others ${pollCount} times before the reading asked for at ${new Date(atMs).toISOString()}`;
      return [{ rule: 'wish-not-served', operation_id: project.id, detail }];
    });
}
