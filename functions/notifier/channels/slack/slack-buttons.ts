/** Makes the buttons under an alert: Acknowledge, Mute and Open. Slack sends a press to the API. */

import { incidentIdOf, incidentOf } from '../../../../shared/alerts/incident-key.ts';
import type { SlackAction, SlackBot, SlackButtonValue } from '../../../../shared/alerts/slack-app.ts';
import type { Care } from '../../deciding/incidents/care.ts';
import type { Notice } from '../../deciding/notices/notice.ts';
import { type AlertLinks, operationUrl } from '../../wording/wording.ts';

/** Returns the block of buttons under an alert, and none when there is nothing to press. */
export type Buttons = (notice: Notice, care?: Care) => readonly object[];

export const NO_BUTTONS: Buttons = () => [];

/**
 * Returns the buttons of a bot. It has them only when Slack can sign a press, and reach the API: a bridge on this
 * machine has no address on the internet.
 */
export function buttonsFor({ signing_secret }: SlackBot, links: AlertLinks): Buttons {
  const isReachable = links.consoleBaseUrl?.startsWith('https://') ?? false;
  return signing_secret !== undefined && isReachable
    ? (notice, care = {}) => buttonsOf(notice, care, links)
    : NO_BUTTONS;
}

/** What a person has done already needs no button. */
function buttonsOf(notice: Notice, care: Care, links: AlertLinks): readonly object[] {
  const url = operationUrl(notice, links);
  const open = url === undefined ? [] : [{ ...button('open', 'Open', notice), url }];
  const elements = [
    ...(isActionable(notice) && care.acknowledged === undefined
      ? [{ ...button('acknowledge', 'Acknowledge', notice), style: 'primary' }]
      : []),
    ...(isActionable(notice) && care.muted === undefined ? [button('mute_1h', 'Mute 1 h', notice)] : []),
    ...open,
  ];
  return elements.length === 0 ? [] : [{ type: 'actions', elements }];
}

/** Good news needs no person, a channel is no incident that can be acknowledged, and a test is about nothing. */
function isActionable({ severity, channel, is_test }: Notice): boolean {
  return severity !== 'info' && channel === undefined && !is_test;
}

function button(action: SlackAction, text: string, notice: Notice): object {
  const value: SlackButtonValue = {
    account_id: notice.account_id,
    incident_id: incidentIdOf(incidentOf(notice)),
  };
  return {
    type: 'button',
    action_id: action,
    text: { type: 'plain_text', text },
    value: JSON.stringify(value),
  };
}
