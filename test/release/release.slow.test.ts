/** Builds the release twice, in two folders, and looks into what is released. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ProjectManifest } from '../../infra/release/project.ts';
import { ROOT } from '../../infra/release/project.ts';
import { signInSettings } from '../../shared/config/api-config.ts';
import { resolved } from './resolve-template.ts';

// Each release bundles six entries and synthesizes the stack.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

const workFolder = mkdtempSync(join(tmpdir(), 'two-releases-'));
const folders = [join(workFolder, 'first'), join(workFolder, 'a-second-one')] as const;
const [first, second] = folders;
const read = (path: string) => readFileSync(join(first, path));
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

beforeAll(() => {
  for (const folder of folders) {
    const program = join(ROOT, 'infra/release/release.ts');
    const { status, stderr } = spawnSync(process.execPath, [program, folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  }
});

afterAll(() => rmSync(workFolder, { recursive: true }));

function filesOf(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), hashOf(readFileSync(path))];
    }),
  );
}

test('two runs give the same bytes', () => {
  expect(filesOf(first).size).toBe(10);
  expect(filesOf(second)).toEqual(filesOf(first));
});

test('the checksums are those of the files, and name every file', () => {
  const lines = read('SHA256SUMS').toString().trimEnd().split('\n');
  const listed = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  const files = new Map(filesOf(first));
  files.delete('SHA256SUMS');

  expect(listed).toEqual(files);
});

test('the OpenAPI document has the routes of the upstream and of the bridge', () => {
  const { paths } = JSON.parse(read('openapi.json').toString()) as { readonly paths: object };

  expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/api/v2/projects', '/bridge/v1/events']));
});

describe('the template', () => {
  interface Template {
    readonly Parameters: Readonly<
      Record<
        string,
        { readonly Default?: string; readonly AllowedPattern?: string; readonly MaxLength?: number }
      >
    >;
    // biome-ignore lint/suspicious/noExplicitAny: the template is looked into freely
    readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties: any }>>;
    readonly Conditions: Readonly<Record<string, unknown>>;
  }
  const text = () => read('operations-bridge.template.json').toString();
  const template = () => JSON.parse(text()) as Template;
  const functions = () =>
    Object.values(template().Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');

  test('takes the code of every function from the bucket, as it was zipped', () => {
    const keys = functions().map(({ Properties }) =>
      Properties.Code.S3Key['Fn::Sub'].replace(/^\$\{CodePrefix\}/, ''),
    );

    expect(new Set(keys)).toEqual(new Set(readdirSync(join(first, 'code'))));
    expect(keys).toHaveLength(4);
    for (const { Properties } of functions()) expect(Properties.Code.S3Bucket).toEqual({ Ref: 'CodeBucket' });
  });

  test('names each zip file by its content, so that CloudFormation sees a change', () => {
    for (const name of readdirSync(join(first, 'code')))
      expect(name).toContain(hashOf(read(`code/${name}`)).slice(0, 16));
  });

  test('zips a handler that reads its environment, which names no account', () => {
    for (const name of readdirSync(join(first, 'code'))) {
      const files = unzipSync(read(`code/${name}`));
      const environment = Buffer.from(files['environment.json'] ?? []).toString();

      expect(Object.keys(files)).toEqual(expect.arrayContaining(['environment.json', 'index.mjs']));
      expect(Object.keys(JSON.parse(environment) as object)).not.toContain('ACCOUNTS');
      expect(Buffer.from(files['index.mjs'] ?? []).toString()).toMatch(/export\s*\{[^}]*\bhandler\b/);
    }
  });

  test('has no value that stands for a parameter, and nothing of the CDK', () => {
    expect(text()).not.toMatch(/stand-in|000000000000|cdk-hnb659fds|BootstrapVersion|aws:cdk:/);
  });

  test('uses every parameter, and refers only to what it has', () => {
    const { Parameters, Resources } = template();
    const known = new Set([...Object.keys(Parameters), ...Object.keys(Resources)]);
    const referred = new Set(referencesIn(template()));

    expect([...referred].filter((name) => !known.has(name) && !name.startsWith('AWS::'))).toEqual([]);
    expect(Object.keys(Parameters).filter((name) => !referred.has(name))).toEqual([]);
  });

  test('leaves room in the environment of a function for the longest values of its parameters', () => {
    // AWS Lambda Developer Guide, "Lambda quotas".
    const ENVIRONMENT_BYTES_MAX = 4_096;
    const LONGEST_VALUE = 500;
    // The longest name that AWS gives a resource here is that of a bus: 256 characters.
    const LONGEST_NAME = 260;
    const { Parameters, Conditions } = template();
    const longest = Object.entries(Parameters).map(
      ([name, { MaxLength = LONGEST_VALUE }]) => [name, 'x'.repeat(MaxLength)] as const,
    );

    for (const { Properties } of functions()) {
      const variables = resolved(Properties.Environment.Variables, Object.fromEntries(longest), Conditions);
      const names = referencesIn(variables).length;
      expect(JSON.stringify(variables).length + names * LONGEST_NAME).toBeLessThan(ENVIRONMENT_BYTES_MAX);
    }
  });

  test('has defaults that its own patterns accept, and no default for what only its user knows', () => {
    const parameters = Object.entries(template().Parameters);
    const without = parameters.filter(([, { Default }]) => Default === undefined).map(([name]) => name);

    for (const [name, { AllowedPattern = '', Default }] of parameters)
      expect([name, Default === undefined || new RegExp(AllowedPattern).test(Default)]).toEqual([name, true]);
    expect(without).toEqual([
      'UpstreamBaseUrl',
      'UpstreamKeySecretArn',
      'TokenPepperSecretArn',
      'AlertEmail',
      'CodeBucket',
    ]);
  });
});

describe('the parameters of the template', () => {
  const template = () =>
    JSON.parse(read('operations-bridge.template.json').toString()) as {
      readonly Parameters: Readonly<Record<string, { readonly Default?: string }>>;
      readonly Conditions: Readonly<Record<string, unknown>>;
      readonly Rules: Readonly<Record<string, unknown>>;
      readonly Resources: unknown;
    };
  const ARN = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:sign-in-AbCdEf';
  const GIVEN = {
    SignInIssuer: 'https://login.example.com/tenant',
    SignInClientId: 'the-bridge',
    SignInClientSecretArn: ARN,
    SignInAdmins: 'Platform on call',
  };

  /** Resolves the resources as CloudFormation does with these parameters. */
  const deployed = (given: Readonly<Record<string, string>>) => {
    const { Parameters, Conditions, Resources } = template();
    const defaults = Object.entries(Parameters).map(([name, { Default = '' }]) => [name, Default]);
    return JSON.stringify(resolved(Resources, { ...Object.fromEntries(defaults), ...given }, Conditions));
  };
  const settingsIn = (text: string) => /"SIGN_IN":("(?:[^"\\]|\\.)*")/.exec(text)?.[1];

  test('is absent without an issuer: the function has no settings, and its role reads no further secret', () => {
    const text = deployed({});

    expect(settingsIn(text)).toBeUndefined();
    expect(text).not.toContain('HasSignIn');
  });

  test('gives the function settings that it accepts, with the roles of the parameters, and its role the secret', () => {
    const text = deployed(GIVEN);
    const settings = signInSettings.parse(JSON.parse(String(JSON.parse(settingsIn(text) ?? '""'))));

    expect(settings).toMatchObject({
      issuer: GIVEN.SignInIssuer,
      client_id: 'the-bridge',
      client_secret_id: ARN,
      account_id: 'main',
      roles_claim: 'groups',
    });
    expect(settings.roles.map(({ value, scopes }) => [value, scopes])).toEqual([
      ['Platform on call', ['admin', 'audit:read']],
      ['operations-bridge-operators', ['operator']],
      ['operations-bridge-viewers', ['viewer']],
    ]);
    expect(readSecretsIn(JSON.parse(text))).toContain(ARN);
  });

  test('give the functions their accounts and secrets', () => {
    const UPSTREAM = 'https://upstream.bridge.test/api/v2';
    const KEYS = [ARN.replace('sign-in', 'first-key'), ARN.replace('sign-in', 'second-key')] as const;
    const one = { UpstreamBaseUrl: UPSTREAM, UpstreamKeySecretArn: KEYS[0] };
    const both = { ...one, SecondAccountId: 'staging', SecondAccountKeySecretArn: KEYS[1] };
    const accountsIn = (text: string) =>
      ['"ACCOUNTS"', '"Input"'].flatMap((name) =>
        [...text.matchAll(new RegExp(`${name}:("(?:[^"\\\\]|\\\\.)*")`, 'g'))].map(([, quoted = '']) => {
          const parsed = JSON.parse(JSON.parse(quoted));
          return parsed.accounts ?? parsed;
        }),
      );
    const main = { account_id: 'main', upstream_base_url: UPSTREAM, key_secret_id: KEYS[0] };
    const staging = { account_id: 'staging', upstream_base_url: UPSTREAM, key_secret_id: KEYS[1] };

    // The API, the worker and the schedule of the lane have the list; other schedules have other inputs.
    const lists = accountsIn(deployed(one)).filter(Array.isArray);
    expect(lists).toHaveLength(3);
    for (const list of lists) expect(list).toEqual([expect.objectContaining(main)]);
    for (const list of accountsIn(deployed(both)).filter(Array.isArray))
      expect(list).toEqual([expect.objectContaining(main), expect.objectContaining(staging)]);
    expect(deployed(one)).not.toContain('SecondAccount');
    expect(readSecretsIn(JSON.parse(deployed(both))).filter((secret) => secret === KEYS[1])).toHaveLength(3);
  });

  test('leaves Slack out without its secret, and lets the notifier read it with one', () => {
    const SLACK = ARN.replace('sign-in', 'slack');

    expect(deployed({})).not.toContain('SLACK_WEBHOOK_SECRET_ID');
    expect(deployed({})).not.toContain('"Sid":"Slack"');
    expect(readSecretsIn(JSON.parse(deployed({ SlackSecretArn: SLACK })))).toContain(SLACK);
  });

  test('leave no link in alerts without an address of the runbook, and name the articles in alarms as a file', () => {
    expect(deployed({})).not.toContain('RUNBOOK_URL');
    expect(deployed({})).toContain('Runbook: docs/operations.md#no-complete-walk');
    const given = deployed({ RunbookUrl: 'https://wiki.bridge.test/runbook' });
    expect(given).toContain('"RUNBOOK_URL":"https://wiki.bridge.test/runbook"');
    expect(given).toContain('Runbook: https://wiki.bridge.test/runbook#no-complete-walk');
  });

  test('is refused before anything changes when only the issuer is given', () => {
    const { Rules, Conditions } = template();

    expect(Rules['SignIn']).toMatchObject({
      RuleCondition: Conditions['HasSignIn'],
      Assertions: ['SignInClientId', 'SignInClientSecretArn'].map((name) => ({
        Assert: { 'Fn::Not': [{ 'Fn::Equals': [{ Ref: name }, ''] }] },
      })),
    });
  });
});

