/** Serves what Slack sends when a person presses a button under an alert: it does what the API does for any caller. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import * as z from 'zod';
import {
  SLACK_ACTIONS,
  SLACK_BUTTON_REASON,
  SLACK_ID,
  type SlackAction,
  type SlackBot,
  type SlackButtonValue,
  slackBotOf,
  slackButtonValueOf,
} from '../../../shared/alerts/channel-apps.ts';
import type { Caller, Scope } from '../../../shared/callers/scopes.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { notFound, Problem } from '../serving/problem.ts';
import { readCapped } from '../serving/read-request.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { answerTo } from '../serving/serve-route.ts';

export interface SlackDeps {
  /** Resolves to the secret of the channel. It is undefined when no Slack is set up. */
  readonly slackSecret: (() => Promise<Secret>) | undefined;
  /** Calls a route of the API, which checks and audits the call. */
  readonly callRoute: CallRoute;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
  readonly fetch?: typeof fetch;
}

export type CallRoute = (routeId: string, call: RouteCall) => Promise<ApiAnswer>;

interface RouteCall {
  readonly caller: Caller;
  readonly ids: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly idempotencyKey?: string;
}

/** A message of an alert has at most 50 kB of blocks, which the payload repeats, form-encoded. */
const BODY_BYTES_MAX = 300_000;

/** Slack shows an error to the person after 3 s. */
const REPLY_MS_MAX = 1_000;

/** Returns the app, which must be mounted at `/bridge/v1/slack`. Slack calls `/interactions` under it. */
export function createSlackApp(deps: SlackDeps): Hono {
  const app = new Hono();
  app.post('/interactions', async (c) => {
    const { status, headers, body } = await answerTo(deps, deps.newId(), () => interact(deps, c));
    const text = body === undefined ? null : JSON.stringify(body);
    return new Response(text, { status, ...(headers && { headers: { ...headers } }) });
  });
  return app;
}

async function interact(deps: SlackDeps, c: Context): Promise<ApiAnswer> {
  const { body, bot } = await signedBody(deps, c);
  const interaction = interactionOf(body);
  if (interaction !== undefined && interaction.action !== 'open') await carryOut(deps, interaction, bot);
  // Slack takes an empty answer for "understood", and shows nothing.
  return { status: 200 };
}

/** Rejects with `Problem` when Slack is not set up, or did not send this. */
async function signedBody(
  { slackSecret, clock, telemetry }: SlackDeps,
  c: Context,
): Promise<{ readonly body: string; readonly bot: SlackBot }> {
  const [timestamp, signature] = [
    c.req.header('x-slack-request-timestamp'),
    c.req.header('x-slack-signature'),
  ];
  if (slackSecret === undefined) throw notFound();
  if (timestamp === undefined || signature === undefined) throw notSigned();
  const bot = slackBotOf((await slackSecret()).reveal());
  if (bot?.signing_secret === undefined) throw notFound();
  const bytes = await readCapped(c.req.raw, BODY_BYTES_MAX);
  if (bytes.length > BODY_BYTES_MAX)
    throw new Problem('body-too-large', { detail: 'Slack sends less than this.' });
  const body = Buffer.from(bytes).toString();
  if (isSignedBySlack({ timestamp, signature, body }, bot.signing_secret, clock.now())) return { body, bot };
  telemetry.log('warn', 'slack.refused', { reason: 'signature' });
  throw notSigned();
}

function notSigned(): Problem {
  return new Problem('unauthenticated', {
    detail: 'Slack did not sign this request within the last five minutes.',
  });
}

async function carryOut(deps: SlackDeps, interaction: Interaction, bot: SlackBot): Promise<void> {
  const replies = isOfTeam(interaction, bot)
    ? await repliesTo(deps, interaction)
    : [refusedReply(OTHER_TEAM)];
  const { responseUrl } = interaction;
  if (responseUrl !== undefined)
    await Promise.all(replies.map((reply) => sendReply(deps, responseUrl, reply)));
}

const OTHER_TEAM =
  'Only people of the workspace of this app may do this. Ask the operators of the bridge to add your workspace to team_ids in the secret of the Slack channel.';

