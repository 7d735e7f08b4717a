/**
 * Builds the CloudFormation template of a release with the zip files of its functions, for deployments without the
 * CDK.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { zipSync } from 'fflate';
import { ENVIRONMENT_FILE } from '../../shared/runtime/read-config.ts';
import type { FunctionName } from '../functions.ts';
import { BridgeStack } from './bridge-stack.ts';
import { bundleFunction } from './bundle.ts';
import {
  CONDITIONS,
  configOfRelease,
  hasStandIn,
  parameterSection,
  RULES,
  withParameters,
} from './parameters.ts';

interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly Metadata?: unknown;
}

interface Template {
  readonly Description: string;
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: unknown;
}

const TEMPLATE_FILE = 'operations-bridge.template.json';

/** Writes the template, and the folder `code` with one zip file per function, into the folder. */
export function writeTemplate(outputFolder: string): void {
  const workFolder = mkdtempSync(join(tmpdir(), 'template-'));
  try {
    const { template, name } = synthesize(workFolder);
    const code = join(outputFolder, 'code');
    mkdirSync(code, { recursive: true });
    const resources = Object.entries(template.Resources).map(([id, resource]) => {
      const { Metadata: _ofTheCdk, ...own } = resource;
      if (own.Type !== 'AWS::Lambda::Function') return [id, own];
      const functionName = String(own.Properties['FunctionName']).slice(name.length + 1) as FunctionName;
      return [id, withCode(own, functionName, { bundle: join(workFolder, 'bundles', functionName), code })];
    });
    const { Description, Outputs } = template;
    const released = withParameters({ Description, Resources: Object.fromEntries(resources), Outputs });
    const text = JSON.stringify({
      AWSTemplateFormatVersion: '2010-09-09',
      Parameters: parameterSection(),
      Rules: RULES,
      Conditions: CONDITIONS,
      ...(released as object),
    });
    writeFileSync(join(outputFolder, TEMPLATE_FILE), `${text}\n`);
  } finally {
    rmSync(workFolder, { recursive: true });
  }
}

function synthesize(workFolder: string): { readonly template: Template; readonly name: string } {
  const config = configOfRelease();
  const app = new App({ outdir: join(workFolder, 'cdk.out'), analyticsReporting: false });
  const stack = new BridgeStack(app, config.name, {
    config,
    bundleOf: (name) => bundleFunction(name, join(workFolder, 'bundles')),
  });
  const template = app.synth().getStackByName(stack.stackName).template as Template;
  const unknown = Object.keys(template).filter((section) => !KNOWN_SECTIONS.has(section));
  if (unknown.length > 0) throw new Error(`The release lacks ${unknown.join(', ')} of the template`);
  return { template, name: config.name };
}

/** `Parameters` and `Rules` of the CDK's own template only look for its bootstrap. */
const KNOWN_SECTIONS: ReadonlySet<string> = new Set([
  'Description',
  'Resources',
  'Outputs',
  'Parameters',
  'Rules',
]);

/**
 * Zips the bundle and lets the function take it from the bucket. A variable that depends on a parameter moves from
 * the file beside the code to the environment, because the code is the same for all deployments.
 */
function withCode(
  { Type, Properties }: Resource,
  name: FunctionName,
  { bundle, code }: { readonly bundle: string; readonly code: string },
): Resource {
  const file = join(bundle, ENVIRONMENT_FILE);
  const variables = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>);
  const fixed = variables.filter(([, value]) => !hasStandIn(value));
  writeFileSync(file, JSON.stringify(Object.fromEntries(fixed)));
  const zip = codeZip(bundle);
  const zipName = `${name}-${createHash('sha256').update(zip).digest('hex').slice(0, 16)}.zip`;
  writeFileSync(join(code, zipName), zip);
  const { Variables } = Properties['Environment'] as { readonly Variables: Record<string, unknown> };
  const moved = Object.fromEntries(variables.filter(([, value]) => hasStandIn(value)));
  return {
    Type,
    Properties: {
      ...Properties,
      Code: { S3Bucket: { Ref: 'CodeBucket' }, S3Key: { 'Fn::Sub': `\${CodePrefix}${zipName}` } },
      Environment: { Variables: { ...Variables, ...moved } },
    },
  };
}

/** The first day that a zip file can name; the library reads it by the machine's own calendar, which the file holds. */
const NO_TIME = new Date(1980, 0, 1);

const UNIX = 3;
/** Lambda runs the code as another user, who must be able to read it. */
const READABLE_FILE = 0o100644 << 16;

/** Takes a folder that has files and no folders. */
function codeZip(folder: string): Uint8Array {
  const files = readdirSync(folder).toSorted();
  return zipSync(
    Object.fromEntries(files.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))])),
    { mtime: NO_TIME, os: UNIX, attrs: READABLE_FILE, level: 9 },
  );
}
