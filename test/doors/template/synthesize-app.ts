/** Synthesizes a configuration as `cdk deploy` does: through the command of the CDK and `infra/aws/app.ts`. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../../infra/release/project.ts';
import type { Resource } from '../../aws/stack-under-test.ts';

export interface SynthesizedApp {
  /** What the command has written to its standard error. Findings of the rules are there. */
  readonly said: string;
  readonly resources: readonly (readonly [string, Resource])[];
  /** Returns the folder with the code of a function, as it would be uploaded. */
  codeOf(fn: Resource): string;
}

/** Writes a configuration with values of its own where this one has those of the example, which cannot be deployed. */
function withOwnValues(config: string, work: string): string {
  const own = join(work, 'own.config.ts');
  writeFileSync(
    own,
    `import config from '${config}';
const text = JSON.stringify(config).replaceAll('123456789012', '210987654321').replaceAll('example.com', 'exemplar.io');
const { alerts, ...rest } = JSON.parse(text);
const emails = alerts?.emails?.length ? alerts.emails : ['on-call@exemplar.io'];
export default { ...rest, alerts: { ...alerts, emails } };
`,
  );
  return own;
}

/**
 * `config` is the path of the configuration file. Rejects, with what the command has said, when the command fails. It has
 * neither credentials nor a home with settings.
 */
export async function synthesizeApp(config: string): Promise<SynthesizedApp> {
  const work = mkdtempSync(join(tmpdir(), 'cdk-out-'));
  const [home, output] = [join(work, 'home'), join(work, 'out')];
  mkdirSync(home);
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, AWS_EC2_METADATA_DISABLED: 'true' };
  // By default the command names a folder relative to the project.
  const args = ['synth', '--quiet', '--no-notices', '--output', relative(ROOT, output)];
  const { stderr } = await promisify(execFile)(
    join(ROOT, 'node_modules/.bin/cdk'),
    [...args, '-c', `config=${relative(ROOT, withOwnValues(config, work))}`],
    { cwd: ROOT, env },
  );
  const manifest = JSON.parse(readFileSync(join(output, 'manifest.json'), 'utf8')) as Manifest;
  const [template] = Object.values(manifest.artifacts).flatMap(
    ({ properties }) => properties?.templateFile ?? [],
  );
  const { Resources } = JSON.parse(readFileSync(join(output, String(template)), 'utf8')) as Template;
  return {
    said: stderr,
    resources: Object.entries(Resources),
    codeOf: ({ Properties }) => join(output, `asset.${String(Properties.Code.S3Key).replace(/\.zip$/, '')}`),
  };
}

interface Manifest {
  readonly artifacts: Readonly<Record<string, { readonly properties?: { readonly templateFile?: string } }>>;
}

interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}
