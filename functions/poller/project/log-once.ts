/** Writes a log line about a project once in the life of this process. */

import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { ProjectMemory } from './project-memory.ts';

export function logOnce(
  telemetry: Telemetry,
  { logged }: Pick<ProjectMemory, 'logged'>,
  event: string,
  projectId: string,
): void {
  if (logged.has(event)) return;
  logged.add(event);
  telemetry.log('warn', event, { project_id: projectId });
}
