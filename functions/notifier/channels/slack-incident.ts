/** Renders the message that Slack keeps of an incident, as the incident stands now, with who takes care of it. */

import { SLACK_BUTTON_REASON } from '../../../shared/alerts/channel-apps.ts';
import { isOngoing, type Operations, type Standing } from '../../../shared/alerts/incidents.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Thread } from '../deciding/incident.ts';
import { type Care, standingOf } from '../deciding/incident-record.ts';
import { worstOf } from '../deciding/policy.ts';
import { headlineOf, slackCode, VALUE_CHARACTERS_MAX } from '../deciding/text.ts';
import type { AlertLinks } from '../deciding/wording.ts';
import {
  type Buttons,
  cardBlocks,
  markdown,
  NO_BUTTONS,
  type SlackMessage,
  section,
  slackMessage,
  slackTime,
} from './slack-message.ts';

/** A reason has at most 300 characters, as the API takes it. */
const REASON_CHARACTERS_MAX = 300;

/** Returns a block for each of them, and none when no person takes care of the incident. */
function careBlocks({ acknowledged, muted }: Care): readonly object[] {
  const lines = [
    ...(acknowledged === undefined
      ? []
      : [
          `*Acknowledged* by ${nameOf(acknowledged)}, ${slackTime(acknowledged.at)}${reasonOf(acknowledged)}`,
        ]),
    ...(muted === undefined
      ? []
      : [`*Muted* until ${slackTime(muted.until)} by ${nameOf(muted)}${reasonOf(muted)}`]),
  ];
  return lines.map((line) => ({ type: 'context', elements: [markdown(line)] }));
}

function nameOf({ client_id }: { readonly client_id: string }): string {
  return slackCode(client_id, VALUE_CHARACTERS_MAX);
}

function reasonOf({ reason }: { readonly reason?: string | undefined }): string {
  if (reason === undefined || reason === SLACK_BUTTON_REASON) return '';
  return `: ${slackCode(reason, REASON_CHARACTERS_MAX)}`;
}

/** Returns how the incident of the message stands. What had ended without success before the message began does not count. */
export function standingIn(thread: Thread, operations: Operations): Standing['state'] {
  const standing = standingOf(Object.fromEntries(ownOperations(thread, operations)));
  return standing === 'unknown' ? 'failing' : standing;
}

export function renderSlackIncident(
  thread: Thread,
  operations: Operations,
  links: AlertLinks,
  buttons: Buttons = NO_BUTTONS,
): SlackMessage {
  const { first, latest = first, care = {} } = thread;
  const standing = standingIn(thread, operations);
  // While one operation goes on, the good news of another one is not how the incident stands.
  const shown = isOngoing(standing) && latest.severity === 'info' ? first : latest;
  // What goes on is said of the operation; its end is said of the time since the incident began.
  const hasRecovered = standing === 'recovered' && latest.kind === 'recovered';
  const title = hasRecovered
    ? headlineOf({ ...shown, since: first.changed_at ?? first.observed_at }, slackCode)
    : headlineOf(shown, slackCode);
  const remark = remarkOf(thread);
  const card = cardBlocks(shown, {
    title,
    links,
    lines: [...unendedBlocks(thread, operations), ...careBlocks(care)],
    buttons: buttons([standing === 'recovered' ? { ...shown, severity: 'info' } : shown], () => care),
    ...(remark !== undefined && { remark }),
  });
  const color = standing === 'recovered' ? 'info' : worstOf([first, latest]);
  return slackMessage(title, color, card);
}

function ownOperations({ first }: Thread, operations: Operations) {
  return Object.entries(operations).filter(
    ([, { state, observed_at }]) => isOngoing(state) || observed_at >= first.observed_at,
  );
}

function remarkOf({ toldCount, has_replies, isOver }: Thread): string | undefined {
  if (!has_replies) return undefined;
  return `*${counted(toldCount, 'alert')} ${isOver ? 'in all' : 'so far'}, in the thread.*`;
}

/** The message names this many operations. The console has all of them. */
const NAMED_MAX = 20;

const STATE_WORDS: Readonly<Record<Standing['state'], string>> = {
  failing: 'failing',
  stalled: 'takes too long',
  given_up: 'given up',
  recovered: 'recovered',
};

/** Names the operations that have not recovered, when they are several. The card above names one of them. */
function unendedBlocks(thread: Thread, operations: Operations): readonly object[] {
  const unended = ownOperations(thread, operations).filter(([, { state }]) => state !== 'recovered');
  if (unended.length < 2) return [];
  const named = unended
    .slice(0, NAMED_MAX)
    .map(([id, { state }]) => `${slackCode(id, 40)} ${STATE_WORDS[state]}`);
  const others = unended.length - named.length;
  const more = others === 0 ? [] : [`and ${others} more`];
  return [section(`*Operations*\n${[...named, ...more].join('\n')}`)];
}
