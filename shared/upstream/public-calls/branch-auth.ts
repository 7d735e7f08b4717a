/** Lists the calls about the auth integration of a branch, which replaces that of a project. */

import type { PublicCalls } from './public-call.ts';

const AUTH = '/projects/{project_id}/branches/{branch_id}/auth';

const EMAIL_SERVER = 'type host port username password sender_email sender_name';

export const branchAuthCalls = {
  getBranchAuth: {
    request: `GET ${AUTH}`,
    scope: 'auth:read',
    summary: 'Get the auth integration of a branch',
  },
  createBranchAuth: {
    request: `POST ${AUTH}`,
    scope: 'auth:create',
    summary: 'Create the auth integration of a branch',
    fields: 'auth_provider database_name',
    status: 201,
    shows: 'issued',
  },
  deleteBranchAuth: {
    request: `DELETE ${AUTH}`,
    scope: 'auth:delete',
    summary: 'Delete the auth integration of a branch',
    fields: 'delete_data',
    answer: 'nothing',
  },
  updateBranchAuthConfig: {
    request: `PATCH ${AUTH}/config`,
    scope: 'auth:settings',
    summary: 'Update the auth integration of a branch',
    fields: 'name',
  },
  listTrustedDomains: {
    request: `GET ${AUTH}/domains`,
    scope: 'auth:read',
    summary: 'List the trusted domains of a branch',
  },
  addTrustedDomain: {
    request: `POST ${AUTH}/domains`,
    scope: 'auth:redirects',
    summary: 'Add a trusted domain to a branch',
    fields: 'domain auth_provider',
    status: 201,
    answer: 'nothing',
  },
  deleteTrustedDomains: {
    request: `DELETE ${AUTH}/domains`,
    scope: 'auth:redirects',
    summary: 'Delete trusted domains of a branch',
    fields: 'auth_provider domains[].domain',
    answer: 'nothing',
  },
  getAuthWebhook: {
    request: `GET ${AUTH}/webhooks`,
    scope: 'auth:read',
    summary: 'Get the webhook of an auth integration',
  },
  setAuthWebhook: {
    request: `PUT ${AUTH}/webhooks`,
    scope: 'auth:redirects',
    summary: 'Set the webhook of an auth integration',
    fields: 'enabled webhook_url enabled_events timeout_seconds',
  },
  createBranchAuthUser: {
    request: `POST ${AUTH}/users`,
    scope: 'auth:users',
    summary: 'Create an auth user of a branch',
    fields: 'email name',
    status: 201,
  },
  deleteBranchAuthUser: {
    request: `DELETE ${AUTH}/users/{auth_user_id}`,
    scope: 'auth:users',
    summary: 'Delete an auth user of a branch',
    status: 204,
  },
  updateAuthUserRole: {
    request: `PUT ${AUTH}/users/{auth_user_id}/role`,
    scope: 'auth:users',
    summary: 'Update the role of an auth user',
    fields: 'roles',
  },
  listBranchOauthProviders: {
    request: `GET ${AUTH}/oauth_providers`,
    scope: 'auth:read',
    summary: 'List the OAuth providers of a branch',
  },
  addBranchOauthProvider: {
    request: `POST ${AUTH}/oauth_providers`,
    scope: 'auth:providers',
    summary: 'Add an OAuth provider to a branch',
    fields: 'id client_id client_secret microsoft_tenant_id',
    shows: 'issued',
  },
  updateBranchOauthProvider: {
    request: `PATCH ${AUTH}/oauth_providers/{oauth_provider_id}`,
    scope: 'auth:providers',
    summary: 'Update an OAuth provider of a branch',
    fields: 'client_id client_secret microsoft_tenant_id',
    shows: 'issued',
  },
  deleteBranchOauthProvider: {
    request: `DELETE ${AUTH}/oauth_providers/{oauth_provider_id}`,
    scope: 'auth:providers',
    summary: 'Delete an OAuth provider of a branch',
    answer: 'nothing',
  },
  getBranchEmailServer: {
    request: `GET ${AUTH}/email_provider`,
    scope: 'auth:read',
    summary: 'Get the e-mail server of a branch',
  },
  updateBranchEmailServer: {
    request: `PATCH ${AUTH}/email_provider`,
    scope: 'auth:email',
    summary: 'Update the e-mail server of a branch',
    fields: EMAIL_SERVER,
    shows: 'issued',
  },
  sendTestEmail: {
    request: `POST ${AUTH}/send_test_email`,
    scope: 'auth:email',
    summary: 'Send a test message',
    fields: `${EMAIL_SERVER} recipient_email`,
  },
  getPasswordSignIn: {
    request: `GET ${AUTH}/email_and_password`,
    scope: 'auth:read',
    summary: 'Get how people sign in with a password',
  },
  updatePasswordSignIn: {
    request: `PATCH ${AUTH}/email_and_password`,
    scope: 'auth:settings',
    summary: 'Update how people sign in with a password',
    fields: `enabled email_verification_method require_email_verification auto_sign_in_after_verification
      send_verification_email_on_sign_up send_verification_email_on_sign_in disable_sign_up`,
  },
  getLocalhostAccess: {
    request: `GET ${AUTH}/allow_localhost`,
    scope: 'auth:read',
    summary: 'Get whether localhost may sign people in',
  },
  updateLocalhostAccess: {
    request: `PATCH ${AUTH}/allow_localhost`,
    scope: 'auth:settings',
    summary: 'Update whether localhost may sign people in',
    fields: 'allow_localhost',
  },
  getAuthPlugins: { request: `GET ${AUTH}/plugins`, scope: 'auth:read', summary: 'Get the auth plug-ins' },
  updateOrganizationPlugin: {
    request: `PATCH ${AUTH}/plugins/organization`,
    scope: 'auth:settings',
    summary: 'Update the plug-in for organizations',
    fields: 'enabled organization_limit membership_limit creator_role send_invitation_email',
  },
  updateMagicLinkPlugin: {
    request: `PATCH ${AUTH}/plugins/magic-link`,
    scope: 'auth:settings',
    summary: 'Update the plug-in for magic links',
    fields: 'enabled expires_in disable_sign_up',
  },
  getPhonePlugin: {
    request: `GET ${AUTH}/plugins/phone-number`,
    scope: 'auth:read',
    summary: 'Get the plug-in for telephone numbers',
  },
  updatePhonePlugin: {
    request: `PATCH ${AUTH}/plugins/phone-number`,
    scope: 'auth:settings',
    summary: 'Update the plug-in for telephone numbers',
    fields: 'enabled otp_expires_in',
  },
} as const satisfies PublicCalls;
