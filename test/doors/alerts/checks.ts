/** Checks what must hold in every script, whatever its golden file says: nothing is lost, and nothing is told twice. */

import { CHANNELS, type ChannelName, type Send } from './channels.ts';
import { msOf, type Script } from './script.ts';
import type { BusEvent } from './story.ts';
import type { World } from './world.ts';

/** Returns a sentence for each thing that must not be. */
export function faultsOf(script: Script, world: World): readonly string[] {
  const set = script.channels ?? CHANNELS;
  return [
    ...set.flatMap((name) => lostOn(name, script, world)),
    ...set.flatMap((name) => repeatedOn(name, script, world)),
    ...set.flatMap((name) => tooFastOn(name, world)),
    ...set.flatMap((name) => lateOn(name, script, world)),
    ...spilled(world),
    ...malformed(script, world),
  ];
}

/** What a channel shows of an operation for the first time, in contrast to an edit or a resolution. */
function isNew({ isTaken, slack, pager, webhook }: Send): boolean {
  return (
    isTaken &&
    slack?.call !== 'edit' &&
    webhook?.isCopy !== true &&
    (pager?.event_action ?? 'trigger') === 'trigger'
  );
}

/** A list on Slack names twenty operations, counts the others, and links to all of them. */
export const COUNTS_OTHERS = /and \d+ more <[^>]*\|in the console>/;

function tells(send: Send, id: string): boolean {
  return names(send, id) || (send.channel === 'slack' && COUNTS_OTHERS.test(JSON.stringify(send.slack)));
}

function names(send: Send, id: string): boolean {
  return new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(JSON.stringify(send));
}

/** An operation that is in trouble at the end stands in a message on every channel. */
function lostOn(name: ChannelName, { untold = {} }: Script, { channels, story }: World): readonly string[] {
  const shown = channels.sends.filter((send) => send.channel === name && send.isTaken);
  return (
    [...Map.groupBy(story.events.filter(isOfOperation), ({ detail }) => String(detail['operation_id']))]
      .filter(([, events]) => isInTrouble(events))
      // A pager is for what is critical, unless the policy says otherwise.
      .filter(([, events]) => name !== 'pagerduty' || events.some(isCritical))
      .map(([id]) => id)
      .filter((id) => untold[id] === undefined && untold[`${id} on ${name}`] === undefined)
      .filter((id) => !shown.some((send) => tells(send, id)))
      .map((id) => `${id} is in trouble, and ${name} was told nothing of it`)
  );
}

function isOfOperation({ detail }: BusEvent): boolean {
  return typeof detail['operation_id'] === 'string' && detail['observed_by'] !== 'backfill';
}

function isInTrouble(events: readonly BusEvent[]): boolean {
  const changes = events.filter(({ detail }) => typeof detail['sequence'] === 'number');
  const latest = changes
    .toSorted((a, b) => Number(a.detail['sequence']) - Number(b.detail['sequence']))
    .at(-1);
  const status = latest?.detail['status'];
  if (events.some((event) => event['detail-type'] === 'Operation Watch Ended')) return true;
  const isStalled = events.some((event) => event['detail-type'] === 'Operation Stalled');
  return status === 'failed' || status === 'error' || (isStalled && latest?.detail['terminal'] !== true);
}

/** An event stands in one message of a channel, and a failure that goes on in one more each day. */
function repeatedOn(
  name: ChannelName,
  { copiesMax = 0, until }: Script,
  { channels, story }: World,
): readonly string[] {
  const shown = channels.sends.filter((send) => send.channel === name && isNew(send));
  const days = Math.floor(msOf(until) / 86_400_000);
  const perOperation = Map.groupBy(story.events.filter(isOfOperation), ({ detail }) =>
    String(detail['operation_id']),
  );
  return [...perOperation].flatMap(([id, events]) => {
    const times = shown.filter((send) => names(send, id)).length;
    const most = events.length + days + copiesMax;
    return times > most
      ? [`${name} names ${id} in ${times} messages, and ${events.length} events were about it`]
      : [];
  });
}

/** As the documentation promises: this many messages at most begin in this time. */
const PACES: Readonly<Partial<Record<ChannelName, readonly [count: number, ms: number]>>> = {
  slack: [5, 60_000],
  email: [1, 30_000],
  webhook: [30, 60_000],
};

function tooFastOn(name: ChannelName, { channels }: World): readonly string[] {
  const [most, spanMs] = PACES[name] ?? [Number.POSITIVE_INFINITY, 0];
  const times = channels.sends.filter((send) => send.channel === name && isNew(send)).map(({ atMs }) => atMs);
  return times
    .filter((startMs) => times.filter((atMs) => atMs >= startMs && atMs < startMs + spanMs).length > most)
    .slice(0, 1)
    .map((startMs) => `${name} was sent too much after ${new Date(startMs).toISOString()}`);
}

/** What is critical reaches every channel within a minute, and the next sweep begins within half a minute of that. */
const CRITICAL_MS_MAX = 60_000;

function lateOn(name: ChannelName, { untold = {}, late }: Script, { channels, story }: World) {
  if (late !== undefined) return [];
  const shown = channels.sends.filter((send) => send.channel === name && send.isTaken);
  return story.events
    .filter((event) => isOfOperation(event) && isCritical(event))
    .filter(({ detail }) => {
      const id = String(detail['operation_id']);
      if (untold[id] !== undefined || untold[`${id} on ${name}`] !== undefined) return false;
      const atMs = Date.parse(String(detail['observed_at']));
      return !shown.some(
        (send) => send.atMs >= atMs && send.atMs <= atMs + CRITICAL_MS_MAX && tells(send, id),
      );
    })
    .map(
      ({ detail }) =>
        `${name} is not told within a minute that ${String(detail['operation_id'])} is critical`,
    );
}

function isCritical({ detail }: BusEvent): boolean {
  const isThird = detail['status'] === 'failed' && Number(detail['failures_count']) >= 3;
  return detail['status'] === 'error' || isThird || detail['reason'] === 'not_retried';
}

function spilled({ logged, secrets, channels }: World): readonly string[] {
  const texts = [
    ...logged,
    ...channels.sends.map((send) => JSON.stringify({ ...send, pager: { ...send.pager, routing_key: '' } })),
  ];
  return [...secrets].flatMap(([id, secret]) =>
    secret !== '' && texts.some((text) => text.includes(secret))
      ? [`The secret ${id} stands in a log line or message`]
      : [],
  );
}

/** Returns what a service refused although it worked: a message that breaks the service's own rules. */
function malformed({ hasWrongSecret = false }: Script, { channels }: World): readonly string[] {
  if (hasWrongSecret) return [];
  const own = /^(no_text|invalid_|msg_|answers 4(?!29)|answers InvalidParameter)/;
  return channels.sends
    .filter(({ isTaken, trouble = '', byMood }) => !isTaken && byMood !== true && own.test(trouble))
    .map(({ channel, trouble }) => `${channel} refuses a message: ${trouble}`);
}
