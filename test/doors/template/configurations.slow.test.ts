/**
 * Synthesizes each configuration of the documents and the bounds through the command of the CDK, as `cdk deploy` does.
 * `npm run test:slow` runs it, because each synthesis takes seconds.
 */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../../infra/release/project.ts';
import { largest, smallest } from '../../aws/configurations.ts';
import { synthesizeApp } from './synthesize-app.ts';

const EXAMPLE = join(ROOT, 'bridge.config.example.ts');
const folder = mkdtempSync(join(tmpdir(), 'configurations-'));

/** Each of these goes into the example in place of what the example has under its name. */
const PLACES = {
  top: (text: string) => `export default { ...example, ${text} };`,
  api: (text: string) => `export default { ...example, api: { ...example.api, ${text} } };`,
};

/** Returns the path of a configuration that differs from the example. */
function configuration(name: string, text: string): string {
  const path = join(folder, `${name.replaceAll(/\W+/g, '-')}.ts`);
  writeFileSync(path, `import example from '${EXAMPLE}';\n${text}\n`);
  return path;
}

function changed(name: string, changes: object): string {
  return configuration(name, PLACES.top(`...${JSON.stringify(changes)}`));
}

/** Returns the example with every setting that it shows in comments. */
function exampleInFull(): string {
  const text = readFileSync(EXAMPLE, 'utf8')
    .replace("'./infra/", `'${ROOT}/infra/`)
    .replaceAll(/^( +)\/\/ ((?:\w+: |[{}\]]| ).*)$/gm, '$1$2');
  const path = join(folder, 'example-in-full.ts');
  writeFileSync(path, text);
  return path;
}

interface Block {
  readonly at: string;
  readonly text: string;
}

/** Finds the blocks of the documents that show a part of a configuration: one setting with its value. */
async function blocksOfDocuments(): Promise<readonly Block[]> {
  const files = [
    'README.md',
    ...(await readdir(join(ROOT, 'docs'), { recursive: true })).map((name) => `docs/${name}`),
  ];
  return files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      return [...text.matchAll(/^```ts\n(\w+: [\s\S]*?)^```$/gm)].map(([, block = '']) => ({
        at: file,
        text: block,
      }));
    });
}

const blocks = await blocksOfDocuments();
const IS_OF_API = /^(sign_in|oidc|extra_routes|open_calls|dead_letter_queue_arns): /;

const configurations: Readonly<Record<string, string>> = {
  'the example': EXAMPLE,
  'the example in full': exampleInFull(),
  'the artefacts that the tests start': join(ROOT, 'test/aws/deployed.config.ts'),
  'the smallest': changed('smallest', smallest),
  ...Object.fromEntries(Object.entries(largest).map(([name, large]) => [name, changed(name, large)])),
  ...Object.fromEntries(
    blocks.map(({ at, text }, place) => {
      const name = `block ${place + 1} of ${at}`;
      return [name, configuration(name, (IS_OF_API.test(text) ? PLACES.api : PLACES.top)(text.trim()))];
    }),
  ),
};

describe.each(Object.entries(configurations))('%s', (_name, path) => {
  test('is synthesized, and no rule reports a finding', { timeout: 300_000 }, async () => {
    const { said, resources } = await synthesizeApp(path);

    expect(said).not.toMatch(/ERROR|AwsSolutions/);
    expect(resources.length).toBeGreaterThan(100);
  });
});

test('the documents show the settings of lanes and of the sign-in as blocks, which are among the configurations', () => {
  expect(blocks.map(({ text }) => /^\w+/.exec(text)?.[0])).toEqual(
    expect.arrayContaining(['lanes', 'sign_in']),
  );
});

test('the example in full has every setting of its comments', async () => {
  const { default: full } = (await import(exampleInFull())) as { readonly default: Record<string, object> };

  expect(full).toMatchObject({
    upstream_hosts: expect.any(Array),
    reserved_concurrency: expect.any(Object),
    alerts: {
      slack_webhook_secret_arn: expect.any(String),
      pagerduty_secret_arn: expect.any(String),
      webhook_secret_arn: expect.any(String),
    },
    api: { oidc: expect.any(Object), sign_in: { roles: expect.any(Array) }, open_calls: expect.any(Array) },
  });
});
