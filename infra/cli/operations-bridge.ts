#!/usr/bin/env node
/** The entry of the `operations-bridge` command. */

import { keepCompiledModules } from '../process/package.ts';

keepCompiledModules();
const { runOnThisProcess } = await import('./subcommands/program.ts');
await runOnThisProcess(process.argv.slice(2));
