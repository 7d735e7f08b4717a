/** Lists the packages of other projects in a release, as a CycloneDX document that has the same bytes each time. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { ProjectManifest } from './manifests.ts';
import { ROOT } from './root.ts';

const bom = z.looseObject({
  serialNumber: z.string().optional(),
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});

type Bom = z.output<typeof bom>;

const PROJECT_NAME = 'operations-bridge';

/** Returns the text of the document. npm knows the packages from the lock file, so nothing has to be installed. */
export function billOfMaterials({ dependencies }: Pick<ProjectManifest, 'dependencies'>): string {
  // `--omit dev` would also leave out each dependency that a package for development needs, too (npm 11).
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`npm cannot list the packages of the release:\n${stderr}`);
  const released = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  const document = reproducible(withoutOthers(bom.parse(JSON.parse(stdout)), released));
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Keeps what the project's own dependencies need, directly or through others. */
function withoutOthers(document: Bom, released: readonly string[]): Bom {
  const dependsOn = new Map(document.dependencies.map((each) => [each.ref, each.dependsOn]));
  const needed = new Set(released);
  for (const ref of needed) for (const each of dependsOn.get(ref) ?? []) needed.add(each);
  const project = document.metadata.component['bom-ref'];
  return {
    ...document,
    components: document.components.filter((component) => needed.has(component['bom-ref'])),
    dependencies: document.dependencies.flatMap((each) => {
      if (each.ref === project) return [{ ...each, dependsOn: [...released] }];
      return needed.has(each.ref) ? [each] : [];
    }),
  };
}

/**
 * Leaves out what differs between two runs: the time, the version of npm, and the name of the folder, which npm takes
 * for the project's name. The serial number is derived from the content instead of drawn.
 */
function reproducible({ serialNumber: _drawn, ...document }: Bom): Bom {
  const component = { ...document.metadata.component, name: PROJECT_NAME, properties: [] };
  const same = { ...document, metadata: { component } };
  return { ...same, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(same))}` };
}

/** Returns a UUID of version 8, whose bits are free to choose (RFC 9562, section 5.8). */
function uuidOf(text: string): string {
  const hash = createHash('sha256').update(text).digest('hex');
  const [start, second, third, fourth, end] = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    hash.slice(13, 16),
    hash.slice(17, 20),
    hash.slice(20, 32),
  ];
  return `${start}-${second}-8${third}-8${fourth}-${end}`;
}
