/** Builds what the worker needs of an account: its queue, its way to the upstream, and its permits. */

import type { AccountDirectory } from '../../shared/accounts/account-directory.ts';
import { perAccount } from '../../shared/accounts/account-directory.ts';
import { createCallbacks } from '../../shared/commands/callbacks.ts';
import { createQueueStore } from '../../shared/commands/queue-store.ts';
import {
  type AccountPorts,
  type SharedAccount,
  upstreamAccount,
} from '../../shared/commands/upstream-account.ts';
import type { ApiAccount } from '../../shared/config/api-config.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import { commandKey } from '../../shared/store/keys.ts';
import { createCommandRecords } from '../../shared/store/records.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import { createReadingWishes } from '../../shared/store/wishes.ts';
import type { LineDeps } from './line.ts';
import type { WaitingTasks } from './waiting-tasks.ts';
import type { WorkerAccounts } from './work.ts';

export interface WorkerAccountPorts extends AccountPorts {
  readonly queueKey: () => Promise<Secret>;
  /** It is undefined when the bridge ends no tasks of workflows. */
  readonly tasks?: WaitingTasks | undefined;
  readonly newId: () => string;
}

/** The lines of a paused account are worked on, too, because the deadlines of their commands go on. */
export function createWorkerAccounts(
  directory: AccountDirectory<ApiAccount>,
  ports: WorkerAccountPorts,
): WorkerAccounts {
  const noteUnreadable = createUnreadableNotes(ports.telemetry);
  const accounts = perAccount(
    (accountId) => directory.get(accountId)?.settings,
    (settings: ApiAccount) => {
      const isPaused = () => directory.get(settings.account_id)?.state !== 'active';
      const generation = () => directory.get(settings.account_id)?.generation;
      const account = upstreamAccount(settings, ports, noteUnreadable);
      const line = { ...lineDeps(settings, ports, { account, noteUnreadable }), isPaused, generation };
      const { table, tasks } = ports;
      const callbacks = tasks && {
        ...line,
        tasks,
        callbacks: createCallbacks(table, settings.account_id, noteUnreadable),
      };
      return { line, callbacks, idle: () => account.fairShare.idle() };
    },
  );
  return {
    refresh: () => directory.refresh(),
    ids: () => [...directory.all().keys()],
    get: (accountId) => accounts.get(accountId),
    idle: async () => void (await Promise.all(accounts.made().map((account) => account.idle()))),
  };
}

function lineDeps(
  { account_id, poll_interval_seconds }: ApiAccount,
  { table, clock, telemetry, queueKey, newId }: WorkerAccountPorts,
  { account, noteUnreadable }: { readonly account: SharedAccount; readonly noteUnreadable: NoteUnreadable },
): Omit<LineDeps, 'isPaused' | 'generation'> {
  const records = createCommandRecords(table, noteUnreadable);
  const wishes = createReadingWishes(table, account_id, clock);
  return {
    queue: createQueueStore(table, account_id, { clock, noteUnreadable, newId }),
    account,
    readRecord: async (projectId, commandId) =>
      (await records.readCommands([commandKey(account_id, projectId, commandId)]))[0],
    admit: (clientId) => account.fairShare.admit(clientId),
    wishForReading: (projectId) => wishes.wishForReading(projectId, poll_interval_seconds * 1_000),
    queueKey,
    clock,
    telemetry,
  };
}
