/** Lets a visitor choose the time zone of all pages. The form works without script. */

import { html } from 'hono/html';
import { ZONES, zoneOf } from '../html/time/time-zone.ts';
import { isOwnPath } from '../session/browser-form.ts';
import type { BuildPage } from './page.ts';

export const buildTimeZone: BuildPage = async (c) => {
  const asked = c.req.query('next') ?? '';
  const next = new URL(isOwnPath(asked) ? asked : '/console', 'https://console.invalid');
  const kept = [...next.searchParams].filter(([name]) => name !== 'tz');
  const zone = zoneOf(c);
  const content = html`<h1>Time zone</h1>
<p>All times and the axes of all charts are shown in this zone. This browser keeps the choice for a year.</p>
<form class="filter" action="${next.pathname}">
${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div><label for="tz">Zone</label><select id="tz" name="tz">${ZONES.map((each) => html`<option value="${each}"${each === zone ? html` selected` : ''}>${each}</option>`)}</select></div>
<button class="do">Use this zone</button> <button type="submit" data-own-zone hidden></button></form>`;
  return { title: 'Time zone', content };
};
