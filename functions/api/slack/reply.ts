/** Renders what a person on Slack sees after pressing a button. */

import type { SlackAction } from '../../../shared/alerts/slack-app.ts';
import type { Interaction, PressedMessage } from './interaction.ts';

/** Slack takes these at the `response_url` of an interaction. */
export type Reply = Readonly<Record<string, unknown>>;

const DONE = {
  acknowledge: 'acknowledged this. Further failures of it wake no one until it ends or gets worse.',
  mute_1h: 'muted this for an hour. What happens meanwhile is reported then.',
} as const;

/** Returns the replies to a command that was carried out: the message says so in place, and its thread keeps it. */
export function doneReplies({ action, userId, message }: Interaction, nowMs: number): readonly Reply[] {
  if (action === 'open') return [];
  const seconds = Math.floor(nowMs / 1_000);
  const at = `<!date^${seconds}^{time}|${new Date(seconds * 1_000).toISOString().slice(11, 16)} UTC>`;
  const text = `<@${userId}> ${DONE[action]}`;
  const inPlace = message && { replace_original: true, ...replaced(message, action, `${at} ${text}`) };
  const inThread = { replace_original: false, response_type: 'in_channel', text, ...threadOf(message) };
  return [...(inPlace ? [inPlace] : []), inThread];
}

/** Returns the reply to a command that was refused. Only the person who pressed the button sees it. */
export function refusedReply(detail: string): Reply {
  return { replace_original: false, response_type: 'ephemeral', text: detail };
}

function threadOf(message: PressedMessage | undefined): Reply {
  return message?.ts === undefined ? {} : { thread_ts: message.ts };
}

/** Returns the message with the line under what it says, and without the button that was pressed. */
function replaced({ text = '', attachments = [] }: PressedMessage, action: SlackAction, line: string): Reply {
  const said = { type: 'context', elements: [{ type: 'mrkdwn', text: line }] };
  const [first, ...others] = attachments;
  const blocks = [...(first?.blocks ?? []).flatMap((block) => withoutButton(block, action)), said];
  // Slack returns the colour without the mark with which it takes it.
  const color = first?.color === undefined ? {} : { color: `#${first.color.replace('#', '')}` };
  return { text, attachments: [{ ...color, blocks }, ...others] };
}

type Block = NonNullable<NonNullable<PressedMessage['attachments']>[number]['blocks']>[number];

function withoutButton(block: Block, action: SlackAction): readonly Block[] {
  if (block.type !== 'actions' || block.elements === undefined) return [block];
  const elements = block.elements.filter(({ action_id }) => action_id !== action);
  return elements.length === 0 ? [] : [{ ...block, elements }];
}