/** Lists the secrets that the statements of all policies allow to read. */
function readSecretsIn(part: unknown): readonly unknown[] {
  if (typeof part !== 'object' || part === null) return [];
  const { Action, Resource } = part as { readonly Action?: unknown; readonly Resource?: unknown };
  const own = Action === 'secretsmanager:GetSecretValue' ? [Resource].flat() : [];
  return [...own, ...Object.values(part).flatMap(readSecretsIn)];
}

/** Lists the names in every `Ref`, `Fn::GetAtt`, `Fn::Sub` and `DependsOn`. */
function referencesIn(part: unknown): readonly string[] {
  if (Array.isArray(part)) return part.flatMap(referencesIn);
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => {
    if (name === 'Ref') return [String(value)];
    if (name === 'Fn::GetAtt') return [String([value].flat()[0])];
    if (name === 'DependsOn') return [value].flat().map(String);
    if (name === 'Fn::Sub') return [...String(value).matchAll(/\$\{([^!}.]+)/g)].map(([, each = '']) => each);
    return referencesIn(value);
  });
}

describe('the bill of materials', () => {
  interface Listed {
    readonly bomFormat: string;
    readonly metadata: { readonly component: { readonly name: string } };
    readonly components: readonly { readonly name: string; readonly version: string }[];
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as ProjectManifest;
  const listed = () => JSON.parse(read('operations-bridge.cdx.json').toString()) as Listed;

  test('is of CycloneDX, and has every dependency of the project in its version', () => {
    const { bomFormat, metadata, components } = listed();
    const versions = Object.fromEntries(components.map(({ name, version }) => [name, version]));

    expect(bomFormat).toBe('CycloneDX');
    expect(metadata.component.name).toBe('operations-bridge');
    expect(versions).toMatchObject(manifest.dependencies);
    expect(versions).not.toHaveProperty('vitest');
  });

  test('has every package whose code is part of the released command', () => {
    const notices = spawnSync(
      'tar',
      ['-xzOf', join(first, `operations-bridge-${manifest.version}.tgz`), 'package/THIRD-PARTY-LICENSES.txt'],
      { encoding: 'utf8' },
    ).stdout;
    const bundled = [...notices.matchAll(/^(\S+) (\d+\.\d+\.\S+) \(/gm)].map(
      ([, name, version]) => `${name}@${version}`,
    );
    const known = new Set(listed().components.map(({ name, version }) => `${name}@${version}`));

    expect(bundled.length).toBeGreaterThan(20);
    expect(bundled.filter((each) => !known.has(each))).toEqual([]);
  });
});