/** In a shared channel people of other workspaces see the buttons, too. A person without a known workspace has none. */
function isOfTeam({ teamId, appTeamId }: Interaction, { team_ids }: SlackBot): boolean {
  return teamId !== undefined && (teamId === appTeamId || team_ids.includes(teamId));
}

/** The caller who asked may be a person on Slack, too, whom the route refuses. */
async function decideFor(
  { callRoute, clock }: SlackDeps,
  interaction: Interaction & { readonly approval_id: string },
): Promise<readonly Reply[]> {
  const { action, account_id, approval_id, clientId } = interaction;
  const caller = callerOf(clientId, account_id, 'commands:approve');
  const answer = await callRoute('decideApproval', {
    caller,
    ids: { approval_id },
    body: { decision: action === 'approve' ? 'approve' : 'deny' },
  });
  return answer.status === 200
    ? doneReplies(interaction, clock.now())
    : [refusedReply(detailOf(answer.body))];
}

/** Of several incidents, one that could be acknowledged or muted is enough: the others have ended meanwhile. */
async function repliesTo(deps: SlackDeps, interaction: Interaction): Promise<readonly Reply[]> {
  const { action, approval_id } = interaction;
  const decides = action === 'approve' || action === 'deny';
  if (decides !== (approval_id !== undefined)) return [];
  if (approval_id !== undefined) return decideFor(deps, { ...interaction, approval_id });
  let detail = 'The bridge could not do this.';
  let doneCount = 0;
  await forEachConcurrently(interaction.incident_ids, AT_ONCE, async (incident_id) => {
    const answer = await callFor(deps, interaction, incident_id);
    if (await isDone(deps, { ...interaction, incident_id }, answer)) doneCount += 1;
    else detail = detailOf(answer.body);
  });
  return doneCount > 0 ? doneReplies(interaction, deps.clock.now()) : [refusedReply(detail)];
}

/** Of a message about many incidents, this number is acknowledged or muted at once. */
const AT_ONCE = 10;

/** What was given up ends when it is acknowledged, so the same press that comes again is refused, and was done before. */
async function isDone(
  { callRoute }: SlackDeps,
  { action, account_id, incident_id, clientId }: Interaction & { readonly incident_id: string },
  { status }: ApiAnswer,
): Promise<boolean> {
  if (status !== 409 || action !== 'acknowledge') return status >= 200 && status <= 299;
  const caller = callerOf(clientId, account_id, 'operations:read');
  const found = await callRoute('getIncident', { caller, ids: { incident_id }, body: {} });
  const { acknowledged, state } = acknowledgedIncident.safeParse(parsedBody(found.body)).data ?? {};
  return state === 'given_up' && acknowledged?.client_id === clientId;
}

const acknowledgedIncident = z.looseObject({
  state: z.string(),
  acknowledged: z.looseObject({ client_id: z.string() }).optional(),
});

function callerOf(client_id: string, account_id: string, scope: Scope): Caller {
  return { client_id, account_id, scopes: new Set([scope]), projectIds: undefined };
}

function callFor(
  { callRoute }: SlackDeps,
  interaction: Interaction,
  incident_id: string,
): Promise<ApiAnswer> {
  const { action, account_id, clientId, userName, pressId } = interaction;
  const caller = callerOf(clientId, account_id, 'alerts:mute');
  const reason = userName === '' ? SLACK_BUTTON_REASON : `${SLACK_BUTTON_REASON}, pressed by ${userName}`;
  return action === 'acknowledge'
    ? callRoute('acknowledgeIncident', { caller, ids: { incident_id }, body: { reason } })
    : callRoute('muteAlerts', {
        caller,
        ids: {},
        body: { incident_id, duration_seconds: 3_600, reason },
        ...(pressId && { idempotencyKey: `${incident_id} ${pressId}` }),
      });
}

const problem = z.looseObject({ detail: z.string() });

/** The body of a refusal is a problem document, as its text. */
function detailOf(body: unknown): string {
  const read = problem.safeParse(parsedBody(body));
  return read.data?.detail ?? 'The bridge could not do this.';
}

function parsedBody(body: unknown): unknown {
  return typeof body === 'string' ? JSON.parse(body) : body;
}

