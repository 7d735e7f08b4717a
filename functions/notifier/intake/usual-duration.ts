/** Adds to a notice how long its action usually takes, so that people see whether what it reports is unusual. */

import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Notice } from '../deciding/notices/notice.ts';

export interface UsualDeps {
  /** Resolves to undefined when too little is known of the action. Without it, alerts do not say what is usual. */
  readonly usualDurationOf?:
    | ((accountId: string, projectId: string, action: string) => Promise<Notice['usual_duration']>)
    | undefined;
  readonly telemetry: Telemetry;
}

/** An alert is never late or lost for it: when it cannot be read, the notice stays as it is. */
export async function withUsualDuration(
  { usualDurationOf, telemetry }: UsualDeps,
  notice: Notice,
): Promise<Notice> {
  const { account_id, project_id, action, severity, usual_duration } = notice;
  const isKnown = usual_duration !== undefined || severity === 'info';
  if (isKnown || usualDurationOf === undefined || project_id === undefined || action === undefined)
    return notice;
  try {
    const usual = await usualDurationOf(account_id, project_id, action);
    return usual === undefined ? notice : { ...notice, usual_duration: usual };
  } catch (error) {
    telemetry.log('warn', 'insights.not_read', { project_id, reason: toError(error).name });
    return notice;
  }
}
