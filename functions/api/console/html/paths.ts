/** Builds the addresses of pages. */

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

export function endpointActionPath(
  accountId: string,
  projectId: string,
  { endpointId, action }: { readonly endpointId: string; readonly action: string },
): string {
  return `${projectPath(accountId, projectId)}/endpoints/${encodeURIComponent(endpointId)}/${action}`;
}
