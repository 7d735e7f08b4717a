/** Examines the upstream by one list of projects: whether it answers, what its key may see, and what time it has. */

import * as z from 'zod';
import { counted } from '../../../shared/runtime/counted.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { pathFault } from '../../../shared/upstream/upstream-error.ts';
import { type Surroundings, within } from '../../process/surroundings.ts';
import { type Finding, notChecked, ok, problem } from './examine-bridge.ts';

/** The largest page of the list of projects. */
const PROJECTS_LIMIT = 400;

/** Specification "Errors": the service itself gives up long before. */
const ANSWER_MS_MAX = 30_000;

/** `baseUrl` has no slash at its end. Never rejects because of what it finds. */
export async function examineUpstream(
  { baseUrl, key }: { readonly baseUrl: string; readonly key: Secret },
  { clock, signal }: Surroundings,
): Promise<readonly Finding[]> {
  try {
    return await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
      const response = await fetch(`${baseUrl}/projects?limit=${PROJECTS_LIMIT}`, {
        redirect: 'manual',
        headers: { accept: 'application/json', authorization: `Bearer ${key.reveal()}` },
        signal: inTime,
      });
      const text = await response.text();
      return [
        judgeKey({ status: response.status, text }, baseUrl),
        judgeClock(response.headers.get('date'), clock.now()),
      ];
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const { message } = toError(toError(error).cause ?? error);
    return [
      problem(
        'upstream',
        `${baseUrl} does not answer (${message}).`,
        'Check the address of the upstream and the network.',
      ),
    ];
  }
}

/** Says what the answer to a list of projects means for the key. */
export function judgeKey(
  { status, text }: { readonly status: number; readonly text: string },
  baseUrl: string,
): Finding {
  const check = 'upstream key';
  const projects = status === 200 ? listOf(text) : undefined;
  if (projects !== undefined && projects.length > 0) {
    const more = projects.length === PROJECTS_LIMIT ? ' or more' : '';
    return ok(check, `The key is valid and sees ${counted(projects.length, 'project')}${more}.`);
  }
  if (projects !== undefined)
    return problem(
      check,
      'The key is valid and sees no project.',
      'Use a key of the account or the organization that owns the projects.',
    );
  return problem(check, `The list of projects was answered with ${status}.`, adviceOn(status, baseUrl));
}

const projectList = z.looseObject({ projects: z.array(z.unknown()) });

/** Returns undefined for a text that is no list of projects. */
function listOf(text: string): readonly unknown[] | undefined {
  try {
    return projectList.safeParse(JSON.parse(text)).data?.projects;
  } catch {
    return undefined;
  }
}

function adviceOn(status: number, baseUrl: string): string {
  const fault = status >= 200 && status < 500 && status !== 429 ? pathFault(baseUrl) : undefined;
  if (fault !== undefined) return `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
  if (status === 401)
    return 'The key is wrong or was revoked: create another one, and put it into its secret.';
  if (status === 403 || status === 404)
    return 'A key that is limited to one project cannot list projects: use one of the account or the organization.';
  if (status === 429)
    return 'The rate limit of the account is used up: find out who else uses it, and try again in a minute.';
  return 'The service has trouble: try again, and look at its status page.';
}

/** Tokens, leases and signatures allow for less than this between two machines. */
const SKEW_MS_MAX = 60_000;

/** `date` is the header of the answer. */
export function judgeClock(date: string | null, nowMs: number): Finding {
  const check = 'clock';
  const theirsMs = Date.parse(date ?? '');
  if (Number.isNaN(theirsMs))
    return notChecked(
      check,
      'The upstream does not say what time it is.',
      'Compare the clock with another source.',
    );
  const skewMs = Math.abs(nowMs - theirsMs);
  const seconds = Math.round(skewMs / 1_000);
  if (skewMs <= SKEW_MS_MAX)
    return ok(check, `The clock of this machine and that of the upstream agree within ${seconds + 1} s.`);
  return problem(
    check,
    `The clock of this machine differs from that of the upstream by ${seconds} s.`,
    'Set the clock of this machine (NTP): signatures and tokens would be refused.',
  );
}
