/**
 * Defines every event that this bridge publishes. Details evolve only by addition; a breaking change is a new
 * `schema` version.
 */

import * as z from 'zod';
import { command, common, defineEvent, openSet, operations } from './define-event.ts';
import { branchFailed, branchReady, computeStateChanged } from './derived-events.ts';
import { DETAIL_TYPES } from './event-names.ts';

export { computeStateChanged };

const operationIdentity = {
  project_id: z.string(),
  operation_id: z.string(),
  action: z.string().describe('The set is open: new actions can appear without notice.'),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional().describe('Absent on operations that are not tied to a compute.'),
};

export const operationStateChanged = defineEvent({
  detailType: DETAIL_TYPES.state_changed,
  summary:
    'The status or the failure count of an operation changed, or the operation was seen for the first time.',
  detail: z.object({
    ...common,
    ...operationIdentity,
    sequence: z.number().int().positive().describe('1, 2, 3, ... per operation, without gaps.'),
    previous_status: z
      .string()
      .nullable()
      .describe('The status before this change; null when the operation is seen for the first time.'),
    status: z.string().describe('The set is open: treat an unknown status as not terminal.'),
    terminal: z
      .boolean()
      .describe('True for finished, skipped, cancelled and error. A failed operation can still be retried.'),
    failures_count: z.number().int().nonnegative(),
    new_failures: z
      .number()
      .int()
      .nonnegative()
      .describe(
        'Failed attempts since the previous event, including those that began and ended between two reads.',
      ),
    error: z.string().optional().describe("The upstream's error text, when it gives one."),
    operation_created_at: z.string().describe('As the upstream gives it, in whole seconds.'),
    operation_updated_at: z.string().describe('As the upstream gives it, in whole seconds.'),
    total_duration_ms: z.number().optional(),
    observed_by: openSet(['poll', 'command', 'backfill', 'sweep']),
    late: z
      .literal(true)
      .optional()
      .describe('The operation was found in a part of the list that an earlier walk had read completely.'),
    irregular: z
      .literal(true)
      .optional()
      .describe(
        'The two states contradict each other: the operation left a terminal status, or has fewer failures than before.',
      ),
    was_stalled: z
      .literal(true)
      .optional()
      .describe(
        'The operation has ended with this change, and Operation Stalled was published of it before.',
      ),
    command: command.optional(),
  }),
  example: {
    schema: 1,
    id: '5f0c7d1f2be94f3aa6a1c9b1f7a0e3d2',
    account_id: 'main',
    observed_at: '2026-01-16T21:02:09.412Z',
    project_id: 'solitary-cell-58208823',
    operation_id: 'd6ad21e4-725d-493f-a495-43867ad88d09',
    action: 'start_compute',
    branch_id: 'br-yellow-dawn-a5qftt8g',
    endpoint_id: 'ep-lingering-surf-a5926aiu',
    sequence: 2,
    previous_status: 'scheduling',
    status: 'finished',
    terminal: true,
    failures_count: 0,
    new_failures: 0,
    operation_created_at: '2026-01-16T21:02:04Z',
    operation_updated_at: '2026-01-16T21:02:08Z',
    total_duration_ms: 4843,
    observed_by: 'poll',
  },
});

export const operationStalled = defineEvent({
  detailType: DETAIL_TYPES.operation_stalled,
  summary:
    'An operation has been open for longer than its action usually takes. It is published once per operation and threshold, and once per operation when the threshold comes from what is usual.',
  detail: z.object({
    ...common,
    ...operationIdentity,
    status: z.string().describe('The last status that was seen; it is never terminal.'),
    failures_count: z.number().int().nonnegative(),
    open_ms: z.number().nonnegative().describe('Milliseconds since the upstream created the operation.'),
    threshold_ms: z
      .number()
      .positive()
      .describe('The threshold, in milliseconds, that the operation has passed.'),
    usual_duration: z
      .object({
        basis: openSet(['project', 'account']).describe(
          'project: operations of the same project say it. account: those of all projects, because the project had too few of the action.',
        ),
        operation_count: z.number().int().positive().describe('It rests on this many operations.'),
        p50_ms: z.number().nonnegative(),
        p95_ms: z.number().nonnegative(),
        p99_ms: z.number().nonnegative(),
      })
      .optional()
      .describe(
        'How long operations of the action took that ended within seven days: half of them at most p50_ms, 95 of 100 p95_ms, 99 of 100 p99_ms. The threshold is three times p99_ms, and at least five minutes. Absent when the configuration fixes the threshold, and when fewer than 20 operations have ended.',
      ),
    operation_created_at: z.string().describe('As the upstream gives it, in whole seconds.'),
    command: command.optional(),
  }),
  example: {
    schema: 1,
    id: '77b1f0a3d9c24c3e8a51f2c6b4e0d913',
    account_id: 'main',
    observed_at: '2026-01-16T21:07:09.412Z',
    project_id: 'solitary-cell-58208823',
    operation_id: '7c1d0d0f-7c7b-4c7e-8b7a-0a9de7f6c0aa',
    action: 'create_branch',
    branch_id: 'br-yellow-dawn-a5qftt8g',
    status: 'running',
    failures_count: 0,
    open_ms: 305_412,
    threshold_ms: 300_000,
    usual_duration: { basis: 'account', operation_count: 312, p50_ms: 1_212, p95_ms: 4_870, p99_ms: 9_402 },
    operation_created_at: '2026-01-16T21:02:04Z',
  },
});

