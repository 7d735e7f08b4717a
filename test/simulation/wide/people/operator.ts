/**
 * Does what people and other versions do to the account: it rotates the key, writes what this version cannot read,
 * and restores the table.
 */

import type { Item } from '../../../../shared/store/table.ts';
import { DAY_MS, MINUTE_MS } from '../plan.ts';
import type { Stage } from '../stage.ts';

export function operate(stage: Stage): void {
  void revokeKey(stage);
  void writeUnreadable(stage);
  void restoreTable(stage);
  void expireItems(stage);
}

/** The upstream gets a new key at once, and the secret gets it some time later. */
async function revokeKey({ world, timeline, upstream, secret, secretChanges }: Stage): Promise<void> {
  const { plan, scheduler, random } = world;
  if (plan.faults.key_revoked === 0) return;
  await scheduler.delay(undefined, timeline.busy[1].fromMs - scheduler.now() + random.next() * MINUTE_MS);
  world.fire('key_revoked');
  upstream.keys.push({ key: 'key-1', sinceMs: scheduler.now() });
  world.note('operator', 'the key is revoked');
  await scheduler.delay(undefined, (0.1 + random.next()) * MINUTE_MS);
  secret.key = 'key-1';
  secretChanges.push(scheduler.now());
  world.note('operator', 'the secret holds the new key');
}

const ODD_VALUES: Readonly<Record<string, readonly [name: string, value: string]>> = {
  operation: ['watch_ended', 'paused'],
  project: ['is_visible', 'partly'],
  command: ['is_settled', 'in_part'],
};

/**
 * Writes a value that this version does not know, as another version would. Three to four minutes into the calm the
 * item is readable again.
 */
async function writeUnreadable(stage: Stage): Promise<void> {
  const { world, timeline, tableSide } = stage;
  const { plan, scheduler, random } = world;
  if (plan.faults.item_unreadable === 0) return;
  await scheduler.delay(undefined, timeline.busy[1].fromMs - scheduler.now() + random.next() * plan.busyMs);
  const candidates = tableSide.table.sync
    .items()
    .filter(({ kind }) => typeof kind === 'string' && kind in ODD_VALUES);
  const item = candidates[Math.floor(random.next() * candidates.length)];
  const kind = item?.['kind'];
  const odd = typeof kind === 'string' ? ODD_VALUES[kind] : undefined;
  if (item === undefined || odd === undefined) return;
  const [name, value] = odd;
  const before = item[name];
  stage.unreadable.add(`${item.pk} ${item.sk}`);
  world.fire('item_unreadable');
  world.note('operator', `writes ${name}=${value}`, `${item.pk} ${item.sk}`);
  tableSide.table.sync.update({ key: { pk: item.pk, sk: item.sk }, set: { [name]: value } });
  const untilMs = timeline.calm.fromMs + (3 + random.next()) * MINUTE_MS;
  await scheduler.delay(undefined, untilMs - scheduler.now());
  const now = tableSide.table.sync.peek({ pk: item.pk, sk: item.sk });
  if (now?.[name] !== value) return;
  // An item that never had the attribute gets rid of it.
  const asItWas = before === undefined ? { set: {}, remove: [name] } : { set: { [name]: before } };
  tableSide.table.sync.update({ key: { pk: item.pk, sk: item.sk }, ...asItWas });
  world.note('operator', `writes ${name} as it was`, `${item.pk} ${item.sk}`);
}

/** Sets the table back to the end of the first busy time. Every process begins anew. */
async function restoreTable(stage: Stage): Promise<void> {
  const { world, timeline, tableSide, processes, restores } = stage;
  const { plan, scheduler, random } = world;
  if (plan.faults.table_restored === 0 || plan.gapMs > 0) return;
  const [, second] = timeline.busy;
  await scheduler.delay(undefined, second.fromMs - scheduler.now());
  const kept: readonly Item[] = [...tableSide.table.sync.items()];
  const toMs = scheduler.now();
  const isListed = kept.some(({ is_listed }) => is_listed === true);
  if (!isListed) return;
  await scheduler.delay(undefined, (0.2 + random.next()) * MINUTE_MS);
  for (const process of processes) process.isCrashed = true;
  tableSide.table.sync.replaceAll(kept);
  tableSide.index.rebuild(kept);
  world.listener.restored(kept);
  restores.push({ atMs: scheduler.now(), toMs });
  world.fire('table_restored');
  world.note('operator', 'the table is restored', new Date(toMs).toISOString());
}

/** Removes expired items as DynamoDB does, which can take days. */
async function expireItems({ world, timeline, tableSide }: Stage): Promise<void> {
  const { scheduler, random } = world;
  const { table, index } = tableSide;
  while (scheduler.now() < timeline.endMs) {
    await scheduler.delay(undefined, 0.5 * DAY_MS);
    const nowMs = scheduler.now();
    for (const item of table.sync.items()) {
      const expiresAtMs = Number(item['expires_at'] ?? Number.POSITIVE_INFINITY) * 1_000;
      if (nowMs < expiresAtMs || random.next() < 0.5) continue;
      table.sync.remove({ pk: item.pk, sk: item.sk });
      index.note({ pk: item.pk, sk: item.sk }, item, undefined);
      world.listener.expired(item);
      world.fire('item_expired');
      world.note('table', `item expired ${item.sk}`);
    }
  }
}
