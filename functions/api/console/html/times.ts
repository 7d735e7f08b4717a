/** Formats times and durations for people. */

import { html } from 'hono/html';
import type { Html } from './markup.ts';

/** Shows the time in UTC. The script of the page turns it into the reader's time zone and keeps UTC as the title. */
export function time(iso: string | undefined): Html {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return html`<span class="quiet">unknown</span>`;
  return html`<time datetime="${iso}">${utc(iso)}</time>`;
}

/** Returns a time such as `2026-01-15 12:00:00 UTC`. */
export function utc(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`;
}

export function age(iso: string | undefined, nowMs: number): string {
  if (iso === undefined) return 'never';
  return `${duration(Math.max(0, nowMs - Date.parse(iso)))} ago`;
}

export function duration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${(durationMs / 1_000).toFixed(1)} s`;
  if (durationMs < 3_600_000)
    return `${Math.floor(durationMs / 60_000)} min ${Math.round((durationMs % 60_000) / 1_000)} s`;
  if (durationMs < 172_800_000)
    return `${Math.floor(durationMs / 3_600_000)} h ${Math.round((durationMs % 3_600_000) / 60_000)} min`;
  return `${Math.round(durationMs / 86_400_000)} days`;
}