export const commandSettled = defineEvent({
  detailType: DETAIL_TYPES.command_settled,
  summary:
    'A command through the bridge has come to its end: every operation that it started has ended, it started none, the deadline for them has passed, or the command left its line without being carried out.',
  detail: z.object({
    ...common,
    project_id: z.string(),
    command,
    call: z.string().describe('The call of the upstream API, by its name in the API documentation.'),
    outcome: openSet([
      'succeeded',
      'failed',
      'incomplete',
      'refused',
      'expired',
      'cancelled',
      'denied',
      'unknown',
    ]).describe(
      'succeeded: all operations finished or were skipped. failed: all operations ended, and at least one ended otherwise; or the bridge could not work on a command that waited in line. incomplete: the deadline for the operations passed first. The others are ends of commands that waited in line. refused: the upstream refused the command. expired: its own deadline passed before it could be sent, or nobody decided within 24 hours whether to approve it. cancelled: a caller withdrew it before it was sent. denied: it needed the approval of a person, who said no. unknown: it was sent, and no answer says whether it was carried out; it is never sent again.',
    ),
    operations: operations.describe('The recorded operations of the command, with their last status.'),
    missing: z.array(z.string()).describe('Ids of the operations that had not ended at the deadline.'),
  }),
  example: {
    schema: 1,
    id: 'c4b1f7b8e2f54a16a5b1d2d2bb0d3f58',
    account_id: 'main',
    observed_at: '2026-01-16T21:02:09.412Z',
    project_id: 'solitary-cell-58208823',
    command: { client_id: 'deployer', request_id: '2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10' },
    call: 'restartEndpoint',
    outcome: 'succeeded',
    operations: [
      {
        operation_id: 'd6ad21e4-725d-493f-a495-43867ad88d09',
        action: 'start_compute',
        status: 'finished',
        failures_count: 0,
      },
    ],
    missing: [],
  },
});

export const operationWatchEnded = defineEvent({
  detailType: DETAIL_TYPES.watch_ended,
  summary: 'The bridge stopped watching an operation that never reached a terminal status.',
  detail: z.object({
    ...common,
    ...operationIdentity,
    reason: openSet(['vanished', 'not_retried', 'project_gone']).describe(
      'vanished: the upstream no longer has the operation, which was open. not_retried: it failed and was not retried within 30 days. project_gone: it was open when its project went out of sight, a day ago or longer.',
    ),
    status: z.string().describe('The last status that was seen.'),
    failures_count: z.number().int().nonnegative(),
  }),
  example: {
    schema: 1,
    id: '0d8e4ad8a8c0f4b1c3b9f1f2cc17be05',
    account_id: 'main',
    observed_at: '2026-02-15T21:02:09.412Z',
    project_id: 'solitary-cell-58208823',
    operation_id: '69de6dd4-597f-404f-a095-c96702407d7b',
    action: 'apply_config',
    reason: 'not_retried',
    status: 'failed',
    failures_count: 3,
  },
});

const projectDetail = z.object({ ...common, project_id: z.string() });
const projectExample = {
  schema: 1 as const,
  id: '9a3c0d0a6be1c8a9d9e2bb64a6a8a001',
  account_id: 'main',
  observed_at: '2026-01-16T21:02:09.412Z',
  project_id: 'solitary-cell-58208823',
};

const projectDiscovered = defineEvent({
  detailType: DETAIL_TYPES.project_discovered,
  summary:
    'A project became visible to the account after the bridge had first listed its projects, or it can be read again after it was unreachable.',
  detail: projectDetail,
  example: projectExample,
});

const projectUnreachable = defineEvent({
  detailType: DETAIL_TYPES.project_unreachable,
  summary:
    'A project is deleted or no longer visible, or it could not be read for ten minutes while the rest of the account could. In the latter case polling continues, and Project Discovered follows when the project can be read again.',
  detail: projectDetail.extend({
    reason: openSet(['gone', 'not_read'])
      .optional()
      .describe(
        'gone: its operations answer 404 and a complete listing lacks it. not_read: it exists, but its operations could not be read. Events of the first version have no reason and mean gone.',
      ),
  }),
  example: { ...projectExample, reason: 'gone' as const },
});

