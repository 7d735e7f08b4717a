/**
 * Keeps a message about many incidents as a list: what follows of them changes their lines, as long as it is not
 * critical. A list is made anew from the notices that it shows, so that an edit says the same however often it is sent.
 */

import { incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { ShownList } from '../channels/channel.ts';
import type { Thread } from '../deciding/incident.ts';
import { careOf } from '../deciding/incident-record.ts';
import type { Message, Notice } from '../deciding/notice.ts';
import { rankOf } from '../deciding/policy.ts';
import { latestOfEach } from '../deciding/waking.ts';
import type { KnownNotice, StoredIncident, StoredIncidents } from './channel-state.ts';
import { isOnlyListed, withContext } from './plan-messages.ts';
import type { SendDeps, Turn } from './turn.ts';

type Place = Pick<Turn, 'deps' | 'channel'>;

/** No incident has such a name, because the parts of a name have no space. */
async function readList({ deps, channel }: Place, { ts }: Thread): Promise<StoredIncident | undefined> {
  const name = `list ${ts}`;
  return (await deps.store.incidents.readMany(channel.name, [name])).get(name);
}

/** When a list remembers more notices than this, it forgets those of which it shows a later one. */
const LISTED_MAX = 500;

/** Remembers that the list shows these notices as well. Doing it twice changes nothing. */
export async function noteListed(place: Place, thread: Thread, sks: readonly string[]) {
  const stored = await readList(place, thread);
  if (stored === undefined) return;
  const all = [...new Set([...(stored.incident.listed ?? []), ...sks])];
  const listed = all.length > LISTED_MAX ? (await readShown(place, all)).map(({ sk }) => sk) : all;
  const { deps, channel } = place;
  await deps.store.incidents.change(channel.name, stored, (incident) => ({ ...incident, listed }));
}

/** Resolves to the latest notice of each operation, in the order of the list. */
async function readShown({ deps, channel }: Place, sks: readonly string[]): Promise<readonly KnownNotice[]> {
  const known = new Map(
    (await deps.store.waiting.readKnown(channel.name, sks)).map((one) => [one.sk, one] as const),
  );
  const ordered = sks.flatMap((sk) => known.get(sk) ?? []);
  const latest = new Set(latestOfEach([ordered.map(({ notice }) => notice)]).flat());
  return ordered.filter(({ notice }) => latest.has(notice));
}

/**
 * Resolves to the list as it is with this message in it. It is undefined when the message belongs to no list, or to one
 * that would be longer than a message of the channel. An alert is never lost for its list: it then has a message.
 */
export async function listWith(
  place: Place,
  thread: Thread | undefined,
  { message, incidents }: { readonly message: Message; readonly incidents: StoredIncidents },
): Promise<ShownList | undefined> {
  if (thread?.is_of_many !== true) return undefined;
  const { deps, channel } = place;
  try {
    const { listed = [] } = (await readList(place, thread))?.incident ?? {};
    const before = (await readShown(place, listed)).map(({ notice }) => notice);
    if (before.length === 0) return undefined;
    const all = latestOfEach([[...before, ...message.flat()]])
      .flat()
      .toSorted((a, b) => rankOf(b.severity) - rankOf(a.severity));
    const { noticesPerMessageMax } = channel.pace;
    if (all.slice(noticesPerMessageMax).some(({ severity }) => severity !== 'info')) return undefined;
    const shown = all.slice(0, noticesPerMessageMax);
    return {
      message: await withContext(deps, [shown]),
      careOf: await caresOf(deps, shown),
      isEnough: message.flat().every((notice) => isOnlyListed(notice, incidents)),
    };
  } catch (error) {
    deps.telemetry.log('warn', 'alert.list_not_read', { reason: toError(error).name });
    return undefined;
  }
}

/** Resolves to a function that returns who takes care of what a notice is about, unless that was before it. */
async function caresOf(
  { store, policy, clock }: SendDeps,
  notices: readonly Notice[],
): Promise<ShownList['careOf']> {
  const byAccount = Map.groupBy(notices, ({ account_id }) => account_id);
  const records = await Promise.all(
    [...byAccount].map(([accountId, own]) =>
      store.incidentsOf(accountId).readMany(own.map((notice) => incidentIdOf(incidentOf(notice)))),
    ),
  );
  const known = new Map(records.flat().map((record) => [record.incident_id, record]));
  return (notice) => {
    const record = known.get(incidentIdOf(incidentOf(notice)));
    if (record === undefined || record.began_at > notice.observed_at) return {};
    return careOf(record, policy.stored_mutes ?? [], clock.now());
  };
}
