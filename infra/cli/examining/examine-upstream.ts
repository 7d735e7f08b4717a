/** Examines the upstream with its key: does it answer, what may the key see, and do the clocks agree? */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { pathFault } from '../../../shared/upstream/path-fault.ts';
import type { Get } from '../conforming/collect-evidence.ts';
import { listPageOf, type Reply } from '../conforming/evidence.ts';
import { type Finding, notChecked, ok, problem } from './finding.ts';

/** The largest page of the list of projects. */
const PROJECTS_LIMIT = 400;

/** Sends one request. Never rejects because of what it finds. */
export async function examineUpstream(
  { get, baseUrl }: { readonly get: Get; readonly baseUrl: string },
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  try {
    const reply = await get(`/projects?limit=${PROJECTS_LIMIT}`, 'valid');
    return [judgeKey(reply, baseUrl), judgeClock(reply, clock.now())];
  } catch (error) {
    if (signal.aborted) throw error;
    return [
      problem('upstream', toError(error).message, 'Check the address of the upstream and the network.'),
    ];
  }
}

/** Says what the answer to a list of projects means for the key. */
export function judgeKey(reply: Reply, baseUrl: string): Finding {
  const check = 'upstream key';
  const projects = listPageOf(reply, 'projects', PROJECTS_LIMIT);
  if (projects !== undefined && projects.rows.length > 0) {
    const more = projects.rows.length === PROJECTS_LIMIT ? ' or more' : '';
    return ok(check, `The key is valid and sees ${projects.rows.length}${more} projects.`);
  }
  if (projects !== undefined)
    return problem(
      check,
      'The key is valid and sees no project.',
      'Use a key of the account or the organization that owns the projects.',
    );
  return problem(
    check,
    `The list of projects was answered with ${reply.status}.`,
    adviceOn(reply.status, baseUrl),
  );
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

export function judgeClock({ headers }: Reply, nowMs: number): Finding {
  const check = 'clock';
  const theirsMs = Date.parse(headers['date'] ?? '');
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