export const projectTransferred = defineEvent({
  detailType: DETAIL_TYPES.project_transferred,
  summary:
    'A project has moved from one account to another, and this bridge watches both. Its operations go on with their sequences under the new account, and neither Project Unreachable nor Project Discovered is published of the move. Project Unreachable comes before it when the new account shows the project only some minutes after the old one has lost it.',
  detail: projectDetail.extend({
    from_account_id: z.string().describe('The account that had the project before.'),
    to_account_id: z.string().describe('The account that has it since, which is also `account_id`.'),
  }),
  example: { ...projectExample, from_account_id: 'customers-free', to_account_id: 'main' },
});

export const projectUsageCrossed = defineEvent({
  detailType: DETAIL_TYPES.usage_crossed,
  summary:
    'What a project has used in its billing period, or all projects of the account together, has reached a share of its limit. It is published once for each limit, threshold and period. When one reading has passed several thresholds, there is one event, for the highest of them.',
  detail: z.object({
    ...common,
    project_id: z.string().optional().describe('Absent when the event is about all projects together.'),
    scope: openSet(['project', 'account']),
    metric: openSet(['active_time_seconds', 'compute_time_seconds']).describe(
      'active_time_seconds: how long computes were active. compute_time_seconds: the same times the size of the compute, in compute units.',
    ),
    used: z.number().nonnegative().describe('So many seconds were used in the period.'),
    limit: z.number().positive().describe('The limit of the metric, in seconds.'),
    limit_from: openSet(['quota', 'configuration']).describe(
      'quota: the quota of the project, at which the upstream suspends its computes until the period ends. configuration: a limit of this bridge, at which nothing is suspended.',
    ),
    percent: z
      .number()
      .nonnegative()
      .describe('The share of the limit that was used, cut to a whole number.'),
    threshold_percent: z.number().positive().describe('The highest threshold that was reached.'),
    resets_at: z.iso
      .datetime()
      .describe('The period ends then, and what was used counts from 0 again. It names the period.'),
  }),
  example: {
    schema: 1,
    id: '4b8f1c7a90d34e1fb2a6c3d5e7f80912',
    account_id: 'main',
    observed_at: '2026-01-16T21:02:09.412Z',
    project_id: 'solitary-cell-58208823',
    scope: 'project',
    metric: 'compute_time_seconds',
    used: 324_180,
    limit: 360_000,
    limit_from: 'quota',
    percent: 90,
    threshold_percent: 90,
    resets_at: '2026-02-01T00:00:00.000Z',
  },
});

export const accountWatched = defineEvent({
  detailType: DETAIL_TYPES.account_watched,
  summary:
    'Every project of the account was read for the first time, so from now on its events are on time. It is published once for each account.',
  detail: z.object({
    ...common,
    project_count: z.number().int().nonnegative().describe('The account has this many visible projects.'),
    failing_count: z
      .number()
      .int()
      .nonnegative()
      .describe(
        'This many operations had failed then and had not ended. They began before the bridge watched.',
      ),
  }),
  example: {
    schema: 1,
    id: '5f0c6f1e1d9b4a7f8a1f3f1f0c9f7a02',
    account_id: 'main',
    observed_at: '2026-01-16T21:02:09.412Z',
    project_count: 25,
    failing_count: 3,
  },
});

const healthDetail = z.object({
  ...common,
  reason: openSet(['key_rejected', 'upstream_failing']).describe(
    'key_rejected: the upstream answers 401, also after a fresh read of the key. upstream_failing: no call has succeeded for minutes.',
  ),
});
const healthExample = {
  schema: 1 as const,
  id: '31c5b87f70c2bb5f6e6d9b7a94d2d6f0',
  account_id: 'main',
  observed_at: '2026-01-16T21:02:09.412Z',
  reason: 'key_rejected' as const,
};

export const accountDegraded = defineEvent({
  detailType: DETAIL_TYPES.account_degraded,
  summary: 'Nothing of the account can be read at present, so its events will be late.',
  detail: healthDetail,
  example: healthExample,
});

export const accountRecovered = defineEvent({
  detailType: DETAIL_TYPES.account_recovered,
  summary: 'The account can be read again. `reason` says why it could not be read.',
  detail: healthDetail,
  example: healthExample,
});

export const eventCatalog = [
  operationStateChanged,
  commandSettled,
  branchReady,
  branchFailed,
  computeStateChanged,
  operationStalled,
  operationWatchEnded,
  projectDiscovered,
  projectUnreachable,
  projectTransferred,
  projectUsageCrossed,
  accountWatched,
  accountDegraded,
  accountRecovered,
] as const;

export type OperationStateChanged = z.infer<typeof operationStateChanged.detail>;
export type OperationStalled = z.infer<typeof operationStalled.detail>;
export type BranchReady = z.infer<typeof branchReady.detail>;
export type ComputeStateChanged = z.infer<typeof computeStateChanged.detail>;
export type ProjectUsageCrossed = z.infer<typeof projectUsageCrossed.detail>;
export type CommandSettled = z.infer<typeof commandSettled.detail>;
