/**
 * Compiles the CDK programs and runs them as `cdk deploy` does, in a project that has nothing but the CDK. One process
 * runs them all, because loading the CDK takes longer than everything else.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROOT } from '../../infra/release/project.ts';
import { subscriptionPattern } from '../../shared/events/subscription/subscription.ts';
import { deliveryFaults, type Template } from './delivery-faults.ts';
import { aSubscription, fileOf, subscriptions, TARGETS } from './subscriptions.ts';

// Each process loads the CDK, which takes a busy machine a while.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** The values need quotes and escapes in TypeScript. */
const subscription = aSubscription({ projects: ["it's", 'a\\b', '"c"'], replays: 'left_out' });
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cdk-programs-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const target of TARGETS)
    writeFileSync(join(folder, `${target}.ts`), fileOf(subscription, { target, form: 'cdk' }).text);
  synthesizeAll();
});

afterAll(() => rmSync(folder, { recursive: true }));

test('the programs compile with strict types', () => {
  const files = TARGETS.map((target) => join(folder, `${target}.ts`));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = [
    '--noEmit',
    '--ignoreConfig',
    '--strict',
    '--noUnusedLocals',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
  ];
  const { status, stdout } = spawnSync(process.execPath, [compiler, ...options, ...files], {
    encoding: 'utf8',
  });

  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});

describe.each(TARGETS)('the program for %s', (target) => {
  test('synthesizes a template that delivers the pattern of the subscription', () => {
    const template = templateOf(target);
    const rule = Object.values(template.Resources).find(({ Type }) => Type === 'AWS::Events::Rule');

    expect(deliveryFaults(template)).toEqual([]);
    expect(rule?.Properties?.['EventPattern']).toEqual(subscriptionPattern(subscription));
    expect(rule?.Properties?.['EventBusName']).toEqual({ Ref: 'BusName' });
    expect(template.Resources['DeadLetters']?.Properties?.['QueueName']).toBe('my-Rule2-dead-letters');
  });
});

test('the key of an HTTPS address is read from Secrets Manager by CloudFormation', () => {
  expect(JSON.stringify(templateOf('https'))).toContain('{{resolve:secretsmanager:');
});

test('every pattern stands in the program as it is, whatever its values look like', () => {
  fc.assert(
    fc.property(subscriptions, (each) => {
      const { text } = fileOf(each, { target: 'sqs', form: 'cdk' });
      const [, literal] = /EventPattern: (\{[\s\S]*?\}),\n {4}Targets: \[/.exec(text) ?? [];

      expect(runInNewContext(`(${literal})`)).toEqual(subscriptionPattern(each));
    }),
  );
});

const outdirOf = (target: string) => join(folder, `${target}.out`);

/** The CDK writes into the folder of `CDK_OUTDIR` when the process ends, as it does for `cdk synth`. */
function synthesizeAll(): void {
  const runs = TARGETS.map(
    (target) =>
      `process.env.CDK_OUTDIR = ${JSON.stringify(outdirOf(target))};\nawait import('./${target}.ts');\n`,
  );
  writeFileSync(join(folder, 'run-all.ts'), runs.join(''));
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'run-all.ts')], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`A program failed:\n${stderr}`);
}

function templateOf(target: string): Template {
  const file = readdirSync(outdirOf(target)).find((name) => name.endsWith('.template.json')) ?? '';
  return JSON.parse(readFileSync(join(outdirOf(target), file), 'utf8')) as Template;
}
