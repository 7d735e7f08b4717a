/** Says in a message on Slack who takes care of its incident. */

import { SLACK_BUTTON_REASON } from '../../../../shared/alerts/slack-app.ts';
import type { Care } from '../../deciding/incidents/care.ts';
import { slackCode, VALUE_CHARACTERS_MAX } from '../../wording/clean-text.ts';
import { markdown, slackTime } from './slack-blocks.ts';

/** A reason has at most 300 characters, as the API takes it. */
const REASON_CHARACTERS_MAX = 300;

/** Returns a block for each of them, and none when no person takes care of the incident. */
export function careBlocks({ acknowledged, muted }: Care): readonly object[] {
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
