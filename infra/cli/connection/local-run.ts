/**
 * Announces the bridge that runs on this machine in a file that only its user can read, so that other subcommands find
 * it without an address or a token.
 */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writePrivateFile } from '../../process/private-file.ts';
import { type Environment, stateFolder } from '../../process/surroundings.ts';
import { codeOf } from '../../process/system-error.ts';

const localRun = z.object({
  process_id: z.number().int().positive(),
  url: z.string(),
  token: z.string(),
  aws_endpoint: z.string(),
  access_key_id: z.string(),
  upstream_base_url: z.string(),
});

export type LocalRun = z.output<typeof localRun>;

interface Announced extends Disposable {
  readonly write: (addresses: {
    readonly url: string;
    readonly token: string;
    readonly awsEndpoint: string;
    readonly accessKeyId: string;
    readonly upstreamBaseUrl: string;
  }) => void;
}

const fileOf = (environment: Environment) => join(stateFolder(environment), 'local-run.json');

/**
 * The announcement is withdrawn when the run ends, unless a later run has replaced it. An earlier run that it had replaced
 * and that still lives is announced again.
 */
export function announceLocalRun(environment: Environment, processId: number): Announced {
  const file = fileOf(environment);
  let replaced: LocalRun | undefined;
  return {
    write({ url, token, awsEndpoint, accessKeyId, upstreamBaseUrl }) {
      const run: LocalRun = {
        process_id: processId,
        url,
        token,
        aws_endpoint: awsEndpoint,
        access_key_id: accessKeyId,
        upstream_base_url: upstreamBaseUrl,
      };
      replaced = findLocalRun(environment);
      writePrivateFile(file, JSON.stringify(run));
    },
    [Symbol.dispose]() {
      if (parsedFile(file)?.process_id !== processId) return;
      if (replaced !== undefined && isAlive(replaced.process_id))
        writePrivateFile(file, JSON.stringify(replaced));
      else rmSync(file, { force: true });
    },
  };
}

/** Returns undefined when no bridge runs on this machine. A file that a killed process left does not count. */
export function findLocalRun(environment: Environment): LocalRun | undefined {
  const run = parsedFile(fileOf(environment));
  return run !== undefined && isAlive(run.process_id) ? run : undefined;
}

function parsedFile(file: string): LocalRun | undefined {
  try {
    return localRun.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Signal 0 only asks whether the process exists. EPERM means that it does, and belongs to another user. */
function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
