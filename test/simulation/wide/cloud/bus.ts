/**
 * Imitates EventBridge behind the SDK's client: ten entries a call, a limit of bytes, and an answer for each entry.
 */

import type { EventBridgeClient, PutEventsCommandInput } from '@aws-sdk/client-eventbridge';
import type { DeliveredEvent } from '../../check-history.ts';
import type { Process } from '../../scheduler.ts';
import { isWithin, type Span } from '../upstream/truth.ts';
import type { WideWorld } from '../world.ts';

export interface Delivery extends DeliveredEvent {
  readonly atMs: number;
  readonly by: string;
}

const ENTRIES_MAX = 10;
const CALL_BYTES_MAX = 256 * 1_024;

export interface BusSide {
  readonly delivered: Delivery[];
  /** Entries that the bus has refused for good. The table parks them, and a restore of the table loses them. */
  readonly refused: Delivery[];
  /** Calls that broke the rules of the service. */
  readonly misuse: string[];
  readonly outages: readonly Span[];
}

export function createBusClient(
  world: WideWorld,
  { delivered, refused, misuse, outages }: BusSide,
  owner: Process,
): EventBridgeClient {
  const put = ({ Entries = [] }: PutEventsCommandInput) => {
    const atMs = world.scheduler.now();
    const bytes = Entries.reduce((sum, { Detail = '' }) => sum + Buffer.byteLength(Detail), 0);
    if (Entries.length === 0 || Entries.length > ENTRIES_MAX || bytes > CALL_BYTES_MAX)
      misuse.push(`${Entries.length} entries of ${bytes} bytes in one call`);
    if (isWithin(outages, atMs)) {
      world.fire('bus_outage');
      throw named('InternalException');
    }
    if (world.strikes('bus_call_failed')) throw named('ThrottlingException');
    const results = Entries.map(({ DetailType = '', Detail = '' }, place) => {
      const delivery = { detailType: DetailType, detail: Detail, atMs, by: owner.name };
      if (world.strikes('bus_entry_refused')) {
        refused.push(delivery);
        return { ErrorCode: 'InvalidArgument' };
      }
      if (world.strikes('bus_entry_failed')) return { ErrorCode: 'InternalFailure' };
      delivered.push(delivery);
      world.note(owner.name, `published ${DetailType}`, summaryOf(Detail));
      return { EventId: `${atMs}-${place}` };
    });
    if (world.strikes('bus_reply_lost')) throw named('TimeoutError');
    return {
      Entries: results,
      FailedEntryCount: results.filter(({ EventId }) => EventId === undefined).length,
    };
  };
  const send = (command: { readonly input: PutEventsCommandInput }) => {
    if (world.plan.faults.bus_slow > 0) world.fire('bus_slow');
    return world.call(owner, world.plan.busMs, () => put(command.input));
  };
  return { send } as unknown as EventBridgeClient;
}

function summaryOf(detail: string): string {
  const { project_id, operation_id, sequence, status, observed_by, reason } = JSON.parse(detail) as Record<
    string,
    unknown
  >;
  return [
    project_id,
    typeof operation_id === 'string' ? operation_id.slice(-4) : '',
    sequence,
    status,
    observed_by,
    reason,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}

function named(name: string): Error {
  const error = new Error(name);
  error.name = name;
  return error;
}
