/** Decides which channels report a notice. */

import type { Notice, NoticeKind, Severity } from '../notices/notice.ts';
import { isAtLeast } from '../notices/severity.ts';
import type { AlertPolicy } from './alert-policy.ts';
import { isAbout } from './route-scope.ts';

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

/** Returns whether the channel reports the notice, whatever route leads to it. */
export function isWantedBy(
  channel: string,
  notice: Pick<Notice, 'kind' | 'severity'>,
  { channels }: Pick<AlertPolicy, 'channels'>,
): boolean {
  return isSevereEnough(notice, channels[channel]?.severity_min ?? 'info');
}

/** Returns whether the channel gets the digest. One to which every route leads only what is more severe gets none. */
export function reportsDigests(channel: string, policy: Pick<AlertPolicy, 'routes' | 'channels'>): boolean {
  const own = policy.routes.filter(({ channels }) => channels?.includes(channel) ?? true);
  const isRouted = own.length === 0 || own.some(({ severity_min }) => severity_min === 'info');
  return isRouted && isWantedBy(channel, { kind: 'digest', severity: 'info' }, policy);
}

const ENDS: ReadonlySet<NoticeKind> = new Set([
  'recovered',
  'cancelled',
  'stall_ended',
  'account_recovered',
  'channel_back',
]);

/** The end of a failure goes wherever the failure went: it is good news of low severity, and closes what is open. */
function isSevereEnough({ kind, severity }: Pick<Notice, 'kind' | 'severity'>, least: Severity): boolean {
  return ENDS.has(kind) || isAtLeast(severity, least);
}
