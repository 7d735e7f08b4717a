/**
 * Lists the calls about computes, databases, roles, the Data API, object storage, functions, the AI gateway and
 * credentials.
 */

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

const BUCKET = `${BRANCH}/buckets/{bucket_name}` as const;
const OBJECT = `${BUCKET}/objects/{object_key}` as const;
const FUNCTION = `${BRANCH}/functions/{slug}` as const;

export const storageCalls = {
  getStorage: {
    request: `GET ${BRANCH}/storage`,
    scope: 'storage:read',
    summary: 'Get the storage of a branch',
  },
  listBuckets: { request: `GET ${BRANCH}/buckets`, scope: 'storage:read', summary: 'List buckets' },
  createBucket: {
    request: `POST ${BRANCH}/buckets`,
    scope: 'storage:write',
    summary: 'Create a bucket',
    fields: 'name access_level',
    status: 201,
  },
  deleteBucket: {
    request: `DELETE ${BUCKET}`,
    scope: 'storage:delete',
    summary: 'Delete a bucket',
    status: 204,
  },
  listObjects: {
    request: `GET ${BUCKET}/objects`,
    scope: 'storage:read',
    summary: 'List the objects of a bucket',
    query: 'prefix delimiter cursor limit',
  },
  downloadObject: {
    request: `GET ${OBJECT}/download`,
    scope: 'storage:read',
    summary: 'Download an object',
    answer: 'file',
  },
  deleteObject: {
    request: `DELETE ${OBJECT}`,
    scope: 'storage:delete',
    summary: 'Delete an object',
    status: 204,
  },
  deleteObjectsByPrefix: {
    request: `DELETE ${BUCKET}/objects-by-prefix`,
    scope: 'storage:delete',
    summary: 'Delete the objects whose keys begin with a prefix',
    query: 'prefix',
  },
  presignObject: {
    request: `POST ${OBJECT}/presign`,
    scope: 'storage:write',
    summary: 'Sign a URL that reads or writes an object',
    fields: 'operation content_type expires_in_seconds',
    shows: 'issued',
  },
  listFunctions: {
    request: `GET ${BRANCH}/functions`,
    scope: 'functions:read',
    summary: 'List functions',
    query: 'limit',
  },
  getFunction: { request: `GET ${FUNCTION}`, scope: 'functions:read', summary: 'Get a function' },
  updateFunction: {
    request: `PATCH ${FUNCTION}`,
    scope: 'functions:write',
    summary: 'Update a function',
    fields: 'name',
  },
  deleteFunction: {
    request: `DELETE ${FUNCTION}`,
    scope: 'functions:delete',
    summary: 'Delete a function',
    status: 204,
  },
  deployFunction: {
    request: `POST ${FUNCTION}/deployments`,
    scope: 'functions:write',
    summary: 'Deploy a function',
    status: 201,
  },
  getAiGateway: {
    request: `GET ${BRANCH}/ai_gateway`,
    scope: 'branches:read',
    summary: 'Get the AI gateway of a branch',
  },
  listCredentials: {
    request: `GET ${BRANCH}/credentials`,
    scope: 'credentials:read',
    summary: 'List the credentials of a branch',
  },
  createCredential: {
    request: `POST ${BRANCH}/credentials`,
    scope: 'credentials:write',
    summary: 'Issue a credential of a branch',
    fields: 'name scopes principal_type',
    status: 201,
    shows: 'issued',
  },
  revokeCredential: {
    request: `DELETE ${BRANCH}/credentials/{token_id}`,
    scope: 'credentials:delete',
    summary: 'Revoke a credential of a branch',
    status: 204,
  },
} as const satisfies PublicCalls;
