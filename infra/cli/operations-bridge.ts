#!/usr/bin/env node
/** The entry of the `operations-bridge` command. */

import { keepCompiledModules } from '../process/compiled-modules.ts';

keepCompiledModules();
const { runOnThisProcess } = await import('./subcommands/run-on-this-process.ts');
await runOnThisProcess(process.argv.slice(2));
