import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { runLocalBridge } from '../../infra/local/local-bridge.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { aFolder } from './a-folder.ts';
import { parseStartOptions } from './start-options.ts';

/** Runs a bridge until it is ready. Resolves to what it has printed. */
async function run(folder: string): Promise<string> {
  const stop = new AbortController();
  let printed = '';
  await runLocalBridge(parseStartOptions(['--projects', '1', '--data', folder], {}), {
    signal: stop.signal,
    print: (line) => {
      printed += `${line}\n`;
    },
    style: { isColoured: false },
    clock: systemClock,
    onReady: () => stop.abort(),
  });
  return printed;
}

describe('damaged tables of a data folder', { timeout: 120_000 }, () => {
  let folder: string;
  let tables: string;

  /** The second start moves what is in the log into a file of its own. */
  beforeEach(async () => {
    folder = aFolder();
    tables = join(folder, 'tables');
    await run(folder);
    await run(folder);
  });

  const fileOf = (ending: string) =>
    join(tables, readdirSync(tables).find((name) => name.endsWith(ending)) ?? '');

  const refusal = (damage: string) =>
    `The tables in ${tables} are damaged (${damage}). Put a copy of the folder of --data back, or move the folder away to begin anew.`;

  test('are refused when the file is missing that names the others, and none of the others is deleted', async () => {
    const { length } = readdirSync(tables);
    rmSync(join(tables, 'CURRENT'));

    await expect(run(folder)).rejects.toThrow(refusal('the file CURRENT is missing'));
    expect(readdirSync(tables)).toHaveLength(length - 1);
  });

  test('are refused with the reason of the database when it cannot open them', async () => {
    writeFileSync(join(tables, 'CURRENT'), 'MANIFEST-000099\n');

    await expect(run(folder)).rejects.toThrow(
      refusal(`IO error: ${join(tables, 'MANIFEST-000099')}: No such file or directory`),
    );
  });

  test('are refused when a file of them is cut short, and not in the middle of the run', async () => {
    truncateSync(fileOf('.ldb'), 100);

    await expect(run(folder)).rejects.toThrow(/^The tables in .* are damaged \(.*\.ldb: Invalid argument\)/);
  });

  test('are refused when they are gone, although events were kept', async () => {
    appendFileSync(join(folder, 'events.jsonl'), '{}\n');
    rmSync(tables, { recursive: true });

    await expect(run(folder)).rejects.toThrow(refusal('the table is gone, although events of it were kept'));
  });

  test('are used on when a part was left out, which a line says', async () => {
    const log = fileOf('.log');
    const content = readFileSync(log);
    writeFileSync(log, content.fill(0xff, content.length - 100, content.length - 50));

    expect(await run(folder)).toMatch(
      /The tables in .* were damaged: \d+ bytes of \d+\.log \(Corruption: .*\) could not be read and are left out\./,
    );
  });
});
