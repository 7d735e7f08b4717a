/** Describes how a project begins that a caller creates (public contract: `POST /projects`). */

import type { ProjectSettings } from './project-settings.ts';

export interface NewProject {
  /** Without a name, the project is named as its id. */
  readonly name: string | undefined;
  readonly settings: Omit<ProjectSettings, 'name'>;
  readonly branchName?: string | undefined;
  readonly roleName?: string | undefined;
  readonly databaseName?: string | undefined;
}
