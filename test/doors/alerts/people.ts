/** Lets people do at the bridge's API what they do about alerts: mute, lift, acknowledge, withdraw, and press buttons on Slack. */

import { createHmac } from 'node:crypto';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createApiUnderTest } from '../../api/api-under-test.ts';
import { ROUTING_KEY } from '../../notifier/channels/pagerduty-stand-in.ts';
import type { MemoryTable } from '../../simulation/memory-table.ts';
import { BOT, type SlackBody } from './slack-stand-in.ts';

/** PagerDuty signs with it what its webhook sends. */
export const PAGERDUTY_WEBHOOK_SECRET = 'pagerduty-webhook-secret-of-tests';

export interface MuteAsked {
  readonly project_id?: string;
  readonly action?: string;
  readonly incident_id?: string;
  readonly minutes: number;
}

/** Without project and action it is the account itself. */
interface Place {
  readonly project?: string;
  readonly action?: string;
}

export function createPeople({ clock, memory }: { readonly clock: Clock; readonly memory: MemoryTable }) {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test',
    upstreamKey: 'a-key',
    slackSecret: JSON.stringify(BOT),
    pagerDutySecret: JSON.stringify({ routing_key: ROUTING_KEY, webhook_secret: PAGERDUTY_WEBHOOK_SECRET }),
    clock,
    memory,
    fetch: async () => new Response('ok'),
  });
  const mutes: string[] = [];

  async function ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<Readonly<Record<string, unknown>>> {
    const token = await api.issueToken({ client_id: 'marta', validForMs: 86_400_000 });
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await api.app.request(`/bridge/v1${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  async function incidentIdOf({ project, action }: Place): Promise<string> {
    const { incidents } = (await ask('GET', '/incidents')) as {
      readonly incidents: readonly Readonly<Record<string, string>>[];
    };
    const found = incidents.find((one) => one['project_id'] === project && one['action'] === action);
    if (found?.['incident_id'] === undefined)
      throw new Error(`The API shows no incident of ${action ?? 'the account'} in ${project ?? 'it'}`);
    return found['incident_id'];
  }

  return {
    incidentIdOf,

    /** Shows an incident as the API does. */
    incident: async (place: Place) => ask('GET', `/incidents/${await incidentIdOf(place)}`),

    /** Sends what PagerDuty's webhook sends, with this header of signatures, and resolves to the status of the answer. */
    async hear(body: string, signatures: string | undefined): Promise<number> {
      const response = await api.app.request('/bridge/v1/pagerduty/webhook', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(signatures !== undefined && { 'x-pagerduty-signature': signatures }),
        },
        body,
      });
      return response.status;
    },

    async mute({ minutes, ...scope }: MuteAsked): Promise<void> {
      const asked = { ...scope, duration_seconds: minutes * 60, reason: 'a migration' };
      const { mute_id } = await ask('POST', '/mutes', asked);
      mutes.push(String(mute_id));
    },

    /** Lifts the mute with this number, in the order in which they were set. */
    lift: (number: number) => ask('DELETE', `/mutes/${mutes[number - 1]}`),

    /** Lifts every mute that the API shows, whoever set it. */
    async liftAll(): Promise<void> {
      const { mutes: shown } = (await ask('GET', '/mutes')) as {
        readonly mutes: readonly { mute_id: string }[];
      };
      for (const { mute_id } of shown) await ask('DELETE', `/mutes/${mute_id}`);
    },

    acknowledge: async (place: Place, reason?: string) =>
      ask('POST', `/incidents/${await incidentIdOf(place)}/acknowledgement`, { ...(reason && { reason }) }),

    withdraw: async (place: Place) =>
      ask('DELETE', `/incidents/${await incidentIdOf(place)}/acknowledgement`),

    /** Presses a button under the message, as Slack sends a press: signed, and form-encoded. */
    async press(button: string, message: SlackBody): Promise<void> {
      const elements = (message.attachments ?? []).flatMap(({ blocks = [] }) =>
        blocks.flatMap((block) => block.elements ?? []),
      );
      const found = elements.find(({ action_id }) => action_id === button);
      if (found === undefined) throw new Error(`The message has no button ${button}`);
      const payload = {
        type: 'block_actions',
        user: { id: 'U0123456789', username: 'marta', team_id: 'T00000000' },
        team: { id: 'T00000000' },
        actions: [{ action_id: button, value: found.value, action_ts: String(clock.now()) }],
      };
      const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
      const seconds = String(Math.floor(clock.now() / 1_000));
      const signature = createHmac('sha256', BOT.signing_secret)
        .update(`v0:${seconds}:${body}`)
        .digest('hex');
      const response = await api.app.request('/bridge/v1/slack/interactions', {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-slack-request-timestamp': seconds,
          'x-slack-signature': `v0=${signature}`,
        },
        body,
      });
      if (!response.ok) throw new Error(`The press is answered with ${response.status}`);
    },
  };
}
