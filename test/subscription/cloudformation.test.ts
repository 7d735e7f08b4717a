import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { subscriptionPattern } from '../../shared/events/subscription/subscription.ts';
import { deliveryFaults, type Template } from './delivery-faults.ts';
import { aSubscription, fileOf, subscriptions, TARGETS } from './subscriptions.ts';

/** Reads the short forms as CloudFormation does (User Guide, "Intrinsic function reference"). */
function parseTemplate(text: string): Template {
  const customTags = [
    { tag: '!Ref', resolve: (name: string) => ({ Ref: name }) },
    { tag: '!GetAtt', resolve: (path: string) => ({ 'Fn::GetAtt': path.split('.') }) },
    { tag: '!Sub', resolve: (template: string) => ({ 'Fn::Sub': template }) },
  ];
  return parse(text, { customTags, version: '1.1' }) as Template;
}

const templateOf = (target: (typeof TARGETS)[number], fields = {}) =>
  fileOf(aSubscription(fields), { target, form: 'cloudformation' }).text;

describe.each(TARGETS)('the template for %s', (target) => {
  test('defines every name that it uses, and has a permission, a dead-letter queue and a retry policy', () => {
    expect(deliveryFaults(parseTemplate(templateOf(target)))).toEqual([]);
  });

  test.each(Object.keys(parseTemplate(templateOf(target)).Resources).filter((id) => id !== 'Mail'))(
    'would be found incomplete without %s',
    (id) => {
      const { Resources, ...rest } = parseTemplate(templateOf(target));
      const others = Object.fromEntries(Object.entries(Resources).filter(([each]) => each !== id));

      expect(deliveryFaults({ ...rest, Resources: others })).not.toEqual([]);
    },
  );

  test('has the pattern of the subscription, whatever its values look like', () => {
    fc.assert(
      fc.property(subscriptions, (subscription) => {
        const { text } = fileOf(subscription, { target, form: 'cloudformation' });
        const rule = parseTemplate(text).Resources['Rule'];

        expect(rule?.Properties?.['EventPattern']).toEqual(subscriptionPattern(subscription));
        expect(rule?.Properties?.['EventBusName']).toEqual({ Ref: 'BusName' });
      }),
      { numRuns: 50 },
    );
  });
});

test('the dead-letter queue has the name that api.dead_letter_queue_arns finds', () => {
  const { Resources } = parseTemplate(templateOf('sqs'));

  expect(Resources['DeadLetters']?.Properties?.['QueueName']).toBe('my-Rule2-dead-letters');
});

test('the key of an HTTPS address is never part of the template', () => {
  const { Parameters = {}, Resources } = parseTemplate(templateOf('https'));

  expect(Object.keys(Parameters)).toEqual(['BusName', 'Url', 'KeyHeader', 'KeySecret']);
  expect(JSON.stringify(Resources['Connection'])).toContain(
    `"ApiKeyValue":{"Fn::Sub":"{{resolve:secretsmanager:$\{KeySecret}}}"}`,
  );
});

test('cfn-lint finds nothing to correct, where it is installed', { timeout: 120_000 }, ({ skip }) => {
  if (spawnSync('cfn-lint', ['--version']).status !== 0) skip('not checked: cfn-lint is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'templates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const paths = TARGETS.map((target) => join(folder, `${target}.yaml`));
  for (const [index, target] of TARGETS.entries())
    writeFileSync(paths[index] ?? '', templateOf(target, { projects: ['a-1'], replays: 'left_out' }));

  const { status, stdout } = spawnSync('cfn-lint', ['--template', ...paths], { encoding: 'utf8' });

  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});
