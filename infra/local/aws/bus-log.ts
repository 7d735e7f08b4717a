/**
 * Keeps the log of the local buses, with the records that EventBridge writes at the level INFO without details of events, and
 * serves them as CloudWatch Logs does.
 */

import { z } from 'zod';
import { busLogGroupOf } from '../../../functions/api/read-model/bus-log.ts';
import { busArn, defineOperation, ruleArn, type Service, ServiceError } from './protocol.ts';

/** EventBridge User Guide, "Amazon EventBridge event bus log schema". */
export type BusStep =
  | 'EVENT_INGEST_SUCCESS'
  | 'NO_STANDARD_RULES_MATCHED'
  | 'RULE_MATCH'
  | 'INVOCATION_ATTEMPT_RETRYABLE_FAILURE'
  | 'INVOCATION_SUCCESS'
  | 'INVOCATION_FAILURE'
  | 'INVOCATION_DLQ';

export interface BusLog {
  /** Without a target the step is one of the event alone. */
  note(
    step: BusStep,
    at: { readonly busName: string; readonly eventId: string },
    target?: { readonly ruleName: string; readonly arn: string; readonly error?: string | undefined },
  ): void;
  find(busName: string, filterPattern: string, startTime: number): readonly KeptRecord[];
}

/** At some hundred bytes each. A person follows an event within minutes. */
const RECORDS_MAX = 5_000;

interface KeptRecord {
  readonly timestamp: number;
  readonly busName: string;
  readonly event_id: string;
  readonly message: string;
}

/** CloudWatch Logs API Reference, FilterLogEvents. Of filter patterns, only the one for the id of an event is known here. */
const asked = z.object({
  logGroupName: z.string(),
  filterPattern: z.string().regex(/^\{ \$\.event_id = "[\w-]+" \}$/),
  startTime: z.number().default(0),
});

/** `now` is the clock of the functions that read the log. */
export function createBusLog(now: () => number): BusLog {
  const records: KeptRecord[] = [];
  return {
    note(step, { busName, eventId: event_id }, target) {
      const rule_arn = target && ruleArn(busName, target.ruleName);
      const details =
        step === 'RULE_MATCH'
          ? { target_arns: [target?.arn] }
          : { ...(target && { target_arn: target.arn }) };
      const message = JSON.stringify({
        resource_arn: busArn(busName),
        event_bus_name: busName,
        event_id,
        message_timestamp_ms: now(),
        message_type: step,
        log_level: /FAILURE|DLQ/.test(step) ? 'ERROR' : 'INFO',
        details: { ...(rule_arn && { rule_arn }), ...details },
        ...(target?.error !== undefined && { error: { error_message: target.error } }),
      });
      records.push({ timestamp: now(), busName, event_id, message });
      if (records.length > RECORDS_MAX) records.shift();
    },
    find: (busName, filterPattern, startTime) =>
      records.filter(
        (one) =>
          one.busName === busName &&
          filterPattern.includes(`"${one.event_id}"`) &&
          one.timestamp >= startTime,
      ),
  };
}

/** Each bus has its log group, as the template gives it one. */
export function createLogsService(log: BusLog, hasBus: (name: string) => boolean): Service {
  return new Map([
    [
      'FilterLogEvents',
      defineOperation(asked, ({ logGroupName, filterPattern, startTime }) => {
        const busName = logGroupName.split('/').at(-1) ?? '';
        if (!hasBus(busName) || logGroupName !== busLogGroupOf(busName))
          throw new ServiceError('ResourceNotFoundException', 'The specified log group does not exist.');
        const found = log.find(busName, filterPattern, startTime);
        return { events: found.map(({ timestamp, message }) => ({ timestamp, message })) };
      }),
    ],
  ]);
}
