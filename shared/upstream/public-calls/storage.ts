/** Lists the calls about object storage, functions, the AI gateway and the credentials of a branch. */

import type { PublicCalls } from './public-call.ts';

const BRANCH = '/projects/{project_id}/branches/{branch_id}';
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
