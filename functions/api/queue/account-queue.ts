/** Reads the queue of one account for its callers. */

import {
  createQueueStore,
  type QueueStore,
  type QueueStorePorts,
} from '../../../shared/commands/queue/queue-store.ts';
import { isInLine } from '../../../shared/commands/queue/queued-command.ts';
import type { ApiAccount } from '../../../shared/config/api-accounts.ts';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import { createCommandRecords } from '../../../shared/store/adapters/command-records.ts';
import { commandKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { FoundCommand } from './command-view.ts';
import { createFreezeWatch, type FreezeWatch } from './freeze-watch.ts';
import { createKnownProjects, type KnownProjects, type KnownProjectsDeps } from './known-projects.ts';

export interface AccountQueue {
  /** A command may name a deadline this far ahead. */
  readonly deadlineSecondsMax: number;
  readonly store: QueueStore;
  readonly projects: KnownProjects;
  readonly freeze: FreezeWatch;
  /** Resolves to undefined when there is no such command, or not any more. */
  find(commandId: string): Promise<FoundCommand | undefined>;
  /** Resolves to undefined until the command has started operations, or has ended. */
  readRecord(projectId: string, commandId: string): Promise<CommandRecord | undefined>;
}

export function createAccountQueue(
  table: Table,
  { account_id: accountId, command_deadline_seconds_max }: ApiAccount,
  ports: QueueStorePorts & Pick<KnownProjectsDeps, 'upstream' | 'telemetry' | 'admit'>,
): AccountQueue {
  const { clock, noteUnreadable } = ports;
  const store = createQueueStore(table, accountId, ports);
  const records = createCommandRecords(table, noteUnreadable);
  const readRecord: AccountQueue['readRecord'] = async (projectId, commandId) =>
    (await records.readCommands([commandKey(accountId, projectId, commandId)]))[0];
  return {
    deadlineSecondsMax: command_deadline_seconds_max,
    store,
    projects: createKnownProjects({ ...ports, table, accountId }),
    freeze: createFreezeWatch(store, clock),
    readRecord,
    async find(commandId) {
      const command = await store.readCommand(commandId);
      if (command === undefined) return undefined;
      const { project_id } = command;
      if (isInLine(command)) return { command, record: undefined, line: await store.readLine(project_id) };
      const record = command.state === 'running' ? await readRecord(project_id, commandId) : undefined;
      return { command, record, line: undefined };
    },
  };
}
