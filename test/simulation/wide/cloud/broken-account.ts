/** Gives the lane a second account of which one thing works never again. It is not judged: its neighbour is. */

import { seededRandom } from '../../../../shared/runtime/random.ts';
import { type Key, KeysUnreadError, type Table } from '../../../../shared/store/table.ts';
import type { HttpRequest, SendHttp } from '../../../../shared/upstream/pooled-http.ts';
import type { Process } from '../../scheduler.ts';
import { dice } from '../plan.ts';
import { httpAnswer, inTime, whole } from '../upstream/http-answer.ts';
import type { WideWorld } from '../world.ts';
import { TableFault } from './table.ts';

export const BROKEN_ID = 'broken';
export const BROKEN_URL = 'https://broken.simulated/api/v2';

const TROUBLES = ['hangs', 'fails', 'refuses the key', 'table is throttled'] as const;

interface Ports {
  readonly table: Table;
  readonly http: SendHttp;
}

/** Returns the ports of a lane that has the account, or the same ones in a run that does not have it. */
export function withBrokenAccount(world: WideWorld, owner: Process, ports: Ports): Ports {
  const { seed, faults } = world.plan;
  if (faults.account_broken === 0) return ports;
  const trouble = dice(seededRandom(seed ^ BROKEN_SALT)).pick(TROUBLES);
  const clock = world.scheduler.clockOf(owner);
  return {
    http: (request) =>
      request.url.hostname === BROKEN_HOST
        ? inTime(clock, request, () => exchange(request))
        : ports.http(request),
    table: trouble === 'table is throttled' ? throttled(world, ports.table) : ports.table,
  };

  async function exchange({ signal }: HttpRequest) {
    world.fire('account_broken');
    await clock.sleep(ANSWER_MS, signal);
    const headers = { 'content-type': 'application/json', date: new Date(clock.now()).toUTCString() };
    if (trouble === 'hangs') return new Promise<never>(() => {});
    if (trouble === 'fails')
      return httpAnswer(500, headers, whole('{"message":"something went wrong","code":""}'));
    if (trouble === 'refuses the key') return httpAnswer(401, headers, whole('{"message":"no","code":""}'));
    return httpAnswer(200, headers, whole('{"projects":[],"pagination":{}}'));
  }
}

const BROKEN_SALT = 0xb10c;
const BROKEN_HOST = new URL(BROKEN_URL).hostname;
const ANSWER_MS = 100;

/** Every item of the account stays too busy, and nothing else does. */
function throttled(world: WideWorld, table: Table): Table {
  const isBusy = ({ pk }: Key) => pk.split('#').includes(BROKEN_ID);
  const refused = async () => {
    world.fire('account_broken');
    throw new TableFault('ProvisionedThroughputExceededException');
  };
  return {
    ...table,
    get: (key) => (isBusy(key) ? refused() : table.get(key)),
    update: (update) => (isBusy(update.key) ? refused() : table.update(update)),
    async getMany(keys) {
      const busy = keys.filter(isBusy);
      const items = await table.getMany(keys.filter((key) => !isBusy(key)));
      if (busy.length === 0) return items;
      world.fire('account_broken');
      throw new KeysUnreadError('bridge', items, busy);
    },
  };
}
