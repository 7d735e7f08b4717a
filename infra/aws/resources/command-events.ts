/** Lists the events that a command can cause: those of its operations, those that derive from them, and its own end. */

import { DETAIL_TYPES } from '../../../shared/events/event-names.ts';

/** The API and the worker may publish these; the poller publishes all others. */
export const COMMAND_EVENTS: readonly string[] = [
  DETAIL_TYPES.state_changed,
  DETAIL_TYPES.command_settled,
  DETAIL_TYPES.branch_ready,
  DETAIL_TYPES.branch_failed,
  DETAIL_TYPES.compute_state_changed,
];
