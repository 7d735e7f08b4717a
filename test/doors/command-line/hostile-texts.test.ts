/** What an upstream writes into its rows never commands the terminal of `start` or `listen`, and begins no line of its own. */

import { expect, test } from 'vitest';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { startBridgeOnThisMachine } from '../../cli/bridge-on-this-machine.ts';
import { HOSTILE_TEXTS, startHostileUpstream } from './hostile-upstream.ts';

/** The characters that a terminal obeys, or that turn and split what it shows. */
const OBEYED = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

test('no text of the upstream reaches a terminal as a command or as a line of its own', {
  timeout: 180_000,
}, async () => {
  const upstream = await startHostileUpstream();
  const bridge = await startBridgeOnThisMachine(['--upstream', upstream.baseUrl], {
    UPSTREAM_API_KEY: upstream.apiKey,
  });
  const linesOf = (output: string) => output.split('\n').filter((line) => line.includes(upstream.projectId));
  let listened = '';
  try {
    const { output } = await bridge.run([
      'listen',
      '--since',
      'beginning',
      '--count',
      `${HOSTILE_TEXTS.length}`,
    ]);
    listened = output;
    while (linesOf(bridge.output()).length < HOSTILE_TEXTS.length) await systemClock.sleep(100);
  } finally {
    // Ctrl-C: the run says what it has seen.
    await bridge[Symbol.asyncDispose]();
  }

  expect(bridge.output()).toMatch(/events of 1 project: 1 a/);
  for (const output of [listened, bridge.output()]) {
    expect(output.match(OBEYED) ?? []).toEqual([]);
    expect(linesOf(output)).toHaveLength(HOSTILE_TEXTS.length);
    expect(output).not.toMatch(/^12:00:00/m);
  }
});
