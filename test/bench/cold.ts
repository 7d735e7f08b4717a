/**
 * `npm run bench:cold`: what a cold start loads. Each bundle, as deployed, is imported in fresh processes, in turn with an empty
 * module and with a bare bundle of two AWS clients; ratios of one run.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleEntry, bundleFunction } from '../../infra/aws/bundle.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
const folder = mkdtempSync(join(tmpdir(), 'cold-'));
const ENVIRONMENT = {
  TABLE_NAME: 'table',
  EVENT_BUS_NAME: 'bus',
  TOKEN_PEPPER_SECRET_ID: 'pepper',
  ACCOUNTS: JSON.stringify([
    { account_id: 'main', upstream_base_url: 'https://host/api/v2', key_secret_id: 'key' },
  ]),
  ALERT_TOPIC_ARN: 'arn:aws:sns:us-east-1:000000000000:alerts',
  AWS_REGION: 'us-east-1',
};

const emptyModule = join(folder, 'empty.mjs');
writeFileSync(emptyModule, 'export const handler = () => {};');
const bareEntry = join(import.meta.dirname, 'bare-sdk.ts');
const bareModule = join(folder, 'bare.mjs');
bundleEntry(bareEntry, bareModule);
const modules = {
  'an empty module': emptyModule,
  'two AWS clients': bareModule,
  poller: join(bundleFunction('poller', folder), 'index.mjs'),
  api: join(bundleFunction('api', folder), 'index.mjs'),
  notifier: join(bundleFunction('notifier', folder), 'index.mjs'),
};

const PROBE =
  'const s=performance.now();await import(process.argv[1]);process.stdout.write(String(performance.now()-s))';
const times = new Map(Object.keys(modules).map((name) => [name, [] as number[]]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, path] of Object.entries(modules)) {
    const text = execFileSync(process.execPath, ['--input-type=module', '-e', PROBE, path], {
      env: { ...process.env, ...ENVIRONMENT },
      encoding: 'utf8',
    });
    times.get(name)?.push(Number(text));
  }
}

const median = (name: string) => times.get(name)?.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
console.log(`${ROUNDS} cold imports each, in turn; median milliseconds\n`);
console.log(
  `${'module'.padEnd(18)}${'bytes'.padStart(10)}${'import'.padStart(10)}${'/ two clients'.padStart(16)}`,
);
for (const [name, path] of Object.entries(modules)) {
  console.log(
    `${name.padEnd(18)}${String(statSync(path).size).padStart(10)}${median(name).toFixed(1).padStart(10)}${(median(name) / median('two AWS clients')).toFixed(2).padStart(16)}`,
  );
}
