/** Parses the bodies of the calls of branches. */

import * as z from 'zod';
import type { NewBranch } from '../../world/branches/create-branch.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { newComputeSettings, settable } from '../computes/compute-body.ts';

const branchName = z.string().min(1).max(256);
/** A time may have any offset (RFC 3339). */
const timestamp = z.iso.datetime({ offset: true });

export const createBranchBody = z.object({
  branch: z
    .object({
      name: branchName.optional(),
      parent_id: z.string().optional(),
      parent_lsn: z.string().optional(),
      parent_timestamp: timestamp.optional(),
      protected: z.boolean().optional(),
      init_source: z.enum(['parent-data', 'schema-only']).optional(),
      expires_at: timestamp.optional(),
    })
    .optional(),
  // A branch has one read-write compute and few replicas, so this bound stops no honest client.
  endpoints: z
    .array(z.object({ ...settable, type: z.enum(['read_write', 'read_only']) }))
    .max(10)
    .optional(),
  annotation_value: z.record(z.string(), z.string()).optional(),
});

export const updateBranchBody = z.object({
  branch: z.object({
    name: branchName.optional(),
    protected: z.boolean().optional(),
    expires_at: timestamp.nullable().optional(),
  }),
});

export const restoreBranchBody = z.object({
  source_branch_id: z.string(),
  source_lsn: z.string().optional(),
  source_timestamp: timestamp.optional(),
  preserve_under_name: branchName.optional(),
});

export function newBranchOf(body: z.output<typeof createBranchBody>, project: ProjectState): NewBranch {
  const { branch = {}, endpoints = [], annotation_value = {} } = body;
  return {
    name: branch.name,
    parentId: branch.parent_id,
    point: { lsn: branch.parent_lsn, timeMs: msOf(branch.parent_timestamp) },
    isProtected: branch.protected ?? false,
    expiresAtMs: msOf(branch.expires_at),
    initSource: branch.init_source ?? 'parent-data',
    annotation: annotation_value,
    computes: endpoints.map((fields) => newComputeSettings(fields, project)),
  };
}

export function msOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}
