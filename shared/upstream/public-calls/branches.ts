/** Lists the calls about branches, with their schemas, their masking rules and their snapshots. */

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
