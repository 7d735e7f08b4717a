/**
 * Decides by the policy of a bridge which channels report a notice of which project, what is muted, and how long a
 * failure may last before it wakes people.
 */

import * as z from 'zod';
import { incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import { isInScope, type Mute } from '../../../shared/alerts/mutes.ts';
import {
  covers,
  hasLabel,
  hasName,
  type LabelledSubject,
  projectLabel,
  projectNames,
} from '../../../shared/alerts/project-labels.ts';
import type { Notice, NoticeKind, Severity } from './notice.ts';

/** From the third failure on, two retries of the upstream have failed, and the operation needs a person. */
const ESCALATION_FAILURES_COUNT = 3;

/** Returns whether the operation has failed three times or more, which people are notified of however it goes on. */
export function isEscalated({ failures_count = 0 }: Pick<Notice, 'failures_count'>): boolean {
  return failures_count >= ESCALATION_FAILURES_COUNT;
}

const RANK: Record<Severity, number> = { info: 0, warning: 1, critical: 2 };

/** Returns a number that is higher for a more severe notice. */
export function rankOf(severity: Severity): number {
  return RANK[severity];
}

function isAtLeast(severity: Severity, least: Severity): boolean {
  return RANK[severity] >= RANK[least];
}

export function worstOf(notices: readonly Notice[]): Severity {
  return notices.reduce<Severity>(
    (worst, { severity }) => (RANK[severity] > RANK[worst] ? severity : worst),
    'info',
  );
}

type Policy = Pick<AlertPolicy, 'routes' | 'labels'>;
type Route = AlertPolicy['routes'][number];

/** Returns whether the route is about this. What a route lists must all fit, and one entry of each list is enough. */
export function isAbout(route: Route, subject: LabelledSubject, { labels }: Policy): boolean {
  return (
    covers(route.project_ids, subject.project_id) &&
    hasName(route.project_names, subject) &&
    (route.labels === undefined ||
      route.labels.some((name) => labels[name] !== undefined && hasLabel(labels[name], subject)))
  );
}

/** Returns whether a route can be decided only with the name of a project. */
export function usesNames({ routes, labels }: Policy): boolean {
  const ofLabels = routes.flatMap(({ labels: names = [] }) => names.flatMap((name) => labels[name] ?? []));
  return [...routes, ...ofLabels].some(({ project_names }) => project_names !== undefined);
}

/**
 * Returns the routes of which one is about this project, whatever its name: all that its name can decide, up to the
 * first that needs no name.
 */
export function possibleRoutes(
  policy: Policy,
  subject: Omit<LabelledSubject, 'project_name'>,
): readonly Route[] {
  const possible: Route[] = [];
  for (const route of policy.routes) {
    if (!covers(route.project_ids, subject.project_id)) continue;
    possible.push(route);
    if (route.project_names === undefined && route.labels === undefined) break;
  }
  return possible;
}

export interface Routed {
  /** These are names of channels. `every` stands for all that are set up. */
  readonly channels: readonly string[] | 'every';
  /** When true, no route is about the notice although people have to know of it, so it goes to every channel. */
  readonly isDefault: boolean;
}

/** Decides by the first route that matches. A notice below that route's severity goes to no channel. */
export function routeOf(notice: Notice, policy: Pick<AlertPolicy, 'routes' | 'labels'>): Routed {
  const route = policy.routes.find((one) => isAbout(one, notice, policy));
  // Routes with projects choose among projects. They say nothing about an account or a channel.
  if (route === undefined && notice.project_id === undefined) return { channels: 'every', isDefault: true };
  const isWanted = route !== undefined && isSevereEnough(notice, route.severity_min);
  return { channels: isWanted ? (route.channels ?? 'every') : [], isDefault: false };
}

/** A channel has a name, and reports nothing below its severity unless the policy says otherwise. */
interface Reporting {
  readonly name: string;
  readonly severityMin?: Severity;
}

/** Returns whether the channel reports the notice, whatever route leads to it. */
export function isWantedBy(
  { name, severityMin = 'info' }: Reporting,
  notice: Pick<Notice, 'kind' | 'severity'>,
  { channels }: Pick<AlertPolicy, 'channels'>,
): boolean {
  return isSevereEnough(notice, channels[name]?.severity_min ?? severityMin);
}

/** Returns whether the channel gets the digest. One to which every route leads only what is more severe gets none. */
export function reportsDigests(
  channel: Reporting,
  policy: Pick<AlertPolicy, 'routes' | 'channels'>,
): boolean {
  const own = policy.routes.filter(({ channels }) => channels?.includes(channel.name) ?? true);
  const isRouted = own.length === 0 || own.some(({ severity_min }) => severity_min === 'info');
  return isRouted && isWantedBy(channel, { kind: 'digest', severity: 'info' }, policy);
}

const ENDS: ReadonlySet<NoticeKind> = new Set([
  'recovered',
  'cancelled',
  'moved',
  'project_gone',
  'stall_ended',
  'account_recovered',
  'channel_back',
]);

/** The end of a failure goes wherever the failure went: it is good news of low severity, and closes what is open. */
function isSevereEnough({ kind, severity }: Pick<Notice, 'kind' | 'severity'>, least: Severity): boolean {
  return ENDS.has(kind) || isAtLeast(severity, least);
}

/** The mutes of the configuration, which cover all accounts. */
export interface Mutes extends Pick<AlertPolicy, 'mutes'> {
  /** People set these while the bridge runs. Those that ended within the last day are among them. */
  readonly stored_mutes?: readonly Mute[] | undefined;
}

/** These are about whether alerts reach people at all. */
const NEVER_MUTED: ReadonlySet<NoticeKind> = new Set(['channel_deaf', 'channel_back', 'muted_all']);

type Mutable = Pick<Notice, 'kind' | 'account_id' | 'project_id' | 'action'>;

/**
 * Returns when the last mute that covers the notice now ends, and 0 when none does. A notice about a channel, or about a
 * mute, is never muted.
 */
export function mutedUntilMs(notice: Mutable, { mutes, stored_mutes = [] }: Mutes, nowMs: number): number {
  if (NEVER_MUTED.has(notice.kind)) return 0;
  const ends = [
    ...mutes.filter(({ project_ids }) => covers(project_ids, notice.project_id)),
    ...stored_mutes
      .filter((mute) => isInScope(mute, subjectOf(notice, mute)))
      .map(({ created_at, until }) => ({ from: created_at, until })),
  ]
    .filter(({ from }) => Date.parse(from) <= nowMs)
    .map(({ until }) => Date.parse(until))
    .filter((untilMs) => untilMs > nowMs);
  return Math.max(0, ...ends);
}

/** The id of an incident is a hash, so it is made only for a mute that names one. */
function subjectOf({ account_id, project_id, action }: Mutable, { incident_id }: Mute) {
  const subject = { account_id, project_id, action };
  return incident_id === undefined ? subject : { ...subject, incident_id: incidentIdOf(incidentOf(subject)) };
}

/** Returns whether a mute that a person set while the bridge ran covered the notice when it was stored. */
export function wasMutedByPerson(notice: Mutable, { stored_mutes }: Mutes, storedAtMs: number): boolean {
  return mutedUntilMs(notice, { mutes: [], stored_mutes }, storedAtMs) > 0;
}

/** Returns whether a mute covered the notice when it was stored. */
export function wasMuted(notice: Mutable, mutes: Mutes, storedAtMs: number): boolean {
  return mutedUntilMs(notice, mutes, storedAtMs) > 0;
}

/** A failure that ends within this time is only counted; most retries of the upstream succeed within it. */
const PATIENCE_SECONDS = 300;

/** People who have just been interrupted are at the console already, where everything stands without a message. */
const GATHER_SECONDS = 600;

const patienceSeconds = z.number().int().min(0).max(3_600);

const severity = z.enum(['info', 'warning', 'critical']);

/** A route says which channels report which projects. The first route that matches a notice decides. */
const routeTo = <Name extends string>(channelNames: readonly [Name, ...Name[]]) =>
  z.strictObject({
    /** Without it the route covers all projects, and the account itself. */
    project_ids: z.array(z.string()).min(1).optional(),
    project_names: projectNames.optional(),
    /** These are names of the policy's `labels`. */
    labels: z.array(z.string()).min(1).optional(),
    /** Without it the route leads to every channel that is set up. */
    channels: z.array(z.enum(channelNames)).optional(),
    severity_min: severity.default('info'),
    /** Replaces the policy's `patience_seconds` for what this route covers. */
    patience_seconds: patienceSeconds.optional(),
  });

/** Notices of a mute are kept, and reported when the mute ends. */
const mute = z.object({
  project_ids: z.array(z.string()).min(1).optional(),
  from: z.iso.datetime(),
  until: z.iso.datetime(),
});

/** Returns the schema of a policy whose routes may name these channels. */
export function alertPolicyFor<Name extends string>(channelNames: readonly [Name, ...Name[]]) {
  const policy = z.object({
    labels: z.record(z.string().regex(/^[\w.-]{1,60}$/), projectLabel).default({}),
    routes: z.array(routeTo(channelNames)).default([{ severity_min: 'info' }]),
    /** A channel reports nothing below its severity, whatever route leads to it. The end of a failure is not held back. */
    channels: z.partialRecord(z.enum(channelNames), z.strictObject({ severity_min: severity })).default({}),
    mutes: z.array(mute).max(100).default([]),
    /** A failure that lasts longer is reported; a shorter one stands in the hourly digest. 0 reports every failure at once. */
    patience_seconds: patienceSeconds.default(PATIENCE_SECONDS),
    /**
     * After a message, the notices of other incidents are gathered for this long, and for longer while messages keep
     * following. 0 gathers nothing.
     */
    gather_seconds: z.number().int().min(0).max(3_600).default(GATHER_SECONDS),
    /** Mails and pages show times in this zone of the IANA database. Slack shows them in that of each reader. */
    time_zone: z
      .string()
      .refine(isTimeZone, { error: 'is no time zone; take a name such as "Europe/Berlin"' })
      .default('UTC'),
    /** Further notices of one kind within this time are reported together. */
    window_seconds: z.number().int().min(10).max(3_600).default(300),
  });
  return policy.superRefine(({ routes, labels }, context) => {
    for (const [place, route] of routes.entries()) {
      for (const [position, name] of (route.labels ?? []).entries()) {
        if (Object.hasOwn(labels, name)) continue;
        const message = `is no label of this policy; ${knownLabels(Object.keys(labels))}`;
        context.addIssue({ code: 'custom', path: ['routes', place, 'labels', position], message });
      }
    }
  });
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
}

function knownLabels(names: readonly string[]): string {
  return names.length === 0 ? 'define it in "labels"' : `"labels" has ${names.join(', ')}`;
}

export type AlertPolicy = z.output<ReturnType<typeof alertPolicyFor<string>>>;
