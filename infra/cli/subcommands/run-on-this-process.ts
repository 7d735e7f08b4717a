/** Runs the program as this process: with its streams, its signals and its exit code. */

import { runCommand } from '../../process/command.ts';
import { EXIT_CODES, type ExitCode } from '../../process/exit-codes.ts';
import { processSurroundings } from '../../process/surroundings.ts';
import { runProgram } from './program.ts';

export async function runOnThisProcess(args: readonly string[]): Promise<void> {
  let exitCode: ExitCode = EXIT_CODES.succeeded;
  const exitWith = (code: ExitCode) => {
    exitCode = code;
  };
  await runCommand(
    (signal) => runProgram(args, processSurroundings(signal, exitWith)),
    () => exitCode,
  );
}
