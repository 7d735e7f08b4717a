/**
 * Synthesizes the stack of the example configuration as the app does, with its rules, but with stand-ins for the bundles.
 */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import example from '../../bridge.config.example.ts';
import { BridgeStack } from '../../infra/aws/bridge-stack.ts';
import { checkRules } from '../../infra/aws/rules.ts';
import { type BridgeConfigInput, parseBridgeConfig } from '../../infra/bridge-config.ts';
import { ENVIRONMENT_FILE } from '../../shared/runtime/read-config.ts';

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: templates are looked into freely
  readonly Properties: any;
  readonly DeletionPolicy?: string;
}

export type Synthesized = ReturnType<typeof synthesizeAnew>;

const made = new Map<string, Synthesized>();

/** Files that share a process share the stack of a configuration, too. Throws when a rule finds something that is not acknowledged. */
export function synthesize(changes: Partial<BridgeConfigInput> = {}): Synthesized {
  const key = JSON.stringify(changes, (_name, value: unknown) => (value === undefined ? 'unset' : value));
  const known = made.get(key) ?? synthesizeAnew(changes);
  made.set(key, known);
  return known;
}

function synthesizeAnew(changes: Partial<BridgeConfigInput>) {
  const config = parseBridgeConfig({ ...example, ...changes }, 'the configuration of a test');
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  const bundleOf = (name: string) => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'index.mjs'), 'export const handler = () => {};');
    return join(folder, name);
  };
  const app = new App();
  const stack = new BridgeStack(app, config.name, { config, bundleOf });
  checkRules(app, stack, config);
  const template = Template.fromStack(stack);
  const resources = Object.entries(template.toJSON()['Resources'] as Record<string, Resource>);
  return {
    config,
    /** Reads the environment that is stored beside the code of a function. */
    filedOf: (name: string) =>
      JSON.parse(readFileSync(join(folder, name, ENVIRONMENT_FILE), 'utf8')) as Record<string, string>,
    template,
    text: JSON.stringify(template.toJSON()),
    ofType: (type: string) =>
      resources.filter(([, { Type }]) => Type === type).map(([, resource]) => resource),
    resource: (id: string) => resources.find(([name]) => name === id)?.[1],
    resources,
  };
}
