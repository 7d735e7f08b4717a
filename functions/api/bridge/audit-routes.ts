/** Serves the audit, which says who asked for what, to callers who may read it. */

import * as z from 'zod';
import { generationOf } from '../../../shared/accounts/account.ts';
import { authorize, type Caller, maySee } from '../../../shared/callers/scopes.ts';
import { AUDIT_OUTCOMES } from '../../../shared/commands/audit.ts';
import {
  type AuditPage,
  type AuditReader,
  type AuditRecord,
  auditRecord,
} from '../read-model/audit-reader.ts';
import { isAmong } from '../read-model/list-page.ts';
import { accountWide, scopeMissing } from '../serving/admission.ts';
import type { Route } from '../serving/route.ts';
import { cursor, filterList, limit, type ModelOf, paged, readRoute } from './bridge-route.ts';

const ONE_OUTCOME = AUDIT_OUTCOMES.join('|');

const time = z.iso.datetime().optional();

export const auditQuery = z.strictObject({
  limit,
  cursor,
  client_id: filterList,
  call: filterList.describe('Only these calls, by their operationId, with commas between them.'),
  project_id: filterList,
  account_id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .optional()
    .describe(
      'The audit of this account in all of its lives, also of a removed one. It needs accounts:read, too.',
    ),
  outcome: z
    .string()
    .regex(new RegExp(`^(${ONE_OUTCOME})(,(${ONE_OUTCOME})){0,3}$`))
    .optional()
    .describe(
      `${AUDIT_OUTCOMES.join(', ')}, or several with commas between them. open: without an outcome, because it is under way or the process ended before it did.`,
    ),
  from: time.describe('Only what was received then or later.'),
  until: time.describe('Only what was received before.'),
});

export type AuditFilter = Omit<z.output<typeof auditQuery>, 'limit' | 'cursor' | 'account_id'>;

export interface AuditRouteDeps {
  /** Returns the reader of any account, whether it is served or not, with the cursors of the caller. */
  readonly auditOf: (caller: Caller, accountId: string) => Promise<AuditReader>;
}

export function auditRoutes(modelOf: ModelOf, { auditOf }: AuditRouteDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listAudit',
        path: '/audit',
        summary: 'Who asked for what and how it ended, newest first',
        description:
          'Commands, sign-ins to the console, and reads that showed secrets, for 400 days, of the present life of the account. With `account_id`, administrators of accounts read the audit of any account, also of a removed one. A page with filters may be short or empty and still have a cursor. Records that cannot be read are left out and counted in `unreadable`.',
        access: 'audit:read',
        query: auditQuery,
        answer: paged(auditRecord, 'records').extend({ unreadable: z.number() }),
      },
      async ({ caller, query: { account_id, ...query } }, model) => {
        const isOwn = account_id === undefined || account_id === caller.account_id;
        if (account_id !== undefined) refuseUnlessAdministrator(caller);
        const reader = isOwn ? model.audit : await auditOf(caller, account_id);
        const isOfLife = account_id === undefined ? ofLifeOf(caller) : () => true;
        const { items, next, unreadable } = await readAudit(reader, caller, query, isOfLife);
        return { status: 200, body: { records: items, cursor: next, unreadable } };
      },
    ),
  ];
}

/** Callers see the records of the present life of their account, and none of an account that had its id before. */
function ofLifeOf(caller: Caller): (record: AuditRecord) => boolean {
  return (record) => generationOf(record) === generationOf(caller);
}

/** Throws `Problem`. A caller who is limited to projects is no administrator of accounts. */
function refuseUnlessAdministrator(caller: Caller): void {
  const decision = authorize(caller, 'accounts:read', undefined);
  if (decision.kind === 'scope_missing') throw scopeMissing(decision.scope);
  if (caller.projectIds !== undefined) throw accountWide();
}

/**
 * Reads a page of the audit. A caller who is limited to projects sees the records of these projects, and none that is
 * about no project. `text` is looked for in all values.
 */
export function readAudit(
  readPage: AuditReader,
  caller: Caller,
  query: Omit<z.output<typeof auditQuery>, 'account_id'> & { readonly text?: string | undefined },
  isOfLife: (record: AuditRecord) => boolean = ofLifeOf(caller),
): Promise<AuditPage> {
  const isVisible = ({ project_id }: AuditRecord) =>
    caller.projectIds === undefined || (project_id !== undefined && maySee(caller, project_id));
  const { limit: most, cursor: from, ...filter } = query;
  return readPage({
    limit: most,
    cursor: from,
    from: isoOf(filter.from),
    until: isoOf(filter.until),
    fits: (record) => isOfLife(record) && isVisible(record) && fits(record, filter),
  });
}

function fits(record: AuditRecord, filter: AuditFilter & { readonly text?: string | undefined }): boolean {
  if (filter.text !== undefined && !hasText(record, filter.text)) return false;
  if (!isAmong(filter.outcome, record.outcome ?? 'open')) return false;
  return (['client_id', 'call', 'project_id'] as const).every((field) =>
    isAmong(filter[field], record[field]),
  );
}

/** Says whether a value of the record holds the text, in any case. */
function hasText(record: AuditRecord, text: string): boolean {
  return JSON.stringify(Object.values(record)).toLowerCase().includes(text.toLowerCase());
}

/** Returns the time with milliseconds, as the records have it, because times are compared as text. */
function isoOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : new Date(text).toISOString();
}
