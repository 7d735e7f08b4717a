/** Lists the calls about branches, with their schemas, masking rules, snapshots and auth integration. */

import type { PublicCalls } from './public-call.ts';

const BRANCH = '/projects/{project_id}/branches/{branch_id}';

const NEW_BRANCH = [
  'branch.name branch.parent_id branch.parent_lsn branch.parent_timestamp branch.protected',
  'branch.archived branch.init_source branch.expires_at annotation_value.*',
].join(' ');

const NEW_COMPUTES = [
  'endpoints[].type endpoints[].provisioner endpoints[].suspend_timeout_seconds',
  'endpoints[].autoscaling_limit_min_cu endpoints[].autoscaling_limit_max_cu',
  'endpoints[].settings.pg_settings.* endpoints[].settings.pgbouncer_settings.*',
  'endpoints[].settings.preload_libraries.use_defaults',
  'endpoints[].settings.preload_libraries.enabled_libraries',
].join(' ');

const MASKING_RULES = [
  'masking_rules[].database_name masking_rules[].schema_name masking_rules[].table_name',
  'masking_rules[].column_name masking_rules[].masking_function masking_rules[].masking_value',
].join(' ');

const within = (prefix: string, fields: string) =>
  fields
    .split(' ')
    .map((field) => `${prefix}.${field}`)
    .join(' ');

export const branchCalls = {
  listBranches: {
    request: 'GET /projects/{project_id}/branches',
    scope: 'branches:read',
    summary: 'List branches',
    query: 'search sort_by sort_order include_deleted cursor limit',
  },
  createBranch: {
    request: 'POST /projects/{project_id}/branches',
    scope: 'branches:write',
    summary: 'Create a branch',
    fields: `${NEW_BRANCH} ${NEW_COMPUTES}`,
    status: 201,
    shows: 'connection',
  },
  createAnonymizedBranch: {
    request: 'POST /projects/{project_id}/branch_anonymized',
    scope: 'branches:write',
    summary: 'Create a branch with masked data',
    fields: `start_anonymization annotation_value.* ${MASKING_RULES} ${within('branch_create', `${NEW_BRANCH} ${NEW_COMPUTES}`)}`,
    status: 201,
    shows: 'connection',
  },
  countBranches: {
    request: 'GET /projects/{project_id}/branches/count',
    scope: 'branches:read',
    summary: 'Count branches',
    query: 'search',
  },
  getBranch: { request: `GET ${BRANCH}`, scope: 'branches:read', summary: 'Get a branch' },
  updateBranch: {
    request: `PATCH ${BRANCH}`,
    scope: 'branches:write',
    summary: 'Update a branch',
    fields: 'branch.name branch.protected branch.expires_at',
  },
  deleteBranch: {
    request: `DELETE ${BRANCH}`,
    scope: 'branches:delete',
    summary: 'Delete a branch',
    query: 'hard_delete',
    otherStatus: 204,
  },
  restoreBranch: {
    request: `POST ${BRANCH}/restore`,
    scope: 'branches:write',
    summary: 'Restore a branch to a point of its own or of another branch',
    fields: 'source_branch_id source_lsn source_timestamp preserve_under_name',
    shows: 'connection',
  },
  finalizeRestore: {
    request: `POST ${BRANCH}/finalize_restore`,
    scope: 'branches:write',
    summary: 'Finalize the restoration of a branch',
    fields: 'name',
  },
  recoverBranch: {
    request: `POST ${BRANCH}/recover`,
    scope: 'branches:write',
    summary: 'Recover a deleted branch',
  },
  setDefaultBranch: {
    request: `POST ${BRANCH}/set_as_default`,
    scope: 'branches:write',
    summary: 'Make a branch the default branch',
  },
  getSchema: {
    request: `GET ${BRANCH}/schema`,
    scope: 'branches:read',
    summary: 'Get the schema of a database',
    query: 'db_name lsn timestamp format',
  },
  compareSchemas: {
    request: `GET ${BRANCH}/compare_schema`,
    scope: 'branches:read',
    summary: 'Compare the schemas of two branches',
    query: 'base_branch_id db_name lsn timestamp base_lsn base_timestamp',
  },
  getMaskingRules: {
    request: `GET ${BRANCH}/masking_rules`,
    scope: 'branches:read',
    summary: 'Get the masking rules of a branch',
  },
  updateMaskingRules: {
    request: `PATCH ${BRANCH}/masking_rules`,
    scope: 'branches:write',
    summary: 'Update the masking rules of a branch',
    fields: MASKING_RULES,
  },
  getAnonymization: {
    request: `GET ${BRANCH}/anonymized_status`,
    scope: 'branches:read',
    summary: 'Get how far the masking of a branch is',
  },
  startAnonymization: {
    request: `POST ${BRANCH}/anonymize`,
    scope: 'branches:write',
    summary: 'Start the masking of a branch',
  },
  createSnapshot: {
    request: `POST ${BRANCH}/snapshot`,
    scope: 'snapshots:write',
    summary: 'Create a snapshot',
    query: 'lsn timestamp name expires_at',
  },
  listSnapshots: {
    request: 'GET /projects/{project_id}/snapshots',
    scope: 'snapshots:read',
    summary: 'List snapshots',
  },
  updateSnapshot: {
    request: 'PATCH /projects/{project_id}/snapshots/{snapshot_id}',
    scope: 'snapshots:write',
    summary: 'Update a snapshot',
    fields: 'snapshot.name',
  },
  deleteSnapshot: {
    request: 'DELETE /projects/{project_id}/snapshots/{snapshot_id}',
    scope: 'snapshots:delete',
    summary: 'Delete a snapshot',
    status: 202,
  },
  restoreSnapshot: {
    request: 'POST /projects/{project_id}/snapshots/{snapshot_id}/restore',
    scope: 'snapshots:write',
    summary: 'Restore a snapshot to a branch',
    query: 'name',
    fields: 'name target_branch_id finalize_restore',
    shows: 'connection',
  },
  getBackupSchedule: {
    request: `GET ${BRANCH}/backup_schedule`,
    scope: 'snapshots:read',
    summary: 'Get the schedule of backups',
  },
  setBackupSchedule: {
    request: `PUT ${BRANCH}/backup_schedule`,
    scope: 'snapshots:write',
    summary: 'Set the schedule of backups',
    fields:
      'schedule[].frequency schedule[].hour schedule[].day schedule[].month schedule[].retention_seconds',
  },
} as const satisfies PublicCalls;

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
