/** Defines the events that are derived from operations: a branch can be used, a compute became active or idle. */

import * as z from 'zod';
import { command, common, defineEvent, openSet, operations } from './define-event.ts';
import { DETAIL_TYPES } from './event-names.ts';

const branchDetail = z.object({
  ...common,
  project_id: z.string(),
  branch_id: z.string(),
  operations: operations.describe(
    'The operations that were started to create the branch, with their last status. The event rests on them.',
  ),
  endpoint_ids: z.array(z.string()).describe('The computes that the creation started.'),
  duration_ms: z
    .number()
    .nonnegative()
    .optional()
    .describe(
      "Milliseconds from the beginning of the creation to its last change, by the upstream's clock, which shows whole seconds.",
    ),
  command: command.optional(),
});

const branchExample = {
  schema: 1 as const,
  id: '2c9d5f0b7a184e0d8f0f3d1c56b7a412',
  account_id: 'main',
  observed_at: '2026-01-16T21:02:09.412Z',
  project_id: 'solitary-cell-58208823',
  branch_id: 'br-yellow-dawn-a5qftt8g',
  operations: [
    {
      operation_id: '7c1d0d0f-7c7b-4c7e-8b7a-0a9de7f6c0aa',
      action: 'create_branch',
      status: 'finished',
      failures_count: 0,
    },
    {
      operation_id: 'd6ad21e4-725d-493f-a495-43867ad88d09',
      action: 'start_compute',
      status: 'finished',
      failures_count: 0,
    },
  ],
  endpoint_ids: ['ep-lingering-surf-a5926aiu'],
  duration_ms: 4_000,
};

export const branchReady = defineEvent({
  detailType: DETAIL_TYPES.branch_ready,
  summary:
    'A new branch can be used: the operation that created it has finished, and everything that was started with it has finished or was skipped. It is published once per branch, whoever created it.',
  detail: branchDetail,
  example: branchExample,
});

export const branchFailed = defineEvent({
  detailType: DETAIL_TYPES.branch_failed,
  summary:
    'A new branch did not become ready: an operation of its creation was cancelled, ended with an error, or is no longer watched. Branch Ready follows if that operation ends well after all.',
  detail: branchDetail,
  example: {
    ...branchExample,
    operations: branchExample.operations.map((each) =>
      each.action === 'start_compute' ? { ...each, status: 'cancelled' } : each,
    ),
  },
});

const computeState = openSet(['active', 'idle']);

export const computeStateChanged = defineEvent({
  detailType: DETAIL_TYPES.compute_state_changed,
  summary:
    'A compute became active or idle, as the end of one of its operations shows. No request to the upstream is spent on it.',
  detail: z.object({
    ...common,
    project_id: z.string(),
    endpoint_id: z.string(),
    branch_id: z.string().optional(),
    sequence: z.number().int().positive().describe('1, 2, 3, ... per compute, without gaps.'),
    state: computeState,
    previous_state: computeState
      .nullable()
      .describe(
        'The state before; null when it is not known, for example because the compute was seen for the first time, or because a change was missed in between.',
      ),
    previous_duration_ms: z
      .number()
      .nonnegative()
      .optional()
      .describe(
        "How long the state before lasted, in milliseconds by the upstream's clock. Absent when that is not known.",
      ),
    reason: openSet(['started', 'restarted', 'configured', 'suspended', 'inactivity'])
      .optional()
      .describe(
        'started: a start of its own, by a connection or a call. restarted: suspended and started together. configured: an idle compute became active for a moment to take a configuration. suspended: a command through this bridge suspended it. inactivity: suspended by no command through this bridge, and together with no other operation. Absent when it is not known.',
      ),
    operation_id: z.string().describe('The operation that brought the state.'),
    action: z.string(),
    operation_updated_at: z.string().describe('As the upstream gives it, in whole seconds.'),
    command: command.optional(),
  }),
  example: {
    schema: 1,
    id: '8e0f5d8a3b7c49f6b0d2a1c4e5f60718',
    account_id: 'main',
    observed_at: '2026-01-16T21:02:09.412Z',
    project_id: 'solitary-cell-58208823',
    endpoint_id: 'ep-lingering-surf-a5926aiu',
    branch_id: 'br-yellow-dawn-a5qftt8g',
    sequence: 7,
    state: 'active',
    previous_state: 'idle',
    previous_duration_ms: 3_604_000,
    reason: 'started',
    operation_id: 'd6ad21e4-725d-493f-a495-43867ad88d09',
    action: 'start_compute',
    operation_updated_at: '2026-01-16T21:02:08Z',
  },
});
