/**
 * Gives the routes of the auth integration what they share: checking a body, finding a project, answering with a
 * command's outcome.
 */

import * as z from 'zod';
import type { AuthOutcome, SdkKeySet } from '../../world/auth/auth-commands.ts';
import { AUTH_PROVIDER } from '../../world/auth/auth-commands.ts';
import { canonicalEmailAddress } from '../../world/auth/email-address.ts';
import type { EmailServer, OauthProvider } from '../../world/state/auth-state.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { findProject } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { refusal, type UpstreamContext } from '../upstream-context.ts';

/** This is the base path of the auth calls that name their project in the path. */
export const AUTH_PATH = '/api/v2/projects/:project_id/auth';

/** The public contract deprecates the calls of the project for those of the branch, which do the same. */
export const BRANCH_AUTH_PATH = '/api/v2/projects/:project_id/branches/:branch_id/auth';
export const AUTH_PATHS = [AUTH_PATH, BRANCH_AUTH_PATH] as const;

export const text = z.string().min(1).max(2_000);
export const emailAddress = z
  .string()
  .refine((address) => canonicalEmailAddress(address) !== undefined, 'must be an e-mail address');
export const authProvider = z.literal(AUTH_PROVIDER, { error: 'unknown auth_provider' });
/** Every body that names its project itself has these fields. */
export const projectFields = { project_id: text, auth_provider: authProvider };

/** Answers 400 unless the body fits the schema. */
export async function withBody<Schema extends z.ZodType>(
  c: UpstreamContext,
  schema: Schema,
  act: (body: z.output<Schema>) => Response,
): Promise<Response> {
  const parsed = await parseBody(c, schema);
  return parsed.kind === 'refused' ? parsed.response : act(parsed.body);
}

/** Answers 404 unless the project exists and the key may see it. */
export function inProject(
  c: UpstreamContext,
  projectId: string,
  act: (project: ProjectState) => Response,
): Response {
  const found = findProject(c, projectId);
  return found instanceof Response ? found : act(found);
}

/** Stores what a command changed, and answers with its value or its refusal. */
export function applyOutcome(
  c: UpstreamContext,
  project: ProjectState,
  outcome: AuthOutcome<SdkKeySet | OauthProvider | EmailServer | { readonly id: string } | undefined>,
  status: 200 | 201 | 204,
): Response {
  if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
  project.auth = outcome.next;
  return outcome.value === undefined
    ? c.body(null, status)
    : c.json(outcome.value, status === 204 ? 200 : status);
}

/** Finds the project of the path. A path that names a branch, too, must name the branch of the integration. */
export function inPathProject(c: UpstreamContext, act: (project: ProjectState) => Response): Response {
  return inProject(c, c.req.param('project_id') ?? '', (project) => {
    const branchId = c.req.param('branch_id');
    const isElsewhere = branchId !== undefined && branchId !== project.auth.integration?.branch_id;
    return isElsewhere ? refusal(c, 404, 'auth integration not found') : act(project);
  });
}
