/** Lists the calls about branches, with their schemas, logs, masking rules, snapshots and auth integration. */

import type { Rows } from './call.ts';

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
  listBranches: [
    'GET /projects/{project_id}/branches | branches:read | List branches',
    { query: 'search sort_by sort_order include_deleted cursor limit' },
  ],
  createBranch: [
    'POST /projects/{project_id}/branches | branches:write | Create a branch',
    { fields: `${NEW_BRANCH} ${NEW_COMPUTES}`, status: 201, shows: 'connection' },
  ],
  createAnonymizedBranch: [
    'POST /projects/{project_id}/branch_anonymized | branches:write | Create a branch with masked data',
    {
      fields: `start_anonymization annotation_value.* ${MASKING_RULES} ${within('branch_create', `${NEW_BRANCH} ${NEW_COMPUTES}`)}`,
      status: 201,
      shows: 'connection',
    },
  ],
  countBranches: [
    'GET /projects/{project_id}/branches/count | branches:read | Count branches',
    { query: 'search' },
  ],
  getBranch: `GET ${BRANCH} | branches:read | Get a branch`,
  updateBranch: [
    `PATCH ${BRANCH} | branches:write | Update a branch`,
    { fields: 'branch.name branch.protected branch.expires_at' },
  ],
  deleteBranch: [
    `DELETE ${BRANCH} | branches:delete | Delete a branch`,
    { query: 'hard_delete', otherStatus: 204 },
  ],
  restoreBranch: [
    `POST ${BRANCH}/restore | branches:write | Restore a branch to a point of its own or of another branch`,
    { fields: 'source_branch_id source_lsn source_timestamp preserve_under_name', shows: 'connection' },
  ],
  finalizeRestore: [
    `POST ${BRANCH}/finalize_restore | branches:write | Finalize the restoration of a branch`,
    { fields: 'name' },
  ],
  recoverBranch: `POST ${BRANCH}/recover | branches:write | Recover a deleted branch`,
  setDefaultBranch: `POST ${BRANCH}/set_as_default | branches:write | Make a branch the default branch`,
  getSchema: [
    `GET ${BRANCH}/schema | branches:read | Get the schema of a database`,
    { query: 'db_name lsn timestamp format' },
  ],
  compareSchemas: [
    `GET ${BRANCH}/compare_schema | branches:read | Compare the schemas of two branches`,
    { query: 'base_branch_id db_name lsn timestamp base_lsn base_timestamp' },
  ],
  queryLogs: [
    `POST ${BRANCH}/logs/query | logs:read | Search the logs of a branch`,
    {
      fields: `since start_time end_time limit cursor sort_order source service_name scope_name
        minimum_severity severity_text body_contains trace_id logql`,
    },
  ],
  listLogFields: `GET ${BRANCH}/logs/fields | logs:read | List the fields of the logs of a branch`,
  listLogFieldValues: [
    `GET ${BRANCH}/logs/fields/{field_name}/values | logs:read | List the values of a field of the logs`,
    { query: 'since start_time end_time source limit' },
  ],
  getMaskingRules: `GET ${BRANCH}/masking_rules | branches:read | Get the masking rules of a branch`,
  updateMaskingRules: [
    `PATCH ${BRANCH}/masking_rules | branches:write | Update the masking rules of a branch`,
    { fields: MASKING_RULES },
  ],
  getAnonymization: `GET ${BRANCH}/anonymized_status | branches:read | Get how far the masking of a branch is`,
  startAnonymization: `POST ${BRANCH}/anonymize | branches:write | Start the masking of a branch`,
  createSnapshot: [
    `POST ${BRANCH}/snapshot | snapshots:write | Create a snapshot`,
    { query: 'lsn timestamp name slug expires_at' },
  ],
  listSnapshots: 'GET /projects/{project_id}/snapshots | snapshots:read | List snapshots',
  updateSnapshot: [
    'PATCH /projects/{project_id}/snapshots/{snapshot_id} | snapshots:write | Update a snapshot',
    { fields: 'snapshot.name' },
  ],
  deleteSnapshot: [
    'DELETE /projects/{project_id}/snapshots/{snapshot_id} | snapshots:delete | Delete a snapshot',
    { status: 202 },
  ],
  restoreSnapshot: [
    'POST /projects/{project_id}/snapshots/{snapshot_id}/restore | snapshots:write | Restore a snapshot to a branch',
    { query: 'name', fields: 'name target_branch_id finalize_restore', shows: 'connection' },
  ],
  getBackupSchedule: `GET ${BRANCH}/backup_schedule | snapshots:read | Get the schedule of backups`,
  setBackupSchedule: [
    `PUT ${BRANCH}/backup_schedule | snapshots:write | Set the schedule of backups`,
    {
      fields:
        'schedule[].frequency schedule[].hour schedule[].day schedule[].month schedule[].retention_seconds',
    },
  ],
} as const satisfies Rows;

const AUTH = '/projects/{project_id}/branches/{branch_id}/auth';

const EMAIL_SERVER = 'type host port username password sender_email sender_name';

