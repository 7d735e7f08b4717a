/** Describes what users choose for a project, and what the service chooses when they do not (public contract). */

import type { PROVISIONERS } from './compute.ts';
import type { ComputeSize } from './compute-size.ts';

export interface ProjectSettings {
  readonly name: string;
  readonly regionId: string;
  readonly pgVersion: number;
  readonly provisioner: (typeof PROVISIONERS)[number];
  readonly organizationId: string;
  readonly storesPasswords: boolean;
  readonly historyRetentionSeconds: number;
  readonly defaultSize: ComputeSize;
  readonly defaultSuspendTimeoutSeconds: number;
  /** Only Postgres and the proxy use these members of the public `settings`, so they are kept as they are. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** This organization owns every project of a new world. */
export const ORGANIZATION_ID = 'org-quiet-harbor-10000001';

export const DEFAULT_PROJECT: Omit<ProjectSettings, 'name'> = {
  regionId: 'aws-us-east-2',
  pgVersion: 17,
  provisioner: 'k8s-neonvm',
  organizationId: ORGANIZATION_ID,
  storesPasswords: true,
  historyRetentionSeconds: 86_400,
  defaultSize: { minCu: 0.25, maxCu: 2 },
  defaultSuspendTimeoutSeconds: 0,
  settings: {
    allowed_ips: { ips: [], protected_branches_only: false },
    enable_logical_replication: false,
    maintenance_window: { weekdays: [5], start_time: '07:00', end_time: '08:00' },
    block_public_connections: false,
    block_vpc_connections: false,
    hipaa: false,
  },
};

/** The proxy of a region takes its connections; `aws-us-east-2` gives `us-east-2.aws.example.tech`. */
export function proxyHostOf({ regionId }: Pick<ProjectSettings, 'regionId'>): string {
  const [platform = '', ...region] = regionId.split('-');
  return `${region.join('-')}.${platform}.example.tech`;
}
