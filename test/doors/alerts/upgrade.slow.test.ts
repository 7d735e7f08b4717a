/**
 * The notifier of the second edition is replaced in the middle of each script, rolled back, and replaced again. Nothing
 * is lost or told twice, and what one version has opened the other one ends.
 */

import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { createNotifier } from '../../../functions/notifier/create-handler.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import type { Item } from '../../../shared/store/table.ts';
import { type Notifiers, secondEdition } from '../second-edition.ts';
import { COUNTS_OTHERS, faultsOf } from './checks.ts';
import { play } from './play.ts';
import { at, fails, happens, msOf, operation, type Script, withdraws } from './script.ts';
import { scripts } from './scripts.ts';
import { textsOf } from './slack-stand-in.ts';
import { START_MS, type World } from './world.ts';

const ITEMS = new URL('../../fixtures/alerts-286368fb/items.json', import.meta.url);

let old: Notifiers['createNotifier'];
beforeAll(async () => {
  old = (await secondEdition()).createNotifier;
});

/** The second edition hears of no moves, and forgets what it has not told because a person had acknowledged it. */
const UNKNOWN: ReadonlySet<string> = new Set(['moved', 'withdrawn-goes-on', 'acknowledged-ends']);

const known = scripts.filter(({ name }) => !UNKNOWN.has(name));

describe('a notifier that is replaced and rolled back', () => {
  test.each(known)('keeps what must hold: $says', { timeout: 120_000 }, async (whole) => {
    const script = withTimeToGather(whole);
    const undisturbed = await play(script, 'bot');
    const random = seededRandom(script.name.length);
    const world = await play(script, 'bot', (played) => {
      played.deploy(old);
      for (const [place, version] of [createNotifier, old, createNotifier].entries()) {
        const quarter = msOf(whole.until) / 4;
        played.time.at(START_MS + quarter * place + random.next() * quarter, () => played.deploy(version));
      }
    });

    expect(faultsOf(script, world)).toEqual([]);
    // A list on Slack names twenty operations, of the older version all of them.
    const named = Object.entries(lastSaid(undisturbed)).filter(([, said]) => said !== undefined);
    expect(lastSaid(world)).toMatchObject(Object.fromEntries(named));
  });
});

describe("what people decided at the second edition's API", () => {
  test("holds for today's notifier, and is taken back at today's API", async () => {
    const items = JSON.parse(await readFile(ITEMS, 'utf8')) as readonly Item[];
    const inTill = (id: string) => operation(id, { project: 'till' });
    let shown: unknown;
    const world = await play(
      {
        name: 'taken-over',
        says: 'What was acknowledged and muted before the upgrade wakes nobody until it is withdrawn and lifted.',
        policy: { gather_seconds: 0, patience_seconds: 0 },
        channels: ['slack', 'email'],
        steps: [
          ...at(
            '10:00',
            happens('the upgrade', async ({ memory }) => {
              for (const { pk, sk, ...set } of items) await memory.update({ key: { pk, sk }, set });
            }),
          ),
          ...at('12:00', fails(operation('op-4')), fails(inTill('op-5'))),
          ...at(
            '15:00',
            happens('the API shows the incident', async (played) => {
              shown = await played.people().incident({ project: 'shop', action: 'start_compute' });
            }),
            withdraws(operation('op-1')),
            happens('the mute is lifted', (played) => played.people().liftAll()),
          ),
          ...at('20:00', fails(operation('op-6')), fails(inTill('op-7'))),
        ],
        until: '40:00',
      },
      'bot',
    );

    expect(shown).toMatchObject({ acknowledged: { client_id: 'marta', reason: 'on it' } });
    const told = ['op-4', 'op-5', 'op-6', 'op-7'].map((id) => [id, ...minutesOf(world, id)]);
    // The message on Slack lists what fails when it is edited, because nobody takes care of it any more.
    expect(told).toEqual([
      ['op-4', 15],
      ['op-5', 15, 15],
      ['op-6', 20, 20],
      ['op-7', 20, 20],
    ]);
  });
});

/** Returns the minute of the first message that names the operation, on Slack and by e-mail. */
function minutesOf({ channels }: World, id: string): readonly number[] {
  return (['slack', 'email'] as const).flatMap((channel) => {
    const naming = channels.sends.filter((send) => send.channel === channel && send.isTaken);
    const first = naming.find((send) => JSON.stringify(send).includes(id));
    return first === undefined ? [] : [Math.floor((first.atMs - START_MS) / 60_000)];
  });
}

/** The second edition gathers for up to forty minutes after each message about an account, critical alerts, too. */
function withTimeToGather(script: Script): Script {
  return {
    late: 'The second edition gathers what is critical.',
    ...script,
    until: `${msOf(script.until) / 3_600_000 + 1}:00:00`,
  };
}

const GOOD = '#2e7d32';

/** Returns whether the last message on Slack that names each operation says that its trouble is over, by its line in a list or else by its colour. */
function lastSaid({ channels, story }: World): Readonly<Record<string, 'open' | 'over' | undefined>> {
  const ids = new Set(story.events.flatMap(({ detail }) => detail['operation_id'] ?? []).map(String));
  const shown = channels.sends.flatMap(({ slack, isTaken }) => (isTaken && slack ? [slack.body] : []));
  return Object.fromEntries(
    [...ids].map((id) => {
      const names = (text: string) => new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(text);
      const last = shown.findLast((body) => {
        const text = JSON.stringify(body);
        return names(text) || COUNTS_OTHERS.test(text);
      });
      if (!names(JSON.stringify(last ?? {}))) return [id, undefined];
      const texts = (last?.attachments?.[0]?.blocks ?? []).flatMap(textsOf);
      const isList = texts.some((text) => /^\*\d+ alerts of /.test(text));
      const line = isList ? texts.flatMap((text) => text.split('\n')).find(names) : undefined;
      const isOver =
        line === undefined
          ? last?.attachments?.[0]?.color === GOOD
          : /` (recovered|cancelled|ended)/.test(line);
      return [id, last && (isOver ? 'over' : 'open')];
    }),
  );
}
