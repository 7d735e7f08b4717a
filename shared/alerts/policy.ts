/** Who hears of a notice, and until when it is kept back: the configured part of the policy. */

import type { AlertPolicy } from '../config/notifier-config.ts';
import type { Notice } from './notice.ts';
import { isAtLeast } from './wording.ts';

export type ChannelName = AlertPolicy['routes'][number]['channels'][number];

/** The first route that fits decides; a notice below its severity goes nowhere, as configured. */
export function channelsFor(notice: Notice, { routes }: AlertPolicy): readonly ChannelName[] {
  const route = routes.find(({ project_ids }) => fits(project_ids, notice));
  return route !== undefined && isAtLeast(notice.severity, route.severity_min) ? route.channels : [];
}

/** When the last mute that covers it now ends; 0 when none does. */
export function mutedUntilMs(notice: Notice, { mutes }: AlertPolicy, nowMs: number): number {
  const ends = mutes
    .filter(({ project_ids, from }) => fits(project_ids, notice) && Date.parse(from) <= nowMs)
    .map(({ until }) => Date.parse(until))
    .filter((untilMs) => untilMs > nowMs);
  return Math.max(0, ...ends);
}

function fits(projectIds: readonly string[] | undefined, { project_id }: Notice): boolean {
  return projectIds === undefined || (project_id !== undefined && projectIds.includes(project_id));
}
