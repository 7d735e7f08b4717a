/** Defines what the notifier and the API share of a Slack app: its secret, and the buttons under its messages. */

import * as z from 'zod';

/** Slack's ids of people and of workspaces have this form. */
export const SLACK_ID = /^[A-Z0-9]{2,30}$/;

const slackBot = z.strictObject({
  token: z.string().min(10),
  channel: z.string().min(3).max(80),
  /** Slack signs with it what it sends when a button is pressed. Without it messages have no buttons. */
  signing_secret: z.string().min(16).max(200).optional(),
  /** People of these further workspaces may press the buttons, for example in a shared channel. */
  team_ids: z.array(z.string().regex(SLACK_ID)).max(20).default([]),
});

export type SlackBot = z.output<typeof slackBot>;

/** Returns the bot of JSON such as `{"token": "xoxb-...", "channel": "C0123456789"}`, and undefined for any other text. */
export function slackBotOf(text: string): SlackBot | undefined {
  try {
    return slackBot.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** These are the `action_id` of the buttons. A button that opens a page is announced as well, and needs no work. */
export const SLACK_ACTIONS = ['acknowledge', 'mute_1h', 'approve', 'deny', 'open'] as const;

export type SlackAction = (typeof SLACK_ACTIONS)[number];

/** A mute or an acknowledgement by a button has this reason. */
export const SLACK_BUTTON_REASON = 'a button on Slack';

/** Slack takes 2,000 characters as the value of a button. Further incidents of a message are left to the console. */
export const BUTTON_INCIDENTS_MAX = 50;

const incidentId = z.string().regex(/^[0-9a-f]{32}$/);

/** A button has this as its `value`: it names the incidents that it is about, or the call that waits for a person. Those of older messages name one. */
const buttonValue = z
  .object({
    account_id: z.string().min(1),
    incident_id: incidentId.optional(),
    incident_ids: z.array(incidentId).max(BUTTON_INCIDENTS_MAX).default([]),
    approval_id: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .optional(),
  })
  .transform(({ account_id, approval_id, incident_id, incident_ids }) => ({
    account_id,
    approval_id,
    incident_ids: incident_id === undefined ? incident_ids : [incident_id],
  }))
  .refine(({ incident_ids, approval_id }) => incident_ids.length > 0 || approval_id !== undefined);

export type SlackButtonValue = z.output<typeof buttonValue>;

/** Returns undefined for a value that no message of the bridge has. */
export function slackButtonValueOf(text: string): SlackButtonValue | undefined {
  try {
    return buttonValue.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
