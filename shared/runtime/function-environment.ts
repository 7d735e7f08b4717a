/**
 * The environment of a function, with the part of it that Lambda has no room for: all variables together take 4 KB (AWS Lambda
 * Developer Guide, "Lambda quotas"), so long ones stand in a file beside the code, written when the code is bundled.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ENVIRONMENT_FILE = 'environment.json';

export type Variables = Readonly<Record<string, string | undefined>>;

/** `folder`: of the running code. A variable of the process goes before the one of the file. */
export function functionEnvironment(folder: string, variables: Variables): Variables {
  return { ...variablesBeside(folder), ...variables };
}

/** Without the file there are none: a function that is run from its source has its whole environment from the process. */
function variablesBeside(folder: string): Variables {
  try {
    return JSON.parse(readFileSync(join(folder, ENVIRONMENT_FILE), 'utf8')) as Variables;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
