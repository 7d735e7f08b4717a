/**
 * Lists the calls about computes, databases, roles, the Data API, object storage, functions with their triggers and
 * domains, the AI gateway and credentials.
 */

import type { Rows } from './call.ts';

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
  getEndpoint: `GET ${COMPUTE} | computes:read | Get a compute`,
  startEndpoint: `POST ${COMPUTE}/start | computes:restart | Start a compute`,
  suspendEndpoint: `POST ${COMPUTE}/suspend | computes:restart | Suspend a compute`,
  listBranchEndpoints: `GET ${BRANCH}/endpoints | computes:read | List the computes of a branch`,
  listDatabases: `GET ${BRANCH}/databases | databases:read | List databases`,
  createDatabase: [
    `POST ${BRANCH}/databases | databases:write | Create a database`,
    { fields: 'database.name database.owner_name', status: 201 },
  ],
  getDatabase: `GET ${DATABASE} | databases:read | Get a database`,
  updateDatabase: [
    `PATCH ${DATABASE} | databases:write | Update a database`,
    { fields: 'database.name database.owner_name' },
  ],
  deleteDatabase: [`DELETE ${DATABASE} | databases:delete | Delete a database`, { otherStatus: 204 }],
  listRoles: `GET ${BRANCH}/roles | roles:read | List roles`,
  createRole: [
    `POST ${BRANCH}/roles | roles:write | Create a role`,
    { fields: 'role.name role.no_login', status: 201, shows: 'connection' },
  ],
  getRole: `GET ${ROLE} | roles:read | Get a role`,
  deleteRole: [`DELETE ${ROLE} | roles:delete | Delete a role`, { otherStatus: 204 }],
  revealPassword: [
    `GET ${ROLE}/reveal_password | connection:read | Show the password of a role`,
    { shows: 'connection' },
  ],
  resetPassword: [
    `POST ${ROLE}/reset_password | roles:write | Reset the password of a role`,
    { shows: 'connection' },
  ],
  getDataApi: `GET ${DATA_API} | data-api:read | Get the Data API of a database`,
  createDataApi: [
    `POST ${DATA_API} | data-api:write | Create the Data API of a database`,
    {
      fields: `auth_provider jwks_url provider_name jwt_audience add_default_grants skip_auth_schema ${DATA_API_SETTINGS}`,
      status: 201,
    },
  ],
  updateDataApi: [
    `PATCH ${DATA_API} | data-api:write | Update the Data API of a database`,
    { fields: DATA_API_SETTINGS, status: 201 },
  ],
  deleteDataApi: `DELETE ${DATA_API} | data-api:delete | Delete the Data API of a database`,
} as const satisfies Rows;

const BUCKET = `${BRANCH}/buckets/{bucket_name}` as const;
const OBJECT = `${BUCKET}/objects/{object_key}` as const;
const FUNCTION = `${BRANCH}/functions/{slug}` as const;

const TRIGGER =
  'type function_slug name function_path enabled schedule.cron storage_object_created.*' as const;

export const storageCalls = {
  getStorage: `GET ${BRANCH}/storage | storage:read | Get the storage of a branch`,
  listBuckets: `GET ${BRANCH}/buckets | storage:read | List buckets`,
  createBucket: [
    `POST ${BRANCH}/buckets | storage:write | Create a bucket`,
    { fields: 'name access_level', status: 201 },
  ],
  deleteBucket: [`DELETE ${BUCKET} | storage:delete | Delete a bucket`, { status: 204 }],
  listObjects: [
    `GET ${BUCKET}/objects | storage:read | List the objects of a bucket`,
    { query: 'prefix delimiter cursor limit' },
  ],
  downloadObject: [`GET ${OBJECT}/download | storage:read | Download an object`, { answer: 'file' }],
  deleteObject: [`DELETE ${OBJECT} | storage:delete | Delete an object`, { status: 204 }],
  deleteObjectsByPrefix: [
    `DELETE ${BUCKET}/objects-by-prefix | storage:delete | Delete the objects whose keys begin with a prefix`,
    { query: 'prefix' },
  ],
  presignObject: [
    `POST ${OBJECT}/presign | storage:write | Sign a URL that reads or writes an object`,
    { fields: 'operation content_type expires_in_seconds', shows: 'issued' },
  ],
  listFunctions: [`GET ${BRANCH}/functions | functions:read | List functions`, { query: 'cursor limit' }],
  getFunction: `GET ${FUNCTION} | functions:read | Get a function`,
  updateFunction: [`PATCH ${FUNCTION} | functions:write | Update a function`, { fields: 'name' }],
  deleteFunction: [`DELETE ${FUNCTION} | functions:delete | Delete a function`, { status: 204 }],
  deployFunction: [`POST ${FUNCTION}/deployments | functions:write | Deploy a function`, { status: 201 }],
  getAiGateway: `GET ${BRANCH}/ai_gateway | branches:read | Get the AI gateway of a branch`,
  listCredentials: `GET ${BRANCH}/credentials | credentials:read | List the credentials of a branch`,
  createCredential: [
    `POST ${BRANCH}/credentials | credentials:write | Issue a credential of a branch`,
    { fields: 'name scopes principal_type', status: 201, shows: 'issued' },
  ],
  revokeCredential: [
    `DELETE ${BRANCH}/credentials/{token_id} | credentials:delete | Revoke a credential of a branch`,
    { status: 204 },
  ],
  revealCredential: [
    `POST ${BRANCH}/credentials/{token_id}/reveal | secrets:read | Show the secrets of a credential`,
    { shows: 'issued' },
  ],
  rotateCredential: [
    `POST ${BRANCH}/credentials/{token_id}/rotate | credentials:write | Replace the secrets of a credential`,
    { shows: 'issued' },
  ],
  listTriggers: `GET ${BRANCH}/triggers | functions:read | List what triggers functions`,
  createTrigger: [
    `POST ${BRANCH}/triggers | functions:write | Let a schedule or a stored object trigger a function`,
    { fields: TRIGGER, status: 201 },
  ],
  getTrigger: `GET ${BRANCH}/triggers/{trigger_id} | functions:read | Get a trigger`,
  updateTrigger: [
    `PATCH ${BRANCH}/triggers/{trigger_id} | functions:write | Update a trigger`,
    { fields: TRIGGER },
  ],
  deleteTrigger: [
    `DELETE ${BRANCH}/triggers/{trigger_id} | functions:delete | Delete a trigger`,
    { status: 204 },
  ],
  listCustomDomains: [
    `GET ${BRANCH}/custom-domains | functions:read | List the custom domains of a branch`,
    { query: 'cursor limit' },
  ],
  addCustomDomain: [
    `POST ${BRANCH}/custom-domains | functions:write | Add a custom domain to a branch`,
    { fields: 'domain entity_type entity_id', status: 201 },
  ],
  deleteCustomDomain: [
    `DELETE ${BRANCH}/custom-domains/{domain} | functions:delete | Delete a custom domain of a branch`,
    { status: 204 },
  ],
} as const satisfies Rows;
