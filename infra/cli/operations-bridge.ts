#!/usr/bin/env node
/** The entry of the `operations-bridge` command. */

import { keepCompiledModules } from '../process/package.ts';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 22) {
  console.error(`operations-bridge needs Node 22 or newer, and this is Node ${process.versions.node}.`);
  process.exit(2);
}
keepCompiledModules();
const { runOnThisProcess } = await import('./subcommands/program.ts');
await runOnThisProcess(process.argv.slice(2));
