/** A notice: one thing that people have to know, as it is stored, planned and shown. */

import * as z from 'zod';

export const noticeSchema = z.object({
  /** The event's id, by which a copy of the notice is recognised. */
  id: z.string(),
  kind: z.enum([
    'failed',
    'given_up',
    'attempt_failed',
    'stalled',
    'vanished',
    'recovered',
    'cancelled',
    'account_degraded',
    'account_recovered',
    'reminder',
    'channel_deaf',
    'channel_back',
    'unreadable',
  ]),
  severity: z.enum(['info', 'warning', 'critical']),
  account_id: z.string(),
  observed_at: z.string(),
  project_id: z.string().optional(),
  operation_id: z.string().optional(),
  action: z.string().optional(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  status: z.string().optional(),
  /** The event's place among the events of its operation: it tells an older event from a newer one. */
  sequence: z.number().optional(),
  failures_count: z.number().optional(),
  new_failures: z.number().optional(),
  error: z.string().optional(),
  since: z.string().optional(),
  /** The caller that sent the command which started the operation. */
  client_id: z.string().optional(),
  /** Why an account cannot be read, or how a deaf channel answers. */
  reason: z.string().optional(),
  open_ms: z.number().optional(),
  /** The channel that the notice is about: it takes no messages, or takes them again. */
  channel: z.string().optional(),
  /** The event did not fit this version of the bridge, so that only a part of it could be read. */
  unread: z.enum(['newer_schema', 'unknown_value']).optional(),
  /** Set when the notice is sent: the end of the operation was reported before this older failure came in. */
  has_ended: z.boolean().optional(),
  /** Set when the notice is sent: a mute that is over by now kept it back. */
  was_muted: z.boolean().optional(),
});

export type Notice = z.infer<typeof noticeSchema>;
export type NoticeKind = Notice['kind'];
export type Severity = Notice['severity'];
