/**
 * Reads the environment of a function. Lambda has room for 4 KB of variables in all (AWS Lambda Developer Guide,
 * "Lambda quotas"), so long ones are in a file beside the code, which is written when the code is bundled.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ENVIRONMENT_FILE = 'environment.json';

export type Variables = Readonly<Record<string, string | undefined>>;

/** `folder` is the folder of the running code. A variable of the process wins over one of the file. */
export function functionEnvironment(folder: string, variables: Variables): Variables {
  return { ...variablesBeside(folder), ...variables };
}

/**
 * There are no variables without the file, because a function that runs from its source has its whole environment
 * from the process.
 */
function variablesBeside(folder: string): Variables {
  try {
    return JSON.parse(readFileSync(join(folder, ENVIRONMENT_FILE), 'utf8')) as Variables;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
