/** `start --data` keeps what it writes to its own user, whatever the umask is and whoever made the folder. */

import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { startBridgeOnThisMachine } from '../../cli/bridge-on-this-machine.ts';
import { aFolder } from '../../local/a-folder.ts';

/** Returns what other users of this machine may do, by the path below the folder. */
function openedToOthers(folder: string): readonly string[] {
  return ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })].flatMap((name) => {
    const { mode } = statSync(join(folder, name));
    return (mode & 0o077) === 0 ? [] : [`${name} has mode ${(mode & 0o777).toString(8)}`];
  });
}

function leftOpen(folder: string): void {
  mkdirSync(join(folder, 'tables'), { recursive: true });
  writeFileSync(join(folder, 'alerts.txt'), 'Subject: an alert of an older version\n');
  for (const [path, mode] of [
    ['alerts.txt', 0o644],
    ['tables', 0o755],
    ['.', 0o755],
  ] as const)
    chmodSync(join(folder, path), mode);
}

test.each([
  ['a folder that the run makes', () => undefined],
  ['a folder that an older version has left open', leftOpen],
])('all that a run keeps in %s is closed to other users', { timeout: 180_000 }, async (_kind, prepare) => {
  const folder = join(aFolder(), 'state');
  prepare(folder);

  await using bridge = await startBridgeOnThisMachine([
    '--data',
    folder,
    '--projects',
    '10',
    '--speed',
    '10',
  ]);
  while (!bridge.output().includes('ALERT')) await systemClock.sleep(100);

  expect(openedToOthers(folder)).toEqual([]);
  expect(readdirSync(folder)).toEqual(
    expect.arrayContaining([
      'alerts.txt',
      'bridge.json',
      'events.jsonl',
      'poller.log',
      'queue-key',
      'tables',
      'token-pepper',
    ]),
  );
});
