/** Answers a command: it restarts a compute, which starts one to three operations, unless the project is locked. */

import type { WideWorld } from '../world.ts';
import type { OperationSource } from './draw-operations.ts';
import { jsonRow } from './pages.ts';
import type { Truth, TruthProject } from './truth.ts';

/** The operations of a command have ended within this time. */
const LIFE_MS_MAX = 3 * 60_000;

export function answerCommand(
  world: WideWorld,
  {
    truth,
    source,
    project,
  }: { readonly truth: Truth; readonly source: OperationSource; readonly project: TruthProject },
): { readonly status: number; readonly text: string } {
  if (world.strikes('command_locked')) return { status: 423, text: '{"message":"locked","code":""}' };
  const nowMs = world.scheduler.now();
  const count = 1 + Math.floor(world.random.next() * 3);
  const operations = source.drawTogether(count, {
    projectId: project.id,
    createdUs: Math.floor(nowMs * 1_000),
    endMs: nowMs + LIFE_MS_MAX,
    isHistory: true,
  });
  for (const operation of operations) truth.add(operation);
  const rows = operations.map((op) => jsonRow(world, op, nowMs));
  return { status: 200, text: JSON.stringify({ endpoint: { id: 'ep-quiet-pond' }, operations: rows }) };
}
