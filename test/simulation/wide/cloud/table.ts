/** Puts the table behind a network: every call takes its time, may be throttled, or may lose its reply. */

import type { Role } from '../../../../infra/aws/resources/bridge-function.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';
import { NUDGES_PARTITION } from '../../../../shared/store/keys.ts';
import {
  FEED_INDEX,
  type Item,
  type Key,
  KeysUnreadError,
  type Table,
  type TableIndexes,
  type TablePartitions,
  type Update,
} from '../../../../shared/store/table.ts';
import { createMemoryIndexes } from '../../../store/memory-indexes.ts';
import { createMemoryPartitions } from '../../../store/memory-partitions.ts';
import { itemBytes, type MemoryTable } from '../../memory-table.ts';
import type { Process } from '../../scheduler.ts';
import type { WideWorld } from '../world.ts';
import { type IndexCopy, textOf } from './index-copy.ts';

/** DynamoDB itself has this limit for an item. */
const ITEM_BYTES_MAX = 400 * 1_024;

/**
 * One answer of an index holds about this many keys, because its page has 1 MB. Each further page is a call of its
 * own.
 */
const KEYS_PER_PAGE = 5_000;

/**
 * Has the name that the SDK gives to such an error, so that a log line that blames the table differs from one that
 * blames the code.
 */
export class TableFault extends Error {
  constructor(name: string) {
    super(name);
    this.name = name;
  }
}

export interface TableSide {
  readonly table: MemoryTable;
  readonly index: IndexCopy;
  /** Says when each item was last written, by its keys with a line break between. */
  readonly writtenAtMs: Map<string, number>;
  /** Names the projects where a process has put back how far a walk had come, beside a watermark that it had not read. */
  readonly putBack: string[];
}

/** A read that may lag can miss what was written within this time. */
const LATE_READ_MS_MAX = 1_500;

/** Without a role everything is allowed. */
export function createSlowTable(
  world: WideWorld,
  { table: whole, index, writtenAtMs, putBack }: TableSide,
  { owner, role }: { readonly owner: Process; readonly role: Role | undefined },
): Table {
  const table = role === undefined ? whole : whole.as(role);
  const { listener } = world;
  const call = <T>(effect: () => T) => {
    if (world.plan.tableMs[1] >= SLOW_MS) world.fire('table_call_slow');
    const restoreCount = world.fired.get('table_restored');
    return world.call(owner, world.plan.tableMs, () => {
      // What is under way while the table is restored reaches the one that is no more.
      if (world.fired.get('table_restored') !== restoreCount)
        throw new TableFault('ResourceNotFoundException');
      return effect();
    });
  };
  const read = <T>(effect: (sent: ReturnType<typeof listener.sent>) => T) => {
    const sent = listener.sent(owner);
    return call(() => {
      if (world.strikes('table_throttled')) throw new TableFault('ProvisionedThroughputExceededException');
      return effect(sent);
    });
  };
  const watermarks = new Map<string, unknown>();
  const noteRead = (item: Item | undefined) => {
    if (item?.sk === 'PROJECT') watermarks.set(idOf(item), item['watermark']);
    return item;
  };
  const apply = (update: Update): 'applied' | 'refused' => {
    const before = table.sync.peek(update.key);
    const result = table.sync.update(update);
    const after = table.sync.peek(update.key);
    if (after !== undefined) assertSize(after);
    index.note(update.key, before, after);
    const id = idOf(update.key);
    const isOfOther = watermarks.has(id) && watermarks.get(id) !== before?.['watermark'];
    if (result === 'applied' && isOfOther && setsReach(update)) putBack.push(update.key.pk);
    if (result === 'applied') writtenAtMs.set(idOf(update.key), world.scheduler.now());
    return result;
  };

  return {
    get: (key) =>
      read((sent) => {
        const item = noteRead(table.sync.get(key));
        listener.read(sent, [key], item === undefined ? [] : [item]);
        return item;
      }),
    getMany: async (keys) => {
      if (keys.length === 0) return [];
      return read((sent) => {
        const items = table.sync.getMany(keys);
        items.forEach(noteRead);
        listener.read(sent, keys, items);
        if (keys.length < 2 || !world.strikes('table_keys_unprocessed')) return items;
        // The adapter gives up after some attempts, and names the keys that were left. Half of them were read.
        const unread = keys.slice(Math.ceil(keys.length / 2));
        const left = new Set(unread.map(idOf));
        throw new KeysUnreadError(
          'bridge',
          items.filter((item) => !left.has(idOf(item))),
          unread,
        );
      });
    },
    async queryWork(query) {
      const keys = await read(() => index.work(query));
      for (let more = KEYS_PER_PAGE; more < keys.length; more += KEYS_PER_PAGE) await read(() => undefined);
      return keys;
    },
    queryWorkPage: (query) => read(() => index.workPage(query)),
    update(update) {
      const sent = listener.sent(owner);
      const hear = (result: 'applied' | 'refused', isKnown: boolean) => {
        if (result === 'applied') listener.wrote(sent, update, table.sync.peek(update.key), isKnown);
        return result;
      };
      return call(() => {
        const isNudge = update.key.pk === NUDGES_PARTITION;
        if (world.strikes('table_throttled') || (isNudge && world.strikes('nudge_lost')))
          throw new TableFault('ProvisionedThroughputExceededException');
        const result = apply(update);
        noteWrite(world, owner, update, result);
        const isLost = world.strikes('table_reply_lost') || isReplyOfInsightsLost(world, update);
        // The SDK repeats the call after a lost reply, so the second answer can be caused by its own first write.
        const isRepeated = !isLost && world.strikes('table_sdk_repeats');
        hear(result, !isLost && !isRepeated);
        if (isLost) throw new TableFault('TimeoutError');
        return isRepeated ? hear(apply(update), true) : result;
      });
    },
  };
}