export const branchAuthCalls = {
  getBranchAuth: `GET ${AUTH} | auth:read | Get the auth integration of a branch`,
  createBranchAuth: [
    `POST ${AUTH} | auth:create | Create the auth integration of a branch`,
    { fields: 'auth_provider database_name', status: 201, shows: 'issued' },
  ],
  deleteBranchAuth: [
    `DELETE ${AUTH} | auth:delete | Delete the auth integration of a branch`,
    { fields: 'delete_data', answer: 'nothing' },
  ],
  updateBranchAuthConfig: [
    `PATCH ${AUTH}/config | auth:settings | Update the auth integration of a branch`,
    { fields: 'name' },
  ],
  listTrustedDomains: `GET ${AUTH}/domains | auth:read | List the trusted domains of a branch`,
  addTrustedDomain: [
    `POST ${AUTH}/domains | auth:redirects | Add a trusted domain to a branch`,
    { fields: 'domain auth_provider', status: 201, answer: 'nothing' },
  ],
  deleteTrustedDomains: [
    `DELETE ${AUTH}/domains | auth:redirects | Delete trusted domains of a branch`,
    { fields: 'auth_provider domains[].domain', answer: 'nothing' },
  ],
  getAuthWebhook: `GET ${AUTH}/webhooks | auth:read | Get the webhook of an auth integration`,
  setAuthWebhook: [
    `PUT ${AUTH}/webhooks | auth:redirects | Set the webhook of an auth integration`,
    { fields: 'enabled webhook_url enabled_events timeout_seconds' },
  ],
  createBranchAuthUser: [
    `POST ${AUTH}/users | auth:users | Create an auth user of a branch`,
    { fields: 'email name', status: 201 },
  ],
  deleteBranchAuthUser: [
    `DELETE ${AUTH}/users/{auth_user_id} | auth:users | Delete an auth user of a branch`,
    { status: 204 },
  ],
  updateAuthUserRole: [
    `PUT ${AUTH}/users/{auth_user_id}/role | auth:users | Update the role of an auth user`,
    { fields: 'roles' },
  ],
  listBranchOauthProviders: `GET ${AUTH}/oauth_providers | auth:read | List the OAuth providers of a branch`,
  addBranchOauthProvider: [
    `POST ${AUTH}/oauth_providers | auth:providers | Add an OAuth provider to a branch`,
    { fields: 'id client_id client_secret microsoft_tenant_id', shows: 'issued' },
  ],
  updateBranchOauthProvider: [
    `PATCH ${AUTH}/oauth_providers/{oauth_provider_id} | auth:providers | Update an OAuth provider of a branch`,
    { fields: 'client_id client_secret microsoft_tenant_id', shows: 'issued' },
  ],
  deleteBranchOauthProvider: [
    `DELETE ${AUTH}/oauth_providers/{oauth_provider_id} | auth:providers | Delete an OAuth provider of a branch`,
    { answer: 'nothing' },
  ],
  getBranchEmailServer: `GET ${AUTH}/email_provider | auth:read | Get the e-mail server of a branch`,
  updateBranchEmailServer: [
    `PATCH ${AUTH}/email_provider | auth:email | Update the e-mail server of a branch`,
    { fields: EMAIL_SERVER, shows: 'issued' },
  ],
  sendTestEmail: [
    `POST ${AUTH}/send_test_email | auth:email | Send a test message`,
    { fields: `${EMAIL_SERVER} recipient_email` },
  ],
  testEmailProvider: [
    `POST ${AUTH}/email_provider/test | auth:email | Send a test message through the stored e-mail server`,
    { fields: 'recipient_email' },
  ],
  getPasswordSignIn: `GET ${AUTH}/email_and_password | auth:read | Get how people sign in with a password`,
  updatePasswordSignIn: [
    `PATCH ${AUTH}/email_and_password | auth:settings | Update how people sign in with a password`,
    {
      fields: `enabled email_verification_method require_email_verification auto_sign_in_after_verification send_verification_email_on_sign_up send_verification_email_on_sign_in disable_sign_up`,
    },
  ],
  getLocalhostAccess: `GET ${AUTH}/allow_localhost | auth:read | Get whether localhost may sign people in`,
  updateLocalhostAccess: [
    `PATCH ${AUTH}/allow_localhost | auth:settings | Update whether localhost may sign people in`,
    { fields: 'allow_localhost' },
  ],
  getAuthPlugins: `GET ${AUTH}/plugins | auth:read | Get the auth plug-ins`,
  updateOrganizationPlugin: [
    `PATCH ${AUTH}/plugins/organization | auth:settings | Update the plug-in for organizations`,
    { fields: 'enabled organization_limit membership_limit creator_role send_invitation_email' },
  ],
  updateMagicLinkPlugin: [
    `PATCH ${AUTH}/plugins/magic-link | auth:settings | Update the plug-in for magic links`,
    { fields: 'enabled expires_in disable_sign_up' },
  ],
  getPhonePlugin: `GET ${AUTH}/plugins/phone-number | auth:read | Get the plug-in for telephone numbers`,
  updatePhonePlugin: [
    `PATCH ${AUTH}/plugins/phone-number | auth:settings | Update the plug-in for telephone numbers`,
    { fields: 'enabled otp_expires_in' },
  ],
} as const satisfies Rows;
