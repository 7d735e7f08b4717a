/**
 * Plays each script of events, channels and people against the notifier's handler, and compares what every channel was sent with
 * the script's golden file. `UPDATE_GOLDEN=1 npm test -- test/doors/alerts/alerts` writes the files anew; a person reads what has changed.
 */

import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { faultsOf } from './checks.ts';
import { goldenOf, othersOf } from './golden.ts';
import { play } from './play.ts';
import { scripts } from './scripts.ts';

const FOLDER = new URL('golden/', import.meta.url);
const isUpdate = process.env['UPDATE_GOLDEN'] === '1';

describe('the golden file of a script', () => {
  test.each(scripts)('$name: $says', { timeout: 120_000 }, async (script) => {
    const byBot = await play(script, 'bot');
    const byWebhook = script.channels?.includes('slack') === false ? byBot : await play(script, 'webhook');
    const golden = goldenOf(script, [byBot, byWebhook]);
    const file = new URL(`${script.name}.txt`, FOLDER);
    if (isUpdate) await writeFile(file, golden);

    expect(faultsOf(script, byBot)).toEqual([]);
    expect(faultsOf(script, byWebhook)).toEqual([]);
    expect(othersOf(script, byWebhook)).toBe(othersOf(script, byBot));
    expect(golden).toBe(
      await readFile(file, 'utf8').catch(() => `${script.name}.txt is missing: UPDATE_GOLDEN=1 writes it`),
    );
  });

  test('belongs to a script of its name', async () => {
    const known = new Set(scripts.map(({ name }) => `${name}.txt`));
    const strays = (await readdir(FOLDER)).filter((file) => !known.has(file));
    if (isUpdate) for (const file of strays) await rm(new URL(file, FOLDER));

    expect(known.size).toBe(scripts.length);
    expect(isUpdate ? [] : strays).toEqual([]);
  });
});
