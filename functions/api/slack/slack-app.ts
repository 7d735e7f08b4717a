/** Serves what Slack sends when a person presses a button under an alert: it does what the API does for any caller. */

import { type Context, Hono } from 'hono';
import * as z from 'zod';
import { SLACK_BUTTON_REASON, type SlackBot, slackBotOf } from '../../../shared/alerts/slack-app.ts';
import type { Caller } from '../../../shared/callers/authorize.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { answerTo } from '../serving/answer-to.ts';
import { readCapped } from '../serving/body/read-capped.ts';
import { notFound, Problem } from '../serving/problem.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { type Interaction, interactionOf } from './interaction.ts';
import { doneReplies, type Reply, refusedReply } from './reply.ts';
import { isSignedBySlack } from './slack-signature.ts';

export interface SlackDeps {
  /** Resolves to the secret of the channel. It is undefined when no Slack is set up. */
  readonly slackSecret: (() => Promise<Secret>) | undefined;
  /** Calls a route of the API, which checks and audits the call. */
  readonly callRoute: (routeId: string, call: SlackCall) => Promise<ApiAnswer>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
  readonly fetch?: typeof fetch;
}

interface SlackCall {
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

async function repliesTo(deps: SlackDeps, interaction: Interaction): Promise<readonly Reply[]> {
  const answer = await callFor(deps, interaction);
  return (await isDone(deps, interaction, answer))
    ? doneReplies(interaction, deps.clock.now())
    : [refusedReply(detailOf(answer.body))];
}

/** What was given up ends when it is acknowledged, so the same press that comes again is refused, and was done before. */
async function isDone(
  { callRoute }: SlackDeps,
  { action, account_id, incident_id, clientId }: Interaction,
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

function callerOf(client_id: string, account_id: string, scope: 'alerts:mute' | 'operations:read'): Caller {
  return { client_id, account_id, scopes: new Set([scope]), projectIds: undefined };
}

function callFor({ callRoute }: SlackDeps, interaction: Interaction): Promise<ApiAnswer> {
  const { action, account_id, incident_id, clientId, userName, pressId } = interaction;
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
