/** Makes one message of each kind from the catalog's example events, for the documentation and for tests of a channel. */

import { CHANNEL_KINDS } from '../../../functions/notifier/channels/channels.ts';
import { digestOf } from '../../../functions/notifier/deciding/messages/digest.ts';
import type { Message } from '../../../functions/notifier/deciding/messages/message-plan.ts';
import type { Notice } from '../../../functions/notifier/deciding/notices/notice.ts';
import { noticeOf } from '../../../functions/notifier/deciding/notices/notice-of-event.ts';
import type { AlertLinks } from '../../../functions/notifier/wording/wording.ts';
import * as catalog from '../../../shared/events/catalog.ts';

export interface AlertSample {
  readonly name: string;
  readonly message: Message;
}

const SAMPLE_LINKS: AlertLinks = {
  consoleBaseUrl: 'https://bridge.example.com',
  runbookUrl: 'https://bridge.example.com/runbook',
};

/** Returns the message as each channel shows it. A channel that does not get such a message is left out. */
export function samplesOf(message: Message) {
  return CHANNEL_KINDS.flatMap(({ guide }) => guide.sampleOf(message, SAMPLE_LINKS) ?? []);
}

const failed = {
  ...catalog.operationStateChanged.example,
  previous_status: 'running',
  status: 'failed',
  terminal: false,
  failures_count: 1,
  new_failures: 1,
  error: 'storage unavailable',
  command: { client_id: 'deployer', request_id: '2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10' },
};

const { detailType: stateChanged } = catalog.operationStateChanged;

export function alertSamples(): readonly AlertSample[] {
  return [
    single('failed', stateChanged, failed),
    single('escalated', stateChanged, { ...failed, failures_count: 3 }),
    single('given_up', stateChanged, { ...failed, status: 'error', terminal: true, failures_count: 4 }),
    single('attempt_failed', stateChanged, { ...failed, status: 'running', error: undefined }),
    single('recovered', stateChanged, {
      ...failed,
      status: 'finished',
      terminal: true,
      new_failures: 0,
      error: undefined,
    }),
    single('stalled', catalog.operationStalled.detailType, catalog.operationStalled.example),
    single('stall_ended', stateChanged, {
      ...catalog.operationStateChanged.example,
      ...operationOf(catalog.operationStalled.example),
      status: 'finished',
      was_stalled: true,
    }),
    single('not_retried', catalog.operationWatchEnded.detailType, catalog.operationWatchEnded.example),
    single('vanished', catalog.operationWatchEnded.detailType, {
      ...catalog.operationWatchEnded.example,
      reason: 'vanished',
      status: 'running',
    }),
    single('first_sight', catalog.accountWatched.detailType, catalog.accountWatched.example),
    single('account_degraded', catalog.accountDegraded.detailType, catalog.accountDegraded.example),
    single('account_recovered', catalog.accountRecovered.detailType, catalog.accountRecovered.example),
    { name: 'hourly_digest', message: [[hourlyDigest()]] },
    {
      name: 'digest',
      message: [Array.from({ length: 4 }, (_, index) => failure(index, 'solitary-cell-58208823'))],
    },
    {
      name: 'storm',
      message: Array.from({ length: 6 }, (_, index) => [
        { ...failure(index, `quiet-pond-1234567${index}`), alike: COMMON_CAUSE },
      ]),
    },
  ];
}

function operationOf({
  operation_id,
  project_id,
  action,
  branch_id,
}: typeof catalog.operationStalled.example) {
  return { operation_id, project_id, action, branch_id, endpoint_id: undefined };
}

function single(name: string, detailType: string, detail: object): AlertSample {
  return { name, message: [[noticeFrom(detailType, detail)]] };
}

/** Makes the digest of five operations that healed within an hour, and of what was held back in it. */
function hourlyDigest(): Notice {
  const healed = [healedAction('start_compute', 3, 4), healedAction('suspend_compute', 2, 2)];
  const sinceMs = Date.parse(failed.observed_at);
  const counted = { since_ms: sinceMs, by_action: Object.fromEntries(healed), acknowledged_count: 2 };
  const muted = ['a', 'a', 'b'].map((incident) => ({
    incident,
    stored_at_ms: sinceMs + 60_000,
    until_ms: sinceMs + 7_200_000,
  }));
  const digest = digestOf({ healed: counted, muted, lastCount: 9 }, sinceMs + 3_600_000);
  if (digest === undefined) throw new Error('A sample of the digest is not due');
  return digest;
}

function healedAction(action: string, operation_count: number, attempt_count: number) {
  return [action, { operation_count, attempt_count }] as const;
}

function failure(index: number, projectId: string): Notice {
  const operationId = `d6ad21e4-725d-493f-a495-43867ad88d0${index}`;
  const identity = { id: `sample-${index}`, project_id: projectId, operation_id: operationId };
  // A message of many alerts has no context for each of them.
  const {
    last_hour: _lastHour,
    alike: _alike,
    ...notice
  } = noticeFrom(stateChanged, {
    ...failed,
    ...identity,
  });
  return notice;
}

function noticeFrom(detailType: string, detail: object): Notice {
  const notice = noticeOf(detailType, detail);
  if (notice === undefined) throw new Error(`A sample of ${detailType} causes no alert`);
  return notice.project_id === undefined || notice.severity === 'info'
    ? notice
    : { ...USUALLY, ...(notice.kind !== 'stalled' && CONTEXT), ...notice };
}

/** The notifier adds this to a message of alerts that probably have one cause. */
const COMMON_CAUSE: Notice['alike'] = {
  project_count: 5,
  since: '2026-01-16T20:58:00.000Z',
  usual_count: 0.3,
  is_service: true,
};

/** The notifier adds this when it sends the alert. */
const CONTEXT: Pick<Notice, 'last_hour' | 'alike'> = {
  last_hour: { attempt_count: 4 },
  alike: { project_count: 12, since: '2026-01-16T20:58:00.000Z', usual_count: 2.1, is_service: true },
};

/** The notifier adds this from what operations of the action took. */
const USUALLY: Pick<Notice, 'usual_duration'> = {
  usual_duration: catalog.operationStalled.example.usual_duration,
};
