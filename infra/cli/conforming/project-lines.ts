/** Judges the list of projects, and the computes. */

import * as z from 'zod';
import type { Evidence, ListPage, Reply } from './evidence.ts';
import { type Judgement, type Line, line } from './line.ts';

export function projectLines(evidence: Evidence): readonly Line[] {
  const { projectPages, computes: reply } = evidence;
  return [
    line(
      '5 projects cursor',
      'The cursor of the projects is the id of the last one.',
      judgeProjectCursor(projectPages),
    ),
    line(
      '5 projects order',
      'A page of projects does not repeat the page before it.',
      judgeProjectRepetition(projectPages),
    ),
    line('5 hints', `A project has ${HINTS.join(', ')}.`, judgeHints(projectPages)),
    line(
      '6 computes',
      'A compute is init, active or idle, and may have a pending_state.',
      judgeComputes(reply),
    ),
  ];
}

const HINTS = ['id', 'updated_at', 'created_at'];
const ACTIVITY = ['compute_last_active_at', 'active_time', 'cpu_used_sec', 'synthetic_storage_size'];

function judgeProjectCursor(pages: readonly ListPage[]): Judgement {
  const pairs = pages.filter(({ cursor, rows }) => cursor !== undefined && rows.length > 0);
  const fitting = pairs.filter(({ cursor, rows }) => rows.at(-1)?.['id'] === cursor);
  return {
    holds: pairs.length === 0 ? undefined : fitting.length === pairs.length,
    found: `${pairs.length} cursors, ${fitting.length} of them the last id`,
  };
}

function judgeProjectRepetition(pages: readonly ListPage[]): Judgement {
  const [first, second] = pages;
  if (first === undefined || second === undefined)
    return { holds: undefined, found: `${pages.length} pages` };
  const ids = new Set(first.rows.map(({ id }) => id));
  const count = second.rows.filter(({ id }) => ids.has(id)).length;
  return { holds: count === 0, found: `${count} repeated projects` };
}

function judgeHints(pages: readonly ListPage[]): Judgement {
  const rows = pages.flatMap((page) => page.rows);
  const lacking = HINTS.filter((name) => rows.some((row) => row[name] === undefined));
  const activity = ACTIVITY.filter((name) => rows.some((row) => row[name] !== undefined));
  return {
    holds: rows.length === 0 ? undefined : lacking.length === 0,
    found: `${rows.length} projects; missing: ${lacking.join(', ') || 'none'}; hints of activity: ${activity.join(', ') || 'none'}`,
  };
}

const computes = z.looseObject({
  endpoints: z.array(z.looseObject({ current_state: z.string(), pending_state: z.string().optional() })),
});

function judgeComputes(reply: Reply | undefined): Judgement {
  const parsed = computes.safeParse(reply?.json).data?.endpoints;
  if (parsed === undefined || parsed.length === 0) return { holds: undefined, found: 'no compute' };
  const states = [
    ...new Set(
      parsed.flatMap(({ current_state, pending_state }) => [current_state, pending_state ?? []].flat()),
    ),
  ];
  const isKnown = states.every((state) => ['init', 'active', 'idle'].includes(state));
  return {
    holds: isKnown,
    found: `${parsed.length} computes, in the states ${states.toSorted().join(', ')}`,
  };
}
