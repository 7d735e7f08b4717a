/** Builds the addresses of pages. */

import type { RecordName } from '../../../../shared/store/keys.ts';

export function accountPath(accountId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}`;
}

export function freezePath(accountId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}/freeze`;
}

/** `lift` is the id of a mute to be lifted. Without it the form of the page is filled in with the given place. */
export function mutesPath({
  lift,
  projectId,
  action,
}: {
  readonly lift?: string;
  readonly projectId?: string;
  readonly action?: string;
}): string {
  if (lift !== undefined) return `/console/mutes/${encodeURIComponent(lift)}/lift`;
  const query = new URLSearchParams({
    ...(projectId && { project_id: projectId }),
    ...(action && { action }),
  });
  return query.size === 0 ? '/console/mutes' : `/console/mutes?${query.toString()}`;
}

/** A form that is sent there acknowledges the incident. */
export function acknowledgePath(incidentId: string): string {
  return `/console/incidents/${encodeURIComponent(incidentId)}/acknowledge`;
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
