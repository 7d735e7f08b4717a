/** Lists the calls about the account, its organizations and its projects. */

import type { PublicCalls } from './public-call.ts';

const ORGANIZATION = '/organizations/{org_id}';
const NETWORK = `${ORGANIZATION}/vpc/region/{region_id}/vpc_endpoints` as const;

export const accountCalls = {
  listApiKeys: { request: 'GET /api_keys', scope: 'keys:read', summary: 'List the API keys of the account' },
  createApiKey: {
    request: 'POST /api_keys',
    scope: 'keys:write',
    summary: 'Create an API key of the account',
    fields: 'key_name',
    shows: 'issued',
    isClosed: true,
  },
  revokeApiKey: {
    request: 'DELETE /api_keys/{key_id}',
    scope: 'keys:delete',
    summary: 'Revoke an API key of the account',
    isClosed: true,
  },
  listOrganizationApiKeys: {
    request: `GET ${ORGANIZATION}/api_keys`,
    scope: 'keys:read',
    summary: 'List the API keys of an organization',
  },
  createOrganizationApiKey: {
    request: `POST ${ORGANIZATION}/api_keys`,
    scope: 'keys:write',
    summary: 'Create an API key of an organization',
    fields: 'key_name project_id',
    shows: 'issued',
    isClosed: true,
  },
  revokeOrganizationApiKey: {
    request: `DELETE ${ORGANIZATION}/api_keys/{key_id}`,
    scope: 'keys:delete',
    summary: 'Revoke an API key of an organization',
    isClosed: true,
  },
  getOrganization: {
    request: `GET ${ORGANIZATION}`,
    scope: 'organization:read',
    summary: 'Get an organization',
  },
  listMembers: {
    request: `GET ${ORGANIZATION}/members`,
    scope: 'organization:read',
    summary: 'List the members of an organization',
    query: 'sort_by sort_order cursor limit',
  },
  getMember: {
    request: `GET ${ORGANIZATION}/members/{member_id}`,
    scope: 'organization:read',
    summary: 'Get a member of an organization',
  },
  updateMember: {
    request: `PATCH ${ORGANIZATION}/members/{member_id}`,
    scope: 'organization:write',
    summary: 'Update the role of a member',
    fields: 'role',
  },
  removeMember: {
    request: `DELETE ${ORGANIZATION}/members/{member_id}`,
    scope: 'organization:delete',
    summary: 'Remove a member from an organization',
  },
  listInvitations: {
    request: `GET ${ORGANIZATION}/invitations`,
    scope: 'organization:read',
    summary: 'List the invitations of an organization',
  },
  createInvitations: {
    request: `POST ${ORGANIZATION}/invitations`,
    scope: 'organization:write',
    summary: 'Invite people to an organization',
    fields: 'invitations[].email invitations[].role',
  },
  getSpendingLimit: {
    request: `GET ${ORGANIZATION}/billing/spending_limit`,
    scope: 'billing:read',
    summary: 'Get the spending limit of an organization',
  },
  setSpendingLimit: {
    request: `PUT ${ORGANIZATION}/billing/spending_limit`,
    scope: 'billing:write',
    summary: 'Set the spending limit of an organization',
    fields: 'spending_limit_cents',
  },
  deleteSpendingLimit: {
    request: `DELETE ${ORGANIZATION}/billing/spending_limit`,
    scope: 'billing:write',
    summary: 'Delete the spending limit of an organization',
  },
  listOrganizationVpcEndpoints: {
    request: `GET ${ORGANIZATION}/vpc/vpc_endpoints`,
    scope: 'network:read',
    summary: 'List the VPC endpoints of an organization',
  },
  listRegionVpcEndpoints: {
    request: `GET ${NETWORK}`,
    scope: 'network:read',
    summary: 'List the VPC endpoints of an organization in a region',
  },
  getOrganizationVpcEndpoint: {
    request: `GET ${NETWORK}/{vpc_endpoint_id}`,
    scope: 'network:read',
    summary: 'Get a VPC endpoint of an organization',
  },
  assignOrganizationVpcEndpoint: {
    request: `POST ${NETWORK}/{vpc_endpoint_id}`,
    scope: 'network:write',
    summary: 'Assign a VPC endpoint to an organization',
    fields: 'label',
    answer: 'nothing',
  },
  deleteOrganizationVpcEndpoint: {
    request: `DELETE ${NETWORK}/{vpc_endpoint_id}`,
    scope: 'network:delete',
    summary: 'Withdraw a VPC endpoint from an organization',
    answer: 'nothing',
  },
  listRegions: {
    request: 'GET /regions',
    scope: 'regions:read',
    summary: 'List the regions',
    query: 'org_id',
  },
  getCurrentUser: { request: 'GET /users/me', scope: 'users:read', summary: 'Get the person of the key' },
  listCurrentUserOrganizations: {
    request: 'GET /users/me/organizations',
    scope: 'users:read',
    summary: 'List the organizations of the person of the key',
  },
  getAuthDetails: {
    request: 'GET /auth',
    scope: 'users:read',
    summary: 'Get what kind of key the bridge uses',
  },
} as const satisfies PublicCalls;

