/**
 * Defines the event by which people learn that a command waits for one of them, and what became of that. It has a
 * source of its own, because it is about a question and not about anything that has happened to a project.
 */

import * as z from 'zod';
import { common, openSet } from './define-event.ts';
import { EVENT_SOURCE } from './event-names.ts';
import type { BusEvent } from './render-event.ts';

export const APPROVAL_SOURCE = `${EVENT_SOURCE}.approval` as const;

export const APPROVAL_DETAIL_TYPE = 'Command Approval';

export const approvalDetail = z.object({
  ...common,
  project_id: z.string(),
  approval_id: z.string(),
  /** This caller asked. */
  client_id: z.string(),
  call: z.string(),
  /** What would be sent, such as `DELETE /projects/shop-1`. */
  request: z.string().optional(),
  state: openSet(['wanted', 'approved', 'denied', 'withdrawn', 'expired']),
  expires_at: z.string().optional(),
  decided_by: z.string().optional(),
  reason: z.string().optional(),
});

export type ApprovalEvent = Readonly<z.output<typeof approvalDetail>>;

export function approvalEvent(detail: ApprovalEvent): BusEvent {
  return {
    source: APPROVAL_SOURCE,
    detailType: APPROVAL_DETAIL_TYPE,
    detail: JSON.stringify(detail),
    time: detail.observed_at,
  };
}
