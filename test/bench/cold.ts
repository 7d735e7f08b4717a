/**
 * `npm run bench -- cold` measures what a cold start loads. Each bundle is imported as it is deployed, in fresh
 * processes, alternating with an empty module and with a bare bundle of two AWS clients. The results are ratios
 * within one run.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundleEntry, bundleFunction, FOR_LAMBDA } from '../../infra/aws/bundle.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
const folder = mkdtempSync(join(tmpdir(), 'cold-'));
const ENVIRONMENT = {
  TABLE_NAME: 'table',
  EVENT_BUS_NAME: 'bus',
  SENDING_INSTANCES_MAX: '2',
  TOKEN_PEPPER_SECRET_ID: 'pepper',
  QUEUE_KEY_SECRET_ID: 'queue-key',
  COMMANDS_QUEUE_URL: 'https://queue/commands.fifo',
  ALERT_CHANNELS: '[]',
  ACCOUNTS: JSON.stringify([
    { account_id: 'main', upstream_base_url: 'https://host/api/v2', key_secret_id: 'key' },
  ]),
  ALERT_TOPIC_ARN: 'arn:aws:sns:us-east-1:000000000000:alerts',
  AWS_REGION: 'us-east-1',
};

const emptyModule = join(folder, 'empty.mjs');
writeFileSync(emptyModule, 'export const handler = () => {};');
const bareBundle = (name: string, isDeployed = false) => {
  const bundle = join(folder, `${name}${isDeployed ? '-deployed' : ''}.mjs`);
  bundleEntry(join(import.meta.dirname, `${name}.ts`), bundle, isDeployed ? FOR_LAMBDA : {});
  return bundle;
};
const modules = {
  'an empty module': emptyModule,
  'two AWS clients': bareBundle('bare-sdk'),
  'bare packages': bareBundle('bare-packages'),
  'clients, bundled': bareBundle('bare-sdk', true),
  poller: join(bundleFunction('poller', folder), 'index.mjs'),
  api: join(bundleFunction('api', folder), 'index.mjs'),
  notifier: join(bundleFunction('notifier', folder), 'index.mjs'),
};

const PROBE =
  'const s=performance.now();await import(process.argv[1]);const e=performance.now();' +
  'const {user,system}=process.cpuUsage();process.stdout.write((e-s)+" "+(user+system)/1e3)';
const times = new Map(
  Object.keys(modules).map((name) => [
    name,
    { import: [] as number[], start: [] as number[], processor: [] as number[] },
  ]),
);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, path] of Object.entries(modules)) {
    const startedMs = performance.now();
    const text = execFileSync(process.execPath, ['--input-type=module', '-e', PROBE, path], {
      env: { ...process.env, ...ENVIRONMENT },
      encoding: 'utf8',
    });
    times.get(name)?.start.push(performance.now() - startedMs);
    const [importMs = Number.NaN, processorMs = Number.NaN] = text.split(' ').map(Number);
    times.get(name)?.import.push(importMs);
    times.get(name)?.processor.push(processorMs);
  }
}

type Measure = 'import' | 'start' | 'processor';
const median = (name: string, what: Measure) =>
  times.get(name)?.[what].toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
const ratio = (name: string, what: Measure, to: string) => (median(name, what) / median(to, what)).toFixed(2);

console.log(
  `${ROUNDS} cold starts of each module, alternating; medians. "start" is the whole process, "import" is the module alone, "processor" the time of the processor for both.\n`,
);
const head = [
  'module',
  'bytes',
  'import ms',
  '/ two clients',
  '/ packages',
  'start / empty',
  '/ two clients',
  'processor ms',
  '/ two clients',
];
console.log(cells(head));
for (const [name, path] of Object.entries(modules)) {
  console.log(
    cells([
      name,
      String(startBytes(path)),
      median(name, 'import').toFixed(1),
      ratio(name, 'import', 'two AWS clients'),
      ratio(name, 'import', 'bare packages'),
      ratio(name, 'start', 'an empty module'),
      ratio(name, 'start', 'two AWS clients'),
      median(name, 'processor').toFixed(1),
      ratio(name, 'processor', 'two AWS clients'),
    ]),
  );
}

/** Returns the bytes of all files that the start loads. What is loaded on demand is not among them. */
function startBytes(path: string, seen = new Set<string>()): number {
  if (seen.has(path)) return 0;
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  const imported = text.matchAll(/(?:from|import)\s*"(\.\/[\w.-]+\.mjs)"/g);
  const others = [...imported].map(([, file = '']) => startBytes(join(dirname(path), file), seen));
  return others.reduce((sum, bytes) => sum + bytes, Buffer.byteLength(text));
}

function cells([first = '', ...rest]: readonly string[]): string {
  return [first.padEnd(16), ...rest.map((cell) => cell.padStart(14))].join('');
}