const SETTINGS = `project.name project.history_retention_seconds
  project.settings.quota.active_time_seconds project.settings.quota.compute_time_seconds
  project.settings.quota.written_data_bytes project.settings.quota.data_transfer_bytes
  project.settings.quota.logical_size_bytes
  project.settings.allowed_ips.ips project.settings.allowed_ips.protected_branches_only
  project.settings.enable_logical_replication project.settings.hipaa project.settings.audit_log_level
  project.settings.maintenance_window.weekdays project.settings.maintenance_window.start_time
  project.settings.maintenance_window.end_time
  project.settings.block_public_connections project.settings.block_vpc_connections
  project.settings.preload_libraries.use_defaults project.settings.preload_libraries.enabled_libraries
  project.default_endpoint_settings.pg_settings.* project.default_endpoint_settings.pgbouncer_settings.*
  project.default_endpoint_settings.autoscaling_limit_min_cu
  project.default_endpoint_settings.autoscaling_limit_max_cu
  project.default_endpoint_settings.suspend_timeout_seconds`;

export const projectCalls = {
  createProject: {
    request: 'POST /projects',
    scope: 'projects:write',
    summary: 'Create a project',
    fields: `${SETTINGS} project.region_id project.pg_version project.provisioner project.org_id
      project.store_passwords project.autoscaling_limit_min_cu project.autoscaling_limit_max_cu
      project.branch.name project.branch.role_name project.branch.database_name project.branch.annotations.*`,
    status: 201,
    shows: 'connection',
  },
  listSharedProjects: {
    request: 'GET /projects/shared',
    scope: 'projects:read',
    summary: 'List projects that are shared with this account',
    reach: 'own_projects',
    query: 'cursor limit search',
  },
  getProject: {
    request: 'GET /projects/{project_id}',
    scope: 'projects:read',
    summary: 'Get a project',
  },
  updateProject: {
    request: 'PATCH /projects/{project_id}',
    scope: 'projects:write',
    summary: 'Update a project',
    fields: SETTINGS,
  },
  deleteProject: {
    request: 'DELETE /projects/{project_id}',
    scope: 'projects:delete',
    summary: 'Delete a project',
  },
  recoverProject: {
    request: 'POST /projects/{project_id}/recover',
    scope: 'projects:write',
    summary: 'Recover a deleted project',
  },
  getProjectAdvice: {
    request: 'GET /projects/{project_id}/advisors',
    scope: 'projects:read',
    summary: 'Get the advice for a project',
    query: 'branch_id database_name category min_severity',
  },
  listPreloadLibraries: {
    request: 'GET /projects/{project_id}/available_preload_libraries',
    scope: 'projects:read',
    summary: 'List the libraries that a project can preload',
  },
  listPermissions: {
    request: 'GET /projects/{project_id}/permissions',
    scope: 'projects:read',
    summary: 'List who may use a project',
  },
  grantPermission: {
    request: 'POST /projects/{project_id}/permissions',
    scope: 'projects:share',
    summary: 'Let a person use a project',
    fields: 'email',
  },
  revokePermission: {
    request: 'DELETE /projects/{project_id}/permissions/{permission_id}',
    scope: 'projects:share',
    summary: 'Withdraw a permission to use a project',
  },
  createTransferRequest: {
    request: 'POST /projects/{project_id}/transfer_requests',
    scope: 'projects:transfer',
    summary: 'Offer a project to another account',
    reach: 'account',
    fields: 'ttl_seconds',
    status: 201,
    shows: 'issued',
  },
  acceptTransferRequest: {
    request: 'PUT /projects/{project_id}/transfer_requests/{request_id}',
    scope: 'projects:transfer',
    summary: 'Accept a project of another account',
    reach: 'account',
    fields: 'org_id',
    status: 204,
  },
  transferProjectsToOrganization: {
    request: 'POST /users/me/projects/transfer',
    scope: 'projects:transfer',
    summary: 'Transfer projects of a person to an organization',
    fields: 'destination_org_id project_ids',
  },
  transferProjectsBetweenOrganizations: {
    request: 'POST /organizations/{source_org_id}/projects/transfer',
    scope: 'projects:transfer',
    summary: 'Transfer projects of an organization to another one',
    fields: 'destination_org_id project_ids',
  },
  listJwks: {
    request: 'GET /projects/{project_id}/jwks',
    scope: 'jwks:read',
    summary: 'List the key sets of a project',
  },
  addJwks: {
    request: 'POST /projects/{project_id}/jwks',
    scope: 'jwks:write',
    summary: 'Add a key set to a project',
    fields: 'jwks_url provider_name branch_id jwt_audience role_names skip_role_creation',
    status: 201,
  },
  deleteJwks: {
    request: 'DELETE /projects/{project_id}/jwks/{jwks_id}',
    scope: 'jwks:delete',
    summary: 'Delete a key set of a project',
  },
  listVpcEndpoints: {
    request: 'GET /projects/{project_id}/vpc_endpoints',
    scope: 'network:read',
    summary: 'List the VPC endpoints of a project',
  },
  assignVpcEndpoint: {
    request: 'POST /projects/{project_id}/vpc_endpoints/{vpc_endpoint_id}',
    scope: 'network:write',
    summary: 'Limit a project to a VPC endpoint',
    fields: 'label',
    answer: 'nothing',
  },
  deleteVpcEndpoint: {
    request: 'DELETE /projects/{project_id}/vpc_endpoints/{vpc_endpoint_id}',
    scope: 'network:delete',
    summary: 'Withdraw a VPC endpoint from a project',
    answer: 'nothing',
  },
  getConnectionUri: {
    request: 'GET /projects/{project_id}/connection_uri',
    scope: 'connection:read',
    summary: 'Get a connection string',
    query: 'branch_id endpoint_id database_name role_name pooled',
    shows: 'connection',
  },
  getProjectConsumption: {
    request: 'GET /consumption_history/projects',
    scope: 'consumption:read',
    summary: 'Get what projects have consumed (first version)',
    reach: 'listed_projects',
    query: 'cursor limit project_ids from to granularity org_id include_v1_metrics metrics',
  },
  getProjectConsumptionV2: {
    request: 'GET /consumption_history/v2/projects',
    scope: 'consumption:read',
    summary: 'Get what projects have consumed',
    reach: 'listed_projects',
    query: 'cursor limit project_ids from to granularity org_id metrics',
  },
  getBranchConsumption: {
    request: 'GET /consumption_history/v2/branches',
    scope: 'consumption:read',
    summary: 'Get what branches have consumed',
    reach: 'listed_projects',
    query: 'cursor limit project_ids branch_ids from to granularity org_id metrics',
  },
} as const satisfies PublicCalls;
