/** A stranger's text in an event costs the notifier no more than its length. */

import { expect, test } from 'vitest';
import { aNotifier, anEvent, idsOf } from '../../notifier/channel-under-test.ts';
import { isInProportion, LENGTHS, LONG_SECRET, LONG_TEXTS, textOf, timesOfPlain } from '../long-texts.ts';

const texts = Object.entries(LONG_TEXTS).flatMap(([name, part]) =>
  LENGTHS.map((length) => [length, name, part] as const),
);

test.each(texts)('a failure whose error has %i characters of %s is reported', async (length, _name, part) => {
  const notifier = aNotifier();
  const report = (error: string) => notifier.deliver(anEvent({ error }));

  expect(isInProportion(await timesOfPlain(report, part, length))).toBe(true);
  const event = anEvent({ error: textOf(part, length), operation_id: 'another' });
  notifier.wait(60_000);
  await notifier.deliver(event);
  await notifier.pass(10);
  expect(idsOf(notifier.slack)).toContain(event.detail.id);
});

test('an error is searched for secrets as far as a secret in what is kept of it can reach, and no further', async () => {
  const notifier = aNotifier();
  await notifier.deliver(anEvent({ error: `${LONG_SECRET} behind` }));

  const shown = JSON.stringify(notifier.slack.messages);
  expect(shown).toContain('[hidden]');
  expect(shown).not.toContain('behind');
});
