/** Adds to a notice the name of its project, which people know it by and routes choose by. */

import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Notice } from '../deciding/notices/notice.ts';
import type { AlertPolicy } from '../deciding/policy/alert-policy.ts';
import { usesNames } from '../deciding/policy/route-scope.ts';

export interface NameDeps {
  /** Resolves to undefined when no list has shown the name yet. Without it, notices have no names. */
  readonly projectNameOf?:
    | ((accountId: string, projectId: string) => Promise<string | undefined>)
    | undefined;
  readonly policy: Pick<AlertPolicy, 'routes' | 'labels'>;
  readonly telemetry: Telemetry;
}

/**
 * When the name cannot be read, the notice stays as it is, unless a route needs the name: then it rejects, and the queue
 * repeats the event, because the alert could otherwise go to the wrong people.
 */
export async function withProjectName(
  { projectNameOf, policy, telemetry }: NameDeps,
  notice: Notice,
): Promise<Notice> {
  const { account_id, project_id } = notice;
  if (projectNameOf === undefined || project_id === undefined) return notice;
  try {
    const name = await projectNameOf(account_id, project_id);
    return name === undefined ? notice : { ...notice, project_name: name };
  } catch (error) {
    if (usesNames(policy)) throw error;
    telemetry.log('warn', 'alert.name_not_read', { project_id, reason: toError(error).name });
    return notice;
  }
}
