/** What a caller gets to see of an upstream answer to a read: no project that is not theirs, no secret without its scope. */

import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { ForwardedAnswer } from '../../../shared/upstream/forward.ts';

/** Fields of reads that hold secrets (specification "OAuth provider", "Email server configuration"). */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['password', 'client_secret', 'secret_server_key']);

const HIDDEN = '';

/** The very bytes of the upstream, wherever nothing has to be left out. */
export function shownTo(caller: Caller, callId: string, answer: ForwardedAnswer): ForwardedAnswer {
  const hidesProjects = callId === 'listProjects' && caller.projectIds !== undefined;
  const hidesSecrets = !caller.scopes.has('secrets:read');
  if (answer.status !== 200 || (!hidesProjects && !hidesSecrets)) return answer;
  const text = new TextDecoder().decode(answer.body);
  if (!hidesProjects && ![...SECRET_FIELDS].some((name) => text.includes(`"${name}"`))) return answer;
  const parsed = JSON.parse(text) as unknown;
  const shown = hidesSecrets ? withoutSecrets(parsed) : parsed;
  return {
    ...answer,
    body: new TextEncoder().encode(JSON.stringify(hidesProjects ? ownProjects(caller, shown) : shown)),
  };
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      SECRET_FIELDS.has(name) && typeof each === 'string' ? HIDDEN : withoutSecrets(each),
    ]),
  );
}

/** Pages may become short or empty; the cursor goes on as it is. */
function ownProjects(caller: Caller, body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const isOwn = (project: unknown) =>
    typeof project === 'object' && project !== null && 'id' in project && typeof project.id === 'string'
      ? maySee(caller, project.id)
      : false;
  const { projects, unavailable_project_ids: unavailable } = body as Record<string, unknown>;
  return {
    ...body,
    ...(Array.isArray(projects) && { projects: projects.filter(isOwn) }),
    ...(Array.isArray(unavailable) && {
      unavailable_project_ids: unavailable.filter((id) => typeof id === 'string' && maySee(caller, id)),
    }),
  };
}
