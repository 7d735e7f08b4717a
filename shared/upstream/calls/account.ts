/** Lists the calls about the account, its organizations and its projects. */

import type { Rows } from './call.ts';

const ORGANIZATION = '/organizations/{org_id}';
const NETWORK = `${ORGANIZATION}/vpc/region/{region_id}/vpc_endpoints` as const;

export const accountCalls = {
  listApiKeys: 'GET /api_keys | keys:read | List the API keys of the account',
  createApiKey: [
    'POST /api_keys | keys:write | Create an API key of the account',
    { fields: 'key_name', shows: 'issued', isClosed: true },
  ],
  revokeApiKey: [
    'DELETE /api_keys/{key_id} | keys:delete | Revoke an API key of the account',
    { isClosed: true },
  ],
  listOrganizationApiKeys: `GET ${ORGANIZATION}/api_keys | keys:read | List the API keys of an organization`,
  createOrganizationApiKey: [
    `POST ${ORGANIZATION}/api_keys | keys:write | Create an API key of an organization`,
    { fields: 'key_name project_id', shows: 'issued', isClosed: true },
  ],
  revokeOrganizationApiKey: [
    `DELETE ${ORGANIZATION}/api_keys/{key_id} | keys:delete | Revoke an API key of an organization`,
    { isClosed: true },
  ],
  getOrganization: `GET ${ORGANIZATION} | organization:read | Get an organization`,
  listMembers: [
    `GET ${ORGANIZATION}/members | organization:read | List the members of an organization`,
    { query: 'sort_by sort_order cursor limit' },
  ],
  getMember: `GET ${ORGANIZATION}/members/{member_id} | organization:read | Get a member of an organization`,
  updateMember: [
    `PATCH ${ORGANIZATION}/members/{member_id} | organization:write | Update the role of a member`,
    { fields: 'role' },
  ],
  removeMember: `DELETE ${ORGANIZATION}/members/{member_id} | organization:delete | Remove a member from an organization`,
  listInvitations: `GET ${ORGANIZATION}/invitations | organization:read | List the invitations of an organization`,
  createInvitations: [
    `POST ${ORGANIZATION}/invitations | organization:write | Invite people to an organization`,
    { fields: 'invitations[].email invitations[].role' },
  ],
  getSpendingLimit: `GET ${ORGANIZATION}/billing/spending_limit | billing:read | Get the spending limit of an organization`,
  setSpendingLimit: [
    `PUT ${ORGANIZATION}/billing/spending_limit | billing:write | Set the spending limit of an organization`,
    { fields: 'spending_limit_cents' },
  ],
  deleteSpendingLimit: `DELETE ${ORGANIZATION}/billing/spending_limit | billing:write | Delete the spending limit of an organization`,
  listOrganizationVpcEndpoints: `GET ${ORGANIZATION}/vpc/vpc_endpoints | network:read | List the VPC endpoints of an organization`,
  listRegionVpcEndpoints: `GET ${NETWORK} | network:read | List the VPC endpoints of an organization in a region`,
  getOrganizationVpcEndpoint: `GET ${NETWORK}/{vpc_endpoint_id} | network:read | Get a VPC endpoint of an organization`,
  assignOrganizationVpcEndpoint: [
    `POST ${NETWORK}/{vpc_endpoint_id} | network:write | Assign a VPC endpoint to an organization`,
    { fields: 'label', answer: 'nothing' },
  ],
  deleteOrganizationVpcEndpoint: [
    `DELETE ${NETWORK}/{vpc_endpoint_id} | network:delete | Withdraw a VPC endpoint from an organization`,
    { answer: 'nothing' },
  ],
  listRegions: ['GET /regions | regions:read | List the regions', { query: 'org_id' }],
  getCurrentUser: 'GET /users/me | users:read | Get the person of the key',
  listCurrentUserOrganizations:
    'GET /users/me/organizations | users:read | List the organizations of the person of the key',
  getAuthDetails: 'GET /auth | users:read | Get what kind of key the bridge uses',
} as const satisfies Rows;

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
  createProject: [
    'POST /projects | projects:write | Create a project',
    {
      fields: `${SETTINGS} project.region_id project.pg_version project.provisioner project.org_id
        project.store_passwords project.autoscaling_limit_min_cu project.autoscaling_limit_max_cu
        project.branch.name project.branch.role_name project.branch.database_name
        project.branch.annotations.*`,
      status: 201,
      shows: 'connection',
    },
  ],
  listSharedProjects: [
    'GET /projects/shared | projects:read | List projects that are shared with this account',
    { reach: 'own_projects', query: 'cursor limit search timeout' },
  ],
  getProject: 'GET /projects/{project_id} | projects:read | Get a project',
  updateProject: ['PATCH /projects/{project_id} | projects:write | Update a project', { fields: SETTINGS }],
  deleteProject: 'DELETE /projects/{project_id} | projects:delete | Delete a project',
  recoverProject: 'POST /projects/{project_id}/recover | projects:write | Recover a deleted project',
  getProjectAdvice: [
    'GET /projects/{project_id}/advisors | projects:read | Get the advice for a project',
    { query: 'branch_id database_name category min_severity' },
  ],
  listPreloadLibraries:
    'GET /projects/{project_id}/available_preload_libraries | projects:read | List the libraries that a project can preload',
  listPermissions: 'GET /projects/{project_id}/permissions | projects:read | List who may use a project',
  grantPermission: [
    'POST /projects/{project_id}/permissions | projects:share | Let a person use a project',
    { fields: 'email' },
  ],
  revokePermission:
    'DELETE /projects/{project_id}/permissions/{permission_id} | projects:share | Withdraw a permission to use a project',
  listProjectMembers: [
    'GET /projects/{project_id}/members | projects:read | List the members of a project with their roles',
    { query: 'cursor limit' },
  ],
  setProjectMemberRole: [
    'PUT /projects/{project_id}/members/{member_id}/role | projects:share | Set the role of a member of a project',
    { query: 'confirm_self_demotion', fields: 'role' },
  ],
  removeProjectMemberRole: [
    'DELETE /projects/{project_id}/members/{member_id}/role | projects:share | Withdraw the role of a member of a project',
    { query: 'confirm_self_lockout' },
  ],
  createTransferRequest: [
    'POST /projects/{project_id}/transfer_requests | projects:transfer | Offer a project to another account',
    { reach: 'account', fields: 'ttl_seconds', status: 201, shows: 'issued' },
  ],
  acceptTransferRequest: [
    'PUT /projects/{project_id}/transfer_requests/{request_id} | projects:transfer | Accept a project of another account',
    { reach: 'account', fields: 'org_id', status: 204 },
  ],
  transferProjectsToOrganization: [
    'POST /users/me/projects/transfer | projects:transfer | Transfer projects of a person to an organization',
    { fields: 'destination_org_id project_ids' },
  ],
  transferProjectsBetweenOrganizations: [
    'POST /organizations/{source_org_id}/projects/transfer | projects:transfer | Transfer projects of an organization to another one',
    { fields: 'destination_org_id project_ids' },
  ],
  listJwks: 'GET /projects/{project_id}/jwks | jwks:read | List the key sets of a project',
  addJwks: [
    'POST /projects/{project_id}/jwks | jwks:write | Add a key set to a project',
    { fields: 'jwks_url provider_name branch_id jwt_audience role_names skip_role_creation', status: 201 },
  ],
  deleteJwks: 'DELETE /projects/{project_id}/jwks/{jwks_id} | jwks:delete | Delete a key set of a project',
  listVpcEndpoints:
    'GET /projects/{project_id}/vpc_endpoints | network:read | List the VPC endpoints of a project',
  assignVpcEndpoint: [
    'POST /projects/{project_id}/vpc_endpoints/{vpc_endpoint_id} | network:write | Limit a project to a VPC endpoint',
    { fields: 'label', answer: 'nothing' },
  ],
  deleteVpcEndpoint: [
    'DELETE /projects/{project_id}/vpc_endpoints/{vpc_endpoint_id} | network:delete | Withdraw a VPC endpoint from a project',
    { answer: 'nothing' },
  ],
  getConnectionUri: [
    'GET /projects/{project_id}/connection_uri | connection:read | Get a connection string',
    { query: 'branch_id endpoint_id database_name role_name pooled', shows: 'connection' },
  ],
  getProjectConsumption: [
    'GET /consumption_history/projects | consumption:read | Get what projects have consumed (first version)',
    {
      reach: 'listed_projects',
      query: 'cursor limit project_ids from to granularity org_id include_v1_metrics metrics',
    },
  ],
  getProjectConsumptionV2: [
    'GET /consumption_history/v2/projects | consumption:read | Get what projects have consumed',
    { reach: 'listed_projects', query: 'cursor limit project_ids from to granularity org_id metrics' },
  ],
  getBranchConsumption: [
    'GET /consumption_history/v2/branches | consumption:read | Get what branches have consumed',
    {
      reach: 'listed_projects',
      query: 'cursor limit project_ids branch_ids from to granularity org_id metrics',
    },
  ],
} as const satisfies Rows;
