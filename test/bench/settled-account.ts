/** Answers as an upstream in which nothing happens: every project has a page of settled operations. */

const PAGE_ROWS = 100;
const LIST_ROWS = 400;

export interface SettledAccount {
  readonly projectCount: number;
  /** All operations were created before this time, in milliseconds since the epoch. */
  readonly startMs: number;
}

/** Returns the body of the answer to a request of the project list or of one project's operations. */
export function settledAnswer(
  { projectCount, startMs }: SettledAccount,
  { pathname, searchParams }: URL,
): object {
  const [, , , , projectId] = pathname.split('/');
  const limit = Number(searchParams.get('limit'));
  if (projectId !== undefined) return { operations: rowsOf(projectId, Math.min(limit, PAGE_ROWS), startMs) };
  const first = Number(searchParams.get('cursor') ?? '0');
  const projects = Array.from(
    { length: Math.max(0, Math.min(LIST_ROWS, projectCount - first)) },
    (_, place) => ({
      id: settledProjectId(first + place),
      name: `project ${first + place}`,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-15T12:00:00Z',
      compute_last_active_at: '2026-01-15T11:00:00Z',
      active_time: 100,
    }),
  );
  return {
    projects,
    ...(projects.length > 0 && { pagination: { cursor: String(first + projects.length) } }),
  };
}

/** Projects are numbered from 0. */
function settledProjectId(place: number): string {
  return `probe-${String(place).padStart(8, '0')}`;
}

function rowsOf(projectId: string, count: number, startMs: number) {
  return Array.from({ length: count }, (_, place) => {
    const time = new Date(startMs - (place + 1) * 600_000).toISOString().replace('.000', '');
    return {
      id: `${projectId.slice(-8)}-0000-4000-8000-${String(place).padStart(12, '0')}`,
      project_id: projectId,
      branch_id: 'br-dawn-scene-747675',
      endpoint_id: 'ep-little-smoke-851426',
      action: place % 2 === 0 ? 'suspend_compute' : 'start_compute',
      status: 'finished',
      failures_count: 0,
      created_at: time,
      updated_at: time,
      total_duration_ms: 300,
    };
  });
}
