/** Names what one run of the close world has on its stage. */

import type { DeliveredEvent } from './check-history.ts';
import type { MemoryTable } from './memory-table.ts';
import type { LaggingIndex } from './ports.ts';
import type { UpstreamModel } from './upstream-model.ts';
import type { World } from './world.ts';

export interface Stage {
  readonly world: World;
  readonly model: UpstreamModel;
  readonly table: MemoryTable;
  readonly index: LaggingIndex;
  readonly delivered: DeliveredEvent[];
}

export const ACCOUNT_ID = 'main';
export const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0, 250);

export const DAY_MS = 24 * 3_600_000;
