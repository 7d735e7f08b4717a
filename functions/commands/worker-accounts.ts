/** Builds what the worker needs of each account: its queue, its way to the upstream, and its permits. */

import { createQueueStore } from '../../shared/commands/queue/queue-store.ts';
import {
  type AccountPorts,
  type SharedAccount,
  upstreamAccounts,
} from '../../shared/commands/upstream-accounts.ts';
import type { ApiAccount } from '../../shared/config/api-accounts.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import { createCommandRecords } from '../../shared/store/adapters/command-records.ts';
import { createReadingWishes } from '../../shared/store/adapters/reading-wishes.ts';
import { commandKey } from '../../shared/store/keys.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import type { LineDeps } from './line/line-deps.ts';
import type { WorkerAccount } from './work.ts';

export interface WorkerAccountPorts extends AccountPorts {
  readonly pepper: () => Promise<Secret>;
}

/** The keys of the map are account ids. */
export function createWorkerAccounts(
  settings: readonly ApiAccount[],
  ports: WorkerAccountPorts,
): ReadonlyMap<string, WorkerAccount> {
  const noteUnreadable = createUnreadableNotes(ports.telemetry);
  const shared = upstreamAccounts(settings, ports, noteUnreadable);
  const accounts = settings.flatMap((account) => {
    const found = shared.get(account.account_id);
    if (found === undefined) return [];
    const line = lineDeps(account, ports, { account: found, noteUnreadable });
    return [[account.account_id, { line, idle: () => found.fairShare.idle() }] as const];
  });
  return new Map(accounts);
}

function lineDeps(
  { account_id, poll_interval_seconds }: ApiAccount,
  { table, clock, telemetry, pepper }: WorkerAccountPorts,
  { account, noteUnreadable }: { readonly account: SharedAccount; readonly noteUnreadable: NoteUnreadable },
): LineDeps {
  const records = createCommandRecords(table, noteUnreadable);
  const wishes = createReadingWishes(table, account_id, clock);
  return {
    queue: createQueueStore(table, account_id, { clock, noteUnreadable }),
    account,
    readRecord: async (projectId, commandId) =>
      (await records.readCommands([commandKey(account_id, projectId, commandId)]))[0],
    admit: (clientId) => account.fairShare.admit(clientId),
    wishForReading: (projectId) => wishes.wishForReading(projectId, poll_interval_seconds * 1_000),
    pepper,
    clock,
    telemetry,
  };
}
