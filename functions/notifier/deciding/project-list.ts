/** The list of projects that a route or a mute names. */

/** Whether the list covers a notice about this project. No list covers everything; a list covers only its projects. */
export function covers(projectIds: readonly string[] | undefined, projectId: string | undefined): boolean {
  return projectIds === undefined || (projectId !== undefined && projectIds.includes(projectId));
}
