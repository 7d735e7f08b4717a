/**
 * Lists the calls about the account and its organizations: keys, people, billing, networks, regions. None of them stays
 * within a project.
 */

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
