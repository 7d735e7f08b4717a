/** Has one well-formed request for every route that passes a call on. */

import type { Route } from '../../functions/api/serving/route.ts';

export const PROJECT_ID = 'bold-sound-12345678';
export const OTHER_PROJECT_ID = 'calm-tree-87654321';

const ids: Readonly<Record<string, string>> = {
  project_id: PROJECT_ID,
  operation_id: 'a07f8772-1877-4da9-a939-3a3ae62d1d8d',
  endpoint_id: 'ep-little-smoke-851426',
  auth_user_id: 'user-1',
  oauth_provider_id: 'google',
  auth_provider: 'stack',
  request_id: 'request-1',
  command_id: 'command-1',
  incident_id: '0123456789abcdef0123456789abcdef',
  approval_id: 'command-1',
  event_id: '11111111-2222-4333-8444-555555555555',
  mute_id: 'mute-1',
  account_id: 'tenant-1',
  branch_id: 'br-dawn-scene-747675',
  database_name: 'neondb',
  role_name: 'neondb_owner',
  bucket_name: 'pictures',
  object_key: 'cats%2Ftom.png',
  slug: 'resize',
  org_id: 'org-quiet-sea-12345678',
  source_org_id: 'org-quiet-sea-12345678',
  region_id: 'aws-us-east-1',
  snapshot_id: 'snap-quiet-sea-12345678',
  vpc_endpoint_id: 'vpce-1234567890abcdef0',
};

const ofProvider = { project_id: PROJECT_ID, auth_provider: 'stack' };

export const sampleBodies: Readonly<Record<string, object>> = {
  createAuthIntegration: { ...ofProvider, branch_id: 'br-dawn-scene-747675' },
  createAuthKeys: ofProvider,
  createAuthUser: { ...ofProvider, email: 'ada@example.com', name: 'Ada' },
  transferAuthOwnership: ofProvider,
  addOauthProvider: { id: 'google', client_id: 'an-id', client_secret: 'a-client-secret' },
  updateOauthProvider: { client_id: 'an-id', client_secret: 'a-client-secret' },
  addRedirectDomain: { domain: 'https://app.example.com', auth_provider: 'stack' },
  deleteRedirectDomains: { auth_provider: 'stack', domains: [{ domain: 'https://app.example.com' }] },
  updateEmailServer: {
    type: 'standard',
    host: 'smtp.example.com',
    port: 587,
    username: 'mailer',
    password: 'a-password',
    sender_email: 'noreply@example.com',
    sender_name: 'Example',
  },
  createEndpoint: { endpoint: { branch_id: 'br-dawn-scene-747675', type: 'read_write' } },
  updateEndpoint: { endpoint: { autoscaling_limit_max_cu: 2 } },
  triggerTestEvent: { detail_type: 'Project Discovered', detail: { project_id: PROJECT_ID } },
  addAccount: { account_id: 'tenant-1' },
  changeAccount: { state: 'paused' },
  muteAlerts: { project_id: PROJECT_ID, duration_seconds: 3_600, reason: 'A change window.' },
  freezeAccount: { reason: 'A change window.' },
  decideApproval: { decision: 'deny' },
  startReplay: { since: '2026-01-14T12:00:00Z', until: '2026-01-15T12:00:00Z' },
  requestRepair: { since: '2026-01-14T12:00:00Z' },
  createProject: { project: { name: 'shop', pg_version: 17 } },
  updateProject: { project: { name: 'renamed' } },
  updateBranch: { branch: { name: 'renamed' } },
  createDatabase: { database: { name: 'orders', owner_name: 'neondb_owner' } },
  updateDatabase: { database: { name: 'invoices' } },
  createRole: { role: { name: 'reader' } },
  createApiKey: { key_name: 'a-key' },
  createBranch: { branch: { name: 'preview' }, endpoints: [{ type: 'read_write' }] },
};

export interface Sample {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
}

/** The path or the body names the project `projectId`. */
export function sampleOf(route: Route, projectId = PROJECT_ID): Sample {
  const named: Readonly<Record<string, string>> = { ...ids, project_id: projectId };
  const query = route.reach === 'listed_projects' ? `?project_ids=${projectId}` : '';
  const path =
    route.path.replace(/\{(\w+)\}/g, (_, name: string) => named[name] ?? `unknown-${name}`) + query;
  const body = sampleBodies[route.id];
  return {
    method: route.method,
    path,
    body: body && 'project_id' in body ? { ...body, project_id: projectId } : body,
  };
}

export function namesProject(route: Route): boolean {
  const isInBody = 'project_id' in (sampleBodies[route.id] ?? {});
  return route.path.includes('{project_id}') || route.reach === 'listed_projects' || isInBody;
}

export function initOf(
  { method, body }: Sample,
  headers: Readonly<Record<string, string>> = {},
): RequestInit {
  return {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  };
}
