/** Lists the calls about computes, databases, roles and the Data API of a branch. */

import type { PublicCalls } from './public-call.ts';

const BRANCH = '/projects/{project_id}/branches/{branch_id}';
const COMPUTE = '/projects/{project_id}/endpoints/{endpoint_id}';
const DATABASE = `${BRANCH}/databases/{database_name}` as const;
const ROLE = `${BRANCH}/roles/{role_name}` as const;
const DATA_API = `${BRANCH}/data-api/{database_name}` as const;

const DATA_API_SETTINGS = [
  'settings.db_aggregates_enabled settings.db_anon_role settings.db_extra_search_path settings.db_max_rows',
  'settings.db_schemas settings.jwt_role_claim_key settings.jwt_cache_max_lifetime settings.openapi_mode',
  'settings.server_cors_allowed_origins settings.server_timing_enabled',
].join(' ');

export const databaseCalls = {
  getEndpoint: { request: `GET ${COMPUTE}`, scope: 'computes:read', summary: 'Get a compute' },
  startEndpoint: { request: `POST ${COMPUTE}/start`, scope: 'computes:restart', summary: 'Start a compute' },
  suspendEndpoint: {
    request: `POST ${COMPUTE}/suspend`,
    scope: 'computes:restart',
    summary: 'Suspend a compute',
  },
  listBranchEndpoints: {
    request: `GET ${BRANCH}/endpoints`,
    scope: 'computes:read',
    summary: 'List the computes of a branch',
  },
  listDatabases: { request: `GET ${BRANCH}/databases`, scope: 'databases:read', summary: 'List databases' },
  createDatabase: {
    request: `POST ${BRANCH}/databases`,
    scope: 'databases:write',
    summary: 'Create a database',
    fields: 'database.name database.owner_name',
    status: 201,
  },
  getDatabase: { request: `GET ${DATABASE}`, scope: 'databases:read', summary: 'Get a database' },
  updateDatabase: {
    request: `PATCH ${DATABASE}`,
    scope: 'databases:write',
    summary: 'Update a database',
    fields: 'database.name database.owner_name',
  },
  deleteDatabase: {
    request: `DELETE ${DATABASE}`,
    scope: 'databases:delete',
    summary: 'Delete a database',
    otherStatus: 204,
  },
  listRoles: { request: `GET ${BRANCH}/roles`, scope: 'roles:read', summary: 'List roles' },
  createRole: {
    request: `POST ${BRANCH}/roles`,
    scope: 'roles:write',
    summary: 'Create a role',
    fields: 'role.name role.no_login',
    status: 201,
    shows: 'connection',
  },
  getRole: { request: `GET ${ROLE}`, scope: 'roles:read', summary: 'Get a role' },
  deleteRole: {
    request: `DELETE ${ROLE}`,
    scope: 'roles:delete',
    summary: 'Delete a role',
    otherStatus: 204,
  },
  revealPassword: {
    request: `GET ${ROLE}/reveal_password`,
    scope: 'connection:read',
    summary: 'Show the password of a role',
    shows: 'connection',
  },
  resetPassword: {
    request: `POST ${ROLE}/reset_password`,
    scope: 'roles:write',
    summary: 'Reset the password of a role',
    shows: 'connection',
  },
  getDataApi: {
    request: `GET ${DATA_API}`,
    scope: 'data-api:read',
    summary: 'Get the Data API of a database',
  },
  createDataApi: {
    request: `POST ${DATA_API}`,
    scope: 'data-api:write',
    summary: 'Create the Data API of a database',
    fields: `auth_provider jwks_url provider_name jwt_audience add_default_grants skip_auth_schema ${DATA_API_SETTINGS}`,
    status: 201,
  },
  updateDataApi: {
    request: `PATCH ${DATA_API}`,
    scope: 'data-api:write',
    summary: 'Update the Data API of a database',
    fields: DATA_API_SETTINGS,
    status: 201,
  },
  deleteDataApi: {
    request: `DELETE ${DATA_API}`,
    scope: 'data-api:delete',
    summary: 'Delete the Data API of a database',
  },
} as const satisfies PublicCalls;
