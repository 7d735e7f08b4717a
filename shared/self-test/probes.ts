/** Derives the probes of a function's role from what the role is made of. None of them changes anything. */

import type { Wakes } from '../commands/queue/wakes.ts';
import type { EventBus } from '../events/event-bus.ts';
import { DETAIL_TYPES, TEST_EVENT_SOURCE } from '../events/event-names.ts';
import { PARTITIONS, SELF_TEST_ID, selfTestKey } from '../store/keys.ts';
import type { Index, Table, TableIndexes, TablePartitions } from '../store/table.ts';
import { type Access, KEY, type Partition } from '../store/table-access.ts';
import type { Probe } from './self-test.ts';

/**
 * Tries each partition with an item that does not exist. A write has a condition that does not hold and names every
 * attribute that the role may write, so DynamoDB checks the permission of all of them and writes nothing.
 */
export function tableProbes(table: Table, { reads, readsMany, updates }: Access): readonly Probe[] {
  const partitionsOf = (attributes: object) => Object.keys(attributes) as Partition[];
  return [
    ...partitionsOf(reads).map((partition) => ({
      call: `dynamodb:GetItem on ${PARTITIONS[partition]}`,
      attempt: () => table.get(selfTestKey(partition)),
    })),
    ...readsMany.map((partition) => ({
      call: `dynamodb:BatchGetItem on ${PARTITIONS[partition]}`,
      attempt: () => table.getMany([selfTestKey(partition)]),
    })),
    ...partitionsOf(updates).map((partition) => ({
      call: `dynamodb:UpdateItem on ${PARTITIONS[partition]}`,
      attempt: () => table.update(refusedUpdate(partition, updates[partition] ?? [])),
    })),
  ];
}

function refusedUpdate(partition: Partition, attributes: readonly string[]) {
  const keyNames: readonly string[] = KEY;
  return {
    key: selfTestKey(partition),
    set: {},
    remove: attributes.filter((name) => !keyNames.includes(name)),
    condition: { kind: 'equals', name: 'pk', value: 'another key' },
  } as const;
}

/** Tries to read keys of the index. */
export function indexProbe(indexes: TableIndexes, index: Index, partition: string): Probe {
  return {
    call: `dynamodb:Query of ${partition} in the index ${index.name}`,
    attempt: () => indexes.query({ index, partition, limit: 1 }),
  };
}

/** Tries to read items of the partition. */
export function partitionProbe(partitions: TablePartitions, partition: string): Probe {
  return {
    call: `dynamodb:Query of ${partition} in the table`,
    attempt: () => partitions.readPartition({ partition }),
  };
}

/** Reads a secret and drops it. An empty secret is a failure. */
export function secretProbe(secretId: string, source: { refresh(): Promise<unknown> }): Probe {
  return { call: `secretsmanager:GetSecretValue of ${secretId}`, attempt: () => source.refresh() };
}

/** Publishes one event that only rules for test events get. */
export function publishProbe(bus: EventBus, nowMs: number, id: string): Probe {
  return {
    call: `events:PutEvents as ${TEST_EVENT_SOURCE}`,
    async attempt() {
      const [outcome] = await bus.publish([
        {
          source: TEST_EVENT_SOURCE,
          // The roles of the API and the worker may publish this type, among others.
          detailType: DETAIL_TYPES.command_settled,
          detail: JSON.stringify({ self_test: true, id }),
          time: new Date(nowMs).toISOString(),
        },
      ]);
      if (outcome?.kind !== 'accepted') throw refusal(outcome?.code ?? 'NoResult');
    },
  };
}

/** Sends one wake for an account that no bridge has, which the worker takes and drops. */
export function wakeProbe(wakes: Wakes, id: string): Probe {
  return {
    call: 'sqs:SendMessage to the queue of commands',
    attempt: () => wakes.send([{ account_id: SELF_TEST_ID, project_id: SELF_TEST_ID, id }]),
  };
}

/** Publishing as the bridge itself would reach every subscriber. */
export const UNTRIED_PUBLISH = 'events:PutEvents as operations-bridge';

function refusal(code: string): Error {
  return Object.assign(new Error('The bus did not accept the event.'), { name: code });
}
