/**
 * Checks how projects that cannot be read are reported: health names them, an event reports them after ten minutes,
 * and an account of which everything is read is healthy.
 */

import type { Violation } from '../../check-history.ts';
import type { WideFault } from '../faults.ts';
import { MINUTE_MS } from '../plan.ts';
import type { Stage } from '../stage.ts';
import { calmEndMs } from '../timeline.ts';
import type { LoggedRequest } from '../upstream/request-log.ts';
import { isWithin, type TruthProject } from '../upstream/truth.ts';
import { isShort } from './check-liveness.ts';
import type { Evidence } from './evidence.ts';

export function checkHealth(evidence: Evidence): readonly Violation[] {
  const { projects } = evidence.stage.upstream.truth;
  return [
    ...projects.flatMap((project) => [...notNamed(evidence, project), ...notTold(evidence, project)]),
    ...unhealthyInVain(evidence),
  ];
}

/**
 * An unread project counts after three minutes, and the status is written once a minute. The rest is for the poll
 * that fails.
 */
const NAMED_AFTER_MS = 5.5 * MINUTE_MS;

function notNamed({ stage, refusalsOf }: Evidence, project: TruthProject): readonly Violation[] {
  const { calm } = stage.timeline;
  if (!isListed(project) || !isFailing(project, calm.fromMs, calmEndMs(stage.timeline))) return [];
  const first = refusalsOf(project).find(({ atMs }) => atMs >= calm.fromMs);
  if (first === undefined) return [];
  return stage.healthSeen
    .filter(({ atMs }) => atMs >= first.atMs + NAMED_AFTER_MS)
    .filter(({ health }) => !health.unread_projects.some(({ project_id }) => project_id === project.id))
    .slice(0, 1)
    .map(({ atMs }) => ({
      rule: 'unread-not-named',
      operation_id: project.id,
      detail: `by health at ${new Date(atMs).toISOString()}`,
    }));
}

/** The bridge publishes Project Unreachable when a project alone has failed for ten minutes. */
const TOLD_AFTER_MS = 11.5 * MINUTE_MS;

/** The other projects count as answered for five minutes after an answer. */
const ANSWERED_EVERY_MS = 4 * MINUTE_MS;

function notTold(evidence: Evidence, project: TruthProject): readonly Violation[] {
  const { stage, events, refusalsOf, answers } = evidence;
  if (stage.restores.length > 0 || stage.unreadable.size > 0 || !isListed(project)) return [];
  const isPublished = events.some(
    ({ event, detailType }) => detailType === 'Project Unreachable' && event.project_id === project.id,
  );
  if (isPublished) return [];
  const byProcess = Map.groupBy(refusalsOf(project), ({ by }) => by);
  const isOwed = [...byProcess].some(([by, own]) => {
    const answered = answers.filter((answer) => answer.by === by && answer.route === 'operations');
    const refused = own.filter((refusal) => !wasCutShort(stage, refusal));
    const isAlone = (fromMs: number, toMs: number) =>
      isFailing(project, fromMs, toMs) && !stage.invocations.some(isOther(by, fromMs, toMs));
    return wasAloneForLong(isAlone, timesOf(refused), timesOf(answered));
  });
  return isOwed ? [{ rule: 'unread-not-told', operation_id: project.id, detail: '' }] : [];
}

/** A refused request is repeated for some seconds, and a poll that the end of its invocation cuts short has not failed. */
const REPEATED_FOR_MS = 5_000;

function wasCutShort({ invocations }: Stage, { by, atMs }: LoggedRequest): boolean {
  return invocations.some((each) => each.by === by && Math.abs(each.toMs - atMs) < REPEATED_FOR_MS);
}

/** A new process does not know a project that the list does not show, and names only those that it knows. */
function isListed({ malformed, unavailable, notFound }: TruthProject): boolean {
  return malformed.length + unavailable.length + notFound.length === 0;
}

/** The count begins anew beside another process, which may have read the project or may not know it. */
function isOther(
  by: string,
  fromMs: number,
  toMs: number,
): (invocation: Stage['invocations'][number]) => boolean {
  return (other) => other.by !== by && other.toMs >= fromMs && other.fromMs <= toMs;
}

/** Returns true when, somewhere among its refusals, the project was refused for long enough while others were answered. */
function wasAloneForLong(
  isAlone: (fromMs: number, toMs: number) => boolean,
  refusedMs: readonly number[],
  answeredMs: readonly number[],
): boolean {
  let fromMs = refusedMs[0] ?? 0;
  return refusedMs.some((toMs) => {
    const between = [fromMs, ...answeredMs.filter((at) => at > fromMs && at < toMs), toMs];
    const areAnswered = between.every((at, place) => at - (between[place - 1] ?? at) < ANSWERED_EVERY_MS);
    if (!areAnswered || !isAlone(fromMs, toMs)) fromMs = toMs;
    return toMs - fromMs >= TOLD_AFTER_MS;
  });
}

function timesOf(requests: readonly LoggedRequest[]): readonly number[] {
  return requests.map(({ atMs }) => atMs);
}

function isFailing({ failing, visible }: TruthProject, fromMs: number, toMs: number): boolean {
  return [failing, visible].every((spans) => spans.some((span) => span.fromMs <= fromMs && toMs < span.toMs));
}

/** These faults may rightly make an account unhealthy at the end of the calm. */
const GOOD_REASONS: readonly WideFault[] = [
  'lambda_frozen',
  'clock_wrong',
  'table_restored',
  'item_unreadable',
  'key_revoked',
  'http_retry_after_a_day',
  'secrets_outage',
  'wall_clock_set_back',
  'operation_page_failing',
];

/** A warm process that takes over goes by what it knew before, until it has read each project again. */
function isTakenOver({ invocations }: Stage, atMs: number): boolean {
  const lately = invocations.filter(({ fromMs, toMs }) => fromMs <= atMs && toMs >= atMs - MINUTE_MS);
  return new Set(lately.map(({ by }) => by)).size > 1;
}

/**
 * Finds an account that is unhealthy without a reason: everything can be read, every list is short, and the bus takes
 * events.
 */
function unhealthyInVain({ stage }: Evidence): readonly Violation[] {
  const { world, timeline, upstream, healthSeen } = stage;
  const last = healthSeen.findLast(({ atMs }) => !isTakenOver(stage, atMs));
  const isUsual = (project: TruthProject) =>
    isShort(world.plan, project) &&
    [project.failing, project.malformed, project.unavailable, project.notFound].flat().length === 0 &&
    isWithin(project.visible, timeline.calm.fromMs);
  const isDisturbed = GOOD_REASONS.some((fault) => world.fired.has(fault));
  if (last === undefined || last.health.healthy || isDisturbed) return [];
  if (!upstream.truth.projects.every(isUsual)) return [];
  return [{ rule: 'unhealthy-in-vain', operation_id: '', detail: last.health.reasons.join(' ') }];
}
