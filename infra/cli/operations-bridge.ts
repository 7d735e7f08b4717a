#!/usr/bin/env node
/** The entry of the `operations-bridge` command. */

import { runCommand } from '../process/command.ts';
import { EXIT_CODES, type ExitCode } from '../process/exit-codes.ts';
import { processSurroundings } from '../process/surroundings.ts';
import { runProgram } from './subcommands/program.ts';

let exitCode: ExitCode = EXIT_CODES.succeeded;
const exitWith = (code: ExitCode) => {
  exitCode = code;
};

await runCommand(
  (signal) => runProgram(process.argv.slice(2), processSurroundings(signal, exitWith)),
  () => exitCode,
);
