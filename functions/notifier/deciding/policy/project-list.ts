/** Decides what the list of projects in a route or a mute covers. */

/**
 * Returns whether the list covers a notice about this project. Without a list everything is covered, and a list
 * covers only its projects.
 */
export function covers(projectIds: readonly string[] | undefined, projectId: string | undefined): boolean {
  return projectIds === undefined || (projectId !== undefined && projectIds.includes(projectId));
}
