/** Defines labels of projects, by which alerts choose their channels, and the console puts production first. */

import * as z from 'zod';

/** In a pattern `*` stands for any text. The service allows 64 characters in a name (public contract). */
export const projectNames = z
  .array(
    z
      .string()
      .min(1)
      .max(100)
      .regex(/^[^\p{Cc}]*$/u),
  )
  .min(1)
  .max(100);

/** The upstream has no labels, so the policy says which projects have one: those that fit everything listed here. */
export const projectLabel = z
  .strictObject({
    account_ids: z.array(z.string()).min(1).optional(),
    project_ids: z.array(z.string()).min(1).optional(),
    project_names: projectNames.optional(),
  })
  .refine((lists) => Object.values(lists).some((list) => list !== undefined), {
    error: 'takes at least one of account_ids, project_ids and project_names',
  });

export type ProjectLabel = Readonly<z.output<typeof projectLabel>>;

export interface LabelledSubject {
  readonly account_id: string;
  readonly project_id?: string | undefined;
  /** The upstream's name of the project. It is undefined when no list has shown it yet. */
  readonly project_name?: string | undefined;
}

/** Returns whether the whole name fits. Large and small letters differ, as they do at the upstream. */
export function fitsPattern(name: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const found = name.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}

/**
 * Returns whether the list covers a notice about this project. Without a list everything is covered, and a list
 * covers only its projects.
 */
export function covers(projectIds: readonly string[] | undefined, projectId: string | undefined): boolean {
  return projectIds === undefined || (projectId !== undefined && projectIds.includes(projectId));
}

/** Returns whether everything that the label lists fits. */
export function hasLabel(
  { account_ids, project_ids, project_names }: ProjectLabel,
  subject: LabelledSubject,
): boolean {
  return (
    (account_ids === undefined || account_ids.includes(subject.account_id)) &&
    covers(project_ids, subject.project_id) &&
    hasName(project_names, subject)
  );
}

export function hasName(patterns: readonly string[] | undefined, { project_name }: LabelledSubject): boolean {
  if (patterns === undefined) return true;
  return project_name !== undefined && patterns.some((pattern) => fitsPattern(project_name, pattern));
}
