/** Keeps the mutes of the configuration in the table, where the API finds them. Only the notifier gets the configuration of alerts. */

import * as z from 'zod';
import { CONFIGURED_MUTES_KEY } from '../../store/keys.ts';
import type { Table } from '../../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../../store/unreadable.ts';

/** It covers all accounts, and all their projects when it lists none. The times are in ISO 8601. */
const configuredMute = z.object({
  project_ids: z.array(z.string()).optional(),
  from: z.string(),
  until: z.string(),
});

export type ConfiguredMute = Readonly<z.output<typeof configuredMute>>;

export interface ConfiguredMutes {
  /** Resolves to the mutes of the configuration with which the notifier runs. An item that cannot be read counts as none. */
  readonly readConfigured: () => Promise<readonly ConfiguredMute[]>;
  /** Writes them unless this process has written the same before. */
  readonly keepConfigured: (mutes: readonly ConfiguredMute[]) => Promise<void>;
}

export function createConfiguredMutes(
  table: Table,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): ConfiguredMutes {
  let written: string | undefined;
  return {
    async readConfigured() {
      const item = await table.get(CONFIGURED_MUTES_KEY);
      const { data, error } = z.array(configuredMute).safeParse(item?.['body'] ?? []);
      if (data === undefined) {
        const fields = error.issues.map(({ path }) => ['body', ...path].join('.'));
        noteUnreadable({ key: CONFIGURED_MUTES_KEY, fields });
      }
      return data ?? [];
    },

    async keepConfigured(mutes) {
      const body = mutes.map(({ project_ids, from, until }) => ({
        ...(project_ids && { project_ids: [...project_ids] }),
        from,
        until,
      }));
      const text = JSON.stringify(body);
      if (text === written) return;
      await table.update({ key: CONFIGURED_MUTES_KEY, set: { body } });
      written = text;
    },
  };
}
