/** Reads what Slack sends when a person presses a button (Slack API documentation, "block_actions payloads"). */

import * as z from 'zod';
import {
  SLACK_ACTIONS,
  SLACK_ID,
  type SlackAction,
  type SlackButtonValue,
  slackButtonValueOf,
} from '../../../shared/alerts/slack-app.ts';

const block = z.looseObject({
  type: z.string(),
  elements: z.array(z.looseObject({ action_id: z.string().optional() })).optional(),
});

const message = z.looseObject({
  ts: z.string().optional(),
  /** The bot that posted the message belongs to this workspace. */
  team: z.string().regex(SLACK_ID).optional(),
  text: z.string().optional(),
  attachments: z
    .array(z.looseObject({ color: z.string().optional(), blocks: z.array(block).optional() }))
    .optional(),
});

const payload = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({
    id: z.string().regex(SLACK_ID),
    username: z.string().optional(),
    team_id: z.string().regex(SLACK_ID).optional(),
  }),
  team: z.looseObject({ id: z.string().regex(SLACK_ID) }).nullish(),
  actions: z
    .array(
      z.looseObject({
        action_id: z.string(),
        value: z.string().optional(),
        action_ts: z.string().optional(),
      }),
    )
    .min(1),
  response_url: z.string().optional(),
  message: message.optional(),
});

/** The message as Slack keeps it, so that it can be replaced by one that says what was done. */
export type PressedMessage = z.output<typeof message>;

export interface Interaction extends SlackButtonValue {
  readonly action: SlackAction;
  /** Slack sends the same text again when it sends the same press again, and another one for each further press. */
  readonly pressId: string | undefined;
  readonly userId: string;
  /** The person belongs to this workspace. It is undefined when Slack does not say. */
  readonly teamId: string | undefined;
  /** The app belongs to this workspace. It is undefined when Slack does not say. */
  readonly appTeamId: string | undefined;
  /** This is a name that people may share and change. It is empty when it is not a plain one. */
  readonly userName: string;
  /** The audit names the person by this: `slack:`, the workspace and the user id, which Slack gives to nobody else. */
  readonly clientId: string;
  /** What was done can be said here. It is undefined when Slack gave no address of its own. */
  readonly responseUrl: string | undefined;
  readonly message: PressedMessage | undefined;
}

/** Returns undefined for what needs no work: another kind of interaction, or a button that the bridge has not made. */
export function interactionOf(body: string): Interaction | undefined {
  const read = payload.safeParse(parseJson(new URLSearchParams(body).get('payload') ?? ''));
  const [pressed] = read.data?.actions ?? [];
  const action = SLACK_ACTIONS.find((one) => one === pressed?.action_id);
  const value = slackButtonValueOf(pressed?.value ?? '');
  if (read.data === undefined || action === undefined || value === undefined) return undefined;
  const { user, team, response_url = '', message: pressedMessage } = read.data;
  const appTeamId = pressedMessage?.team ?? team?.id;
  return {
    ...value,
    action,
    pressId: pressed?.action_ts,
    userId: user.id,
    teamId: user.team_id,
    appTeamId,
    userName: plainName(user.username),
    clientId: `slack:${user.team_id}:${user.id}`,
    responseUrl: URL.parse(response_url)?.origin === RESPONSE_ORIGIN ? response_url : undefined,
    message: pressedMessage,
  };
}

/** Nothing is sent to any other address, whatever a request says. */
const RESPONSE_ORIGIN = 'https://hooks.slack.com';

/** User names of Slack are lower-case letters, digits, dots, dashes and underscores. */
function plainName(name = ''): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '').slice(0, 60);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
