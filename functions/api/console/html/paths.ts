/** Builds the addresses of pages. */

import type { RecordName } from '../../../../shared/store/keys.ts';

export function accountPath(accountId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}`;
}

export function freezePath(accountId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}/freeze`;
}

export function projectPath(accountId: string, projectId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}/projects/${encodeURIComponent(projectId)}`;
}

export function operationPath(accountId: string, projectId: string, operationId: string): string {
  return `${projectPath(accountId, projectId)}/operations/${encodeURIComponent(operationId)}`;
}

export function branchPath(accountId: string, projectId: string, branchId: string): string {
  return `${projectPath(accountId, projectId)}/branches/${encodeURIComponent(branchId)}`;
}

export function computePath(accountId: string, projectId: string, endpointId: string): string {
  return `${projectPath(accountId, projectId)}/endpoints/${encodeURIComponent(endpointId)}`;
}

/** `requestId` is also the id of a queued command. */
export function commandPath(accountId: string, projectId: string, requestId: string): string {
  return `${projectPath(accountId, projectId)}/commands/${encodeURIComponent(requestId)}`;
}

/** Returns the page of any record of a project. */
export function recordPath(accountId: string, { kind, projectId, id }: RecordName): string {
  switch (kind) {
    case 'project':
      return projectPath(accountId, projectId);
    case 'operation':
      return operationPath(accountId, projectId, id);
    case 'branch':
      return branchPath(accountId, projectId, id);
    case 'compute':
      return computePath(accountId, projectId, id);
    case 'command':
      return commandPath(accountId, projectId, id);
  }
}

export function endpointActionPath(
  accountId: string,
  projectId: string,
  { endpointId, action }: { readonly endpointId: string; readonly action: string },
): string {
  return `${projectPath(accountId, projectId)}/endpoints/${encodeURIComponent(endpointId)}/${action}`;
}
