/** Examines an incoming webhook of Slack without posting a message. */

import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { within } from '../../process/deadline.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { guarded } from './aws-error.ts';
import { type Finding, notChecked, ok, problem } from './finding.ts';

const TIMEOUT_MS = 10_000;

const SLACK_ORIGIN = 'https://hooks.slack.com';

/** The notifier sends to no other origin. A server of this machine is for trials. */
function isOfSlack({ origin, hostname }: URL): boolean {
  return origin === SLACK_ORIGIN || hostname === '127.0.0.1';
}

/** Reads the secret with the operator's credentials. Never rejects because of what it finds, and never shows the address. */
export function examineWebhook(
  secrets: Pick<SecretsManagerClient, 'send'>,
  secretId: string,
  surroundings: Surroundings,
): Promise<Finding> {
  const check = `webhook in ${secretId}`;
  return guarded(check, async () => {
    const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
    const url = URL.parse(SecretString.trim());
    if (url === null || !isOfSlack(url))
      return problem(
        check,
        `The secret is not the address of a webhook at ${SLACK_ORIGIN}.`,
        'Put the address of the webhook into the secret. The token of a bot is not tried here.',
      );
    const answer = await postNothing(url, surroundings);
    return answer === undefined
      ? notChecked(check, 'Slack did not answer.', 'Check the network, and try again.')
      : judgeWebhook(check, answer);
  });
}

/** Slack refuses a message without text before it posts anything, and a revoked webhook before that. */
async function postNothing(
  url: URL,
  { clock, signal }: Surroundings,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    return await within(TIMEOUT_MS, { clock, signal }, async (inTime) => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
        redirect: 'error',
        signal: inTime,
      });
      return { status: answer.status, text: (await answer.text()).trim() };
    });
  } catch {
    return undefined;
  }
}

/** Slack API, "Sending messages using incoming webhooks", "Handling errors". */
const REFUSES_EMPTY = ['no_text', 'invalid_payload'];

function judgeWebhook(
  check: string,
  { status, text }: { readonly status: number; readonly text: string },
): Finding {
  if (status === 400 && REFUSES_EMPTY.includes(text)) return ok(check, 'Slack knows the webhook.');
  if (status === 403 || status === 404 || status === 410)
    return problem(
      check,
      `Slack answered ${status} ${/^[a-z_]{1,40}$/.test(text) ? text : ''}`.trim().concat('.'),
      'The webhook was revoked, or its channel is gone: create another one, and put it into the secret.',
    );
  return notChecked(check, `Slack answered ${status}.`, 'Try again in some minutes.');
}
