/**
 * `cdk synth` and `cdk deploy` run this: it reads the configuration, bundles the functions, builds the stack and
 * applies the AWS Solutions rules.
 */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { App } from 'aws-cdk-lib';
import { AppError } from '../../shared/runtime/errors.ts';
import { parseBridgeConfig, refuseIfUseless } from '../bridge-config.ts';
import { BridgeStack } from './bridge-stack.ts';
import { bundleFunction } from './bundle.ts';
import { checkRules } from './rules.ts';

const ROOT = resolve(import.meta.dirname, '../..');

try {
  await main();
} catch (error) {
  if (!(error instanceof AppError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const app = new App();
  const file = String(app.node.tryGetContext('config') ?? 'bridge.config.ts');
  const path = join(ROOT, file);
  if (!existsSync(path)) {
    throw new AppError(
      'config_missing',
      `There is no ${file}. Run "npx operations-bridge init", which asks and writes it, or name another with -c config=FILE.`,
    );
  }
  const source = await readSource(path, file);
  const config = parseBridgeConfig(source, file);
  refuseIfUseless(source, config, file);
  const bundles = resolve(app.outdir, 'bundles');
  const stack = new BridgeStack(app, config.name, {
    config,
    bundleOf: (name) => bundleFunction(name, bundles),
  });
  checkRules(app, stack, config);
  app.synth();
}

async function readSource(path: string, file: string): Promise<unknown> {
  try {
    const { default: source } = (await import(path)) as { default: unknown };
    return source;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new AppError(
      'config_unreadable',
      `${file} imports a file that is not there: ${error.message}. defineBridge is in ./infra/bridge-config.ts.`,
    );
  }
}