/** What was asked for is done by now. If Slack does not take the reply, only the message looks out of date. */
async function sendReply(
  { fetch: send = fetch, telemetry }: SlackDeps,
  url: string,
  reply: Reply,
): Promise<void> {
  try {
    const response = await send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(reply),
      signal: AbortSignal.timeout(REPLY_MS_MAX),
      redirect: 'error',
    });
    await response.body?.cancel();
    if (!response.ok) telemetry.log('warn', 'slack.reply_refused', { reason: String(response.status) });
  } catch (error) {
    telemetry.log('warn', 'slack.reply_refused', { reason: toError(error).name });
  }
}

/** Slack asks to refuse what is older, because a copy of an old request could be sent again. */
const AGE_MS_MAX = 5 * 60_000;

interface SignedRequest {
  /** The header `X-Slack-Request-Timestamp` has seconds since the Unix epoch. */
  readonly timestamp: string | undefined;
  /** The header `X-Slack-Signature` has `v0=` and the hexadecimal HMAC-SHA256 of `v0:timestamp:body`. */
  readonly signature: string | undefined;
  readonly body: string;
}

/** Compares in a time that does not depend on where the signatures differ. */
function isSignedBySlack(
  { timestamp = '', signature = '', body }: SignedRequest,
  signingSecret: string,
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > AGE_MS_MAX) return false;
  const expected = Buffer.from(
    `v0=${createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')}`,
  );
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const blockSchema = z.looseObject({
  type: z.string(),
  elements: z.array(z.looseObject({ action_id: z.string().optional() })).optional(),
});

const messageSchema = z.looseObject({
  ts: z.string().optional(),
  /** The bot that posted the message belongs to this workspace. */
  team: z.string().regex(SLACK_ID).optional(),
  text: z.string().optional(),
  attachments: z
    .array(z.looseObject({ color: z.string().optional(), blocks: z.array(blockSchema).optional() }))
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
  message: messageSchema.optional(),
});

/** The message as Slack keeps it, so that it can be replaced by one that says what was done. */
type PressedMessage = z.output<typeof messageSchema>;

interface Interaction extends SlackButtonValue {
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
function interactionOf(body: string): Interaction | undefined {
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

/** Slack takes these at the `response_url` of an interaction. */
type Reply = Readonly<Record<string, unknown>>;

const DONE = {
  acknowledge: 'acknowledged this. Further failures of it wake no one until it ends or gets worse.',
  mute_1h: 'muted this for an hour. What happens meanwhile is reported then.',
  approve: 'approved this. It is sent in its turn.',
  deny: 'denied this. Nothing is done.',
} as const;

/** Returns the replies to a command that was carried out: the message says so in place, and its thread keeps it. */
function doneReplies({ action, userId, message }: Interaction, nowMs: number): readonly Reply[] {
  if (action === 'open') return [];
  const seconds = Math.floor(nowMs / 1_000);
  const at = `<!date^${seconds}^{time}|${new Date(seconds * 1_000).toISOString().slice(11, 16)} UTC>`;
  const text = `<@${userId}> ${DONE[action]}`;
  const inPlace = message && { replace_original: true, ...replaced(message, action, `${at} ${text}`) };
  const inThread = { replace_original: false, response_type: 'in_channel', text, ...threadOf(message) };
  // The notifier answers in the thread when it hears of a decision, wherever that was made.
  const isTold = DECISIONS.includes(action);
  return [...(inPlace ? [inPlace] : []), ...(isTold ? [] : [inThread])];
}

/** Returns the reply to a command that was refused. Only the person who pressed the button sees it. */
function refusedReply(detail: string): Reply {
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

/** After one of them the other has no meaning. */
const DECISIONS: readonly SlackAction[] = ['approve', 'deny'];

type Block = NonNullable<NonNullable<PressedMessage['attachments']>[number]['blocks']>[number];

function withoutButton(block: Block, action: SlackAction): readonly Block[] {
  if (block.type !== 'actions' || block.elements === undefined) return [block];
  const gone: readonly SlackAction[] = DECISIONS.includes(action) ? DECISIONS : [action];
  const elements = block.elements.filter(({ action_id }) => !gone.some((one) => one === action_id));
  return elements.length === 0 ? [] : [{ ...block, elements }];
}