/** With a watermark of its own the write would be refused beside a newer one. */
function setsReach({ key, set }: Update): boolean {
  if (key.sk !== 'PROJECT' || set['watermark'] !== undefined) return false;
  return set['resume'] !== undefined;
}

const idOf = ({ pk, sk }: Key) => `${pk}\n${sk}`;

const SLOW_MS = 100;

const INSIGHTS_DAY = 'DAY#';

/** Draws from dice of its own, as the plan does for faults that were added later. */
function isReplyOfInsightsLost(world: WideWorld, { key }: Update): boolean {
  const { seed, faults } = world.plan;
  if (faults.insights_reply_lost === 0 || !key.sk.startsWith(INSIGHTS_DAY)) return false;
  const own = seededRandom(seed ^ Math.floor(world.scheduler.now()));
  const isLost = own.next() < faults.insights_reply_lost;
  if (isLost) world.fire('insights_reply_lost');
  return isLost;
}

export function createLateIndexes(
  world: WideWorld,
  { table, index }: TableSide,
  owner: Process,
): TableIndexes {
  const indexes = createMemoryIndexes(table, (item, sortKey) =>
    sortKey === FEED_INDEX.sortKey ? index.feedOrder(item) : textOf(item[sortKey]),
  );
  return {
    query: async (query) => {
      await world.call(owner, world.plan.tableMs, () => undefined);
      return indexes.query(query);
    },
  };
}

/** Shows a whole partition on one page, because none of a run has a megabyte. */
export function createSlowPartitions(
  world: WideWorld,
  { table, writtenAtMs }: TableSide,
  owner: Process,
): TablePartitions {
  const partitions = createMemoryPartitions(table, Number.POSITIVE_INFINITY);
  return {
    readPartition: async (query) => {
      await world.call(owner, world.plan.tableMs, () => undefined);
      const page = await partitions.readPartition(query);
      if (query.mayLag !== true || !world.strikes('partition_read_late')) return page;
      const shownMs = world.scheduler.now() - world.foreign.next() * LATE_READ_MS_MAX;
      return { ...page, items: page.items.filter((item) => (writtenAtMs.get(idOf(item)) ?? 0) <= shownMs) };
    },
  };
}

function noteWrite(world: WideWorld, owner: Process, { key, set }: Update, result: string): void {
  if (key.sk === 'LEASE' || key.sk === 'STATUS') return;
  const fields = () =>
    ['status', 'revision', 'published', 'watermark'].flatMap((name) =>
      set[name] === undefined ? [] : [`${name}=${JSON.stringify(set[name])}`],
    );
  world.note(owner.name, () => `write ${key.sk} ${fields().join(' ')}`, result);
}

function assertSize(item: Item): void {
  if (itemBytes(item) > ITEM_BYTES_MAX) throw new TableFault('ValidationException');
}
