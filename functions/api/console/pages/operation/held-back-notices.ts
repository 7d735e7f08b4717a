/** Shows on the page of an operation that a mute or an acknowledgement holds back alerts like its own. */

import { html } from 'hono/html';
import type { Html } from '../../html/markup.ts';
import { mutesPath } from '../../html/paths.ts';
import { time } from '../../html/time/times.ts';
import type { OperationView } from './operation-view.ts';

/** A mute of the whole account shows no reason to a visitor with some projects: the list of mutes hides it, too. */
export function heldBackNotices({ record, held, seesAll, at }: OperationView): Html {
  const { action } = record;
  const { mute, acknowledged } = held ?? {};
  const isShown = mute?.project_id !== undefined || seesAll;
  return html`${mute === undefined ? '' : html`<p class="notice">Alerts about ${action} in this project are muted until ${time(mute.until, at)}${isShown ? ` by ${mute.client_id}` : ''}.${isShown ? ` The reason: ${mute.reason}` : ''} <a href="${mutesPath({})}">All mutes</a></p>`}
${acknowledged === undefined ? '' : html`<p class="notice">${acknowledged.client_id} has acknowledged the failures of ${action} in this project (${time(acknowledged.at, at)})${acknowledged.reason === undefined ? '' : `: ${acknowledged.reason}`}.</p>`}`;
}
