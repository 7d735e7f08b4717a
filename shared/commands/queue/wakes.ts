/** Wakes the worker for a project. A wake carries nothing but the project: what is to be done stands in the table. */

import * as z from 'zod';

export interface Wake {
  readonly account_id: string;
  readonly project_id: string;
  /** Two wakes of a project with one id count as one for five minutes: it is the deduplication id of SQS. */
  readonly id: string;
}

export interface Wakes {
  /** A wake that is lost costs a minute: the next sweep repeats it. Rejects when a wake could not be sent. */
  send(wakes: readonly Wake[]): Promise<void>;
}

/** The body of a message. */
export const wakeBody = z.object({ account_id: z.string(), project_id: z.string() });

/** Messages of one group are handed out one after the other, so that one project is worked on once at a time. */
export function groupOf({ account_id, project_id }: Pick<Wake, 'account_id' | 'project_id'>): string {
  return `${account_id}/${project_id}`;
}
