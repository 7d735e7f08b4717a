/** Prints the first lines of a local run: what runs where. */

import type { LocalAws } from './aws/local-aws.ts';
import type { LocalApi } from './lambda/local-api.ts';
import type { Upstream } from './local-upstream.ts';
import type { StartOptions } from './start-options.ts';
import { eventHeading } from './terminal/event-line.ts';

export interface HeaderParts {
  readonly options: StartOptions;
  readonly upstream: Upstream;
  readonly aws: LocalAws;
  readonly api: LocalApi;
  readonly token: string;
  /** People can sign in at the provider with this host. */
  readonly signInHost: string | undefined;
  /** A person must read these lines. */
  readonly notes: readonly string[];
}

export function headerLines({
  options,
  upstream,
  aws,
  api,
  token,
  signInHost,
  notes,
}: HeaderParts): readonly string[] {
  const speed = options.speed === 1 ? '' : `, ${options.speed} times as fast as real time`;
  const state = options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`;
  return [
    'Operations Bridge',
    `  upstream   ${upstream.baseUrl}   ${upstream.label}${speed}`,
    `  local AWS  ${aws.endpoint}   DynamoDB, EventBridge, SQS, Secrets Manager; state ${state}`,
    `  access key ${aws.credentials.accessKeyId}   of the local AWS, for this run (AWS_ACCESS_KEY_ID); operations-bridge tokens takes --local`,
    `  aws CLI    export ${exportOf(aws.environment)}`,
    `  API        ${api.origin}   /api/v2 is the API of the upstream, /bridge/v1 is that of the bridge`,
    `  token      ${token}`,
    `  console    ${api.origin}/console   sign in with the token${signInHost === undefined ? '' : `, or at ${signInHost}`}`,
    ...(signInHost === undefined
      ? []
      : [
          `  sign-in    ${api.origin}/console/sign-in/callback   the redirect URI that the provider must know`,
        ]),
    ...(options.publicUrl === undefined
      ? []
      : [
          `  tunnel     ${options.publicUrl}   for Slack, the Request URL is ${options.publicUrl}/bridge/v1/slack/interactions`,
        ]),
    '  poller     its Lambda handler runs once a minute; Ctrl-C stops the run and prints a summary',
    ...notes,
    '',
    eventHeading(false),
  ];
}

/**
 * The variables of a shell in which the aws CLI uses this AWS. In regions that its first version knows, that version
 * sends to SQS in the cloud whatever the variables say; the local AWS takes every region.
 */
function exportOf(environment: Readonly<Record<string, string>>): string {
  const names = ['AWS_ENDPOINT_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  return [...names.map((name) => `${name}=${environment[name]}`), 'AWS_DEFAULT_REGION=local'].join(' ');
}
