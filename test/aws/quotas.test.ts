/** Compares the smallest and the largest accepted configurations with the quotas of AWS. */

import { describe, expect, test } from 'vitest';
import example from '../../bridge.config.example.ts';
import { type BridgeConfigInput, parseBridgeConfig } from '../../infra/bridge-config.ts';
import { largest, smallest } from './configurations.ts';
import { checkEdges } from './edges.ts';
import { quotas } from './quotas.ts';
import { type Synthesized, synthesize } from './stack-under-test.ts';

const configurations: Readonly<Record<string, Partial<BridgeConfigInput>>> = {
  'the smallest configuration': smallest,
  'the example': {},
  ...largest,
};

/** A large stack takes seconds to synthesize, so each is synthesized once. */
const stacks = new Map(
  Object.entries(configurations).map(([name, configuration]) => [name, synthesize(configuration)] as const),
);

function stackOf(name: string): Synthesized {
  const stack = stacks.get(name);
  if (stack === undefined) throw new Error(`No configuration is called ${name}`);
  return stack;
}

describe.each(Object.keys(configurations))('%s is within the quota of AWS for', (name) => {
  const { template, resources } = stackOf(name);
  const sized = { resources, template: template.toJSON() as Record<string, Record<string, unknown>> };

  test.each(quotas.map((quota) => [quota.what, quota] as const))('%s', (_what, quota) => {
    const { most } = quota;
    const beyond = quota.sizes(sized).filter(([, size]) => size > most);

    expect(beyond).toEqual([]);
  });
});

test.each(Object.keys(largest))('no edge of the template is broken with %s', (name) => {
  expect(checkEdges(stackOf(name).resources).broken).toEqual([]);
});

describe('a quota', () => {
  test('measures something in the largest template, except mappings, which the template does not have', () => {
    const { template, resources } = stackOf('the longest name');
    const sized = { resources, template: template.toJSON() as Record<string, Record<string, unknown>> };
    const silent = quotas.filter((quota) => quota.sizes(sized).every(([, size]) => size === 0));

    expect(silent.map(({ what }) => what)).toEqual(['mappings of the template']);
  });

  test('cites its source in the documentation of AWS', () => {
    expect(quotas.filter(({ source }) => !/(Guide|Reference)/.test(source))).toEqual([]);
  });
});

describe('what would exceed a quota is refused before anything is deployed:', () => {
  const [first] = example.accounts;
  const long = largest['the longest name'];
  const arn = String(long?.accounts?.[0]?.key_secret_arn);

  test.each<[string, Partial<BridgeConfigInput>, RegExp]>([
    [
      'a thirty-first account',
      { accounts: [...(long?.accounts ?? []), first] as never },
      /accounts: must have at most 30 items/,
    ],
    ['a longer name', { name: `${long?.name}n` }, /name: /],
    [
      'a longer id of an account',
      { accounts: [{ ...first, account_id: 'a'.repeat(64) }] as never },
      /accounts\.0\.account_id: /,
    ],
    ['one more lane', { lanes: Number(long?.lanes) + 1 }, /lanes: must be at most 60/],
    ['one more lane of an account alone', { own_lanes: [...(long?.own_lanes ?? []), {}] }, /own_lanes: /],
    [
      'a longer ARN of a secret',
      { accounts: [{ ...first, key_secret_arn: arn.replace('-AbCdEf', 'x-AbCdEf') }] as never },
      /accounts\.0\.key_secret_arn: must have at most \d+ characters/,
    ],
    ['a longer address of the runbook', { runbook_url: `${long?.runbook_url}u` }, /runbook_url: /],
    [
      'one more address',
      { alerts: { emails: [...(long?.alerts?.emails ?? []), 'a@example.com'] } },
      /alerts\.emails: /,
    ],
    ['one more tag', { tags: { ...long?.tags, more: 'm' } }, /tags: takes 20 tags at most/],
    [
      'longer tags',
      { tags: { team: 't'.repeat(250), a: 'b'.repeat(255), c: 'd'.repeat(255), e: 'f'.repeat(255) } },
      /tags: takes 800 characters/,
    ],
    [
      'one more project of an account',
      {
        accounts: (long?.accounts ?? []).map((each) => ({
          ...each,
          project_ids: [...(each.project_ids ?? []), 'x'],
        })),
      },
      /accounts: name 1500 projects at most/,
    ],
  ])('%s', (_name, changes, sentence) => {
    expect(() => parseBridgeConfig({ ...example, ...changes }, 'a file')).toThrow(sentence);
  });

  test('but every configuration at its bounds is accepted', () => {
    for (const configuration of Object.values(configurations))
      expect(() => parseBridgeConfig({ ...example, ...configuration }, 'a file')).not.toThrow();
  });
});
