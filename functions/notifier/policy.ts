/** Who hears of a notice, and until when it is kept back: the configured part of the policy. */

import type { Notice } from '../../shared/alerts/notice.ts';
import type { AlertPolicy } from '../../shared/config/notifier-config.ts';
import { isAtLeast } from './channels/wording.ts';

export type ChannelName = AlertPolicy['routes'][number]['channels'][number];

export interface Routed {
  readonly channels: readonly ChannelName[];
  /** No route is about it, although everybody has to know: it goes everywhere. */
  readonly isDefault: boolean;
}

const EVERYWHERE: readonly ChannelName[] = ['slack', 'email'];

/** The first route that fits decides; a notice below its severity goes nowhere, as configured. */
export function routeOf(notice: Notice, { routes }: AlertPolicy): Routed {
  const route = routes.find(({ project_ids }) => fits(project_ids, notice.project_id));
  // Routes of projects choose among projects. They say nothing about an account or a channel.
  if (route === undefined && notice.project_id === undefined)
    return { channels: EVERYWHERE, isDefault: true };
  const isWanted = route !== undefined && isAtLeast(notice.severity, route.severity_min);
  return { channels: isWanted ? route.channels : [], isDefault: false };
}

/** When the last mute that covers the project now ends; 0 when none does. A notice about a channel is never muted. */
export function mutedUntilMs(
  { kind, project_id }: Pick<Notice, 'kind' | 'project_id'>,
  { mutes }: AlertPolicy,
  nowMs: number,
): number {
  if (kind === 'channel_deaf' || kind === 'channel_back') return 0;
  const ends = mutes
    .filter(({ project_ids, from }) => fits(project_ids, project_id) && Date.parse(from) <= nowMs)
    .map(({ until }) => Date.parse(until))
    .filter((untilMs) => untilMs > nowMs);
  return Math.max(0, ...ends);
}

/** Whether a mute that is over kept back what came in at that time. */
export function wasMuted(
  { kind, project_id }: Pick<Notice, 'kind' | 'project_id'>,
  policy: AlertPolicy,
  storedAtMs: number,
): boolean {
  return mutedUntilMs({ kind, ...(project_id !== undefined && { project_id }) }, policy, storedAtMs) > 0;
}

function fits(projectIds: readonly string[] | undefined, projectId: string | undefined): boolean {
  return projectIds === undefined || (projectId !== undefined && projectIds.includes(projectId));
}
