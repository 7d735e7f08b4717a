/**
 * The notifier of the second edition is replaced in the middle of each script, rolled back, and replaced again. Nothing
 * is lost or told twice, and what one version has opened the other one ends.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { createNotifier } from '../../../functions/notifier/create-handler.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { type Notifiers, secondEdition } from '../second-edition.ts';
import { faultsOf } from './checks.ts';
import { play } from './play.ts';
import { msOf, type Script } from './script.ts';
import { scripts } from './scripts.ts';
import { START_MS, type World } from './world.ts';

let old: Notifiers['createNotifier'];
beforeAll(async () => {
  old = (await secondEdition()).createNotifier;
});

describe('a notifier that is replaced and rolled back', () => {
  test.each(scripts)('keeps what must hold: $says', { timeout: 120_000 }, async (whole) => {
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
    const named = Object.entries(lastColours(undisturbed)).filter(([, color]) => color !== undefined);
    expect(lastColours(world)).toMatchObject(Object.fromEntries(named));
  });
});

/** The second edition gathers for up to forty minutes after each message about an account, critical alerts, too. */
function withTimeToGather(script: Script): Script {
  return {
    late: 'The second edition gathers what is critical.',
    ...script,
    until: `${msOf(script.until) / 3_600_000 + 1}:00:00`,
  };
}

/** Returns the colour of the last message on Slack that names each operation: it says whether its trouble is over. */
function lastColours({ channels, story }: World): Readonly<Record<string, string | undefined>> {
  const ids = new Set(story.events.flatMap(({ detail }) => detail['operation_id'] ?? []).map(String));
  const shown = channels.sends.flatMap(({ slack, isTaken }) => (isTaken && slack ? [slack.body] : []));
  return Object.fromEntries(
    [...ids].map((id) => {
      const last = shown.findLast((body) =>
        new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(JSON.stringify(body)),
      );
      return [id, last?.attachments?.[0]?.color];
    }),
  );
}
