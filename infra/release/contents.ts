/**
 * Prepares the folder into which a release is built, and says what is in it: the checksums of its files, in the form
 * that `sha256sum --check` reads, the packages of other projects, as a CycloneDX document that has the same bytes
 * each time, and the licences of those whose code is part of a bundle.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import * as z from 'zod';
import { bridgeRoutes } from '../../functions/api/bridge/bridge-routes.ts';
import { API_VERSION, withDocumentation } from '../../functions/api/documentation/documentation-routes.ts';
import { openApiDocument } from '../../functions/api/documentation/openapi.ts';
import { passThroughRoutes } from '../../functions/api/upstream/pass-through.ts';
import { UsageError } from '../process/command.ts';
import { type ProjectManifest, ROOT } from './project.ts';

/** A release ends with this file, so a folder that has it is an earlier release. */
export const CHECKSUMS_FILE = 'SHA256SUMS';

/**
 * Empties the folder when an earlier release is in it, and creates it when it does not exist. Throws `UsageError` when it
 * has anything else, which must not be deleted.
 */
export function prepareOutputFolder(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (names.length > 0 && !names.includes(CHECKSUMS_FILE))
    throw new UsageError(
      `${folder} has files that are not of a release (${names.slice(0, 3).join(', ')}). Name an empty folder.`,
    );
  for (const name of names) rmSync(join(folder, name), { recursive: true });
  mkdirSync(folder, { recursive: true });
}

/** Returns one line per file of the folder and the folders in it, in the order of their names. */
export function checksumsOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const lines = files.map((file) => {
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    return `${hash}  ${relative(folder, file).split(sep).join('/')}\n`;
  });
  return lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join('');
}

const bom = z.looseObject({
  serialNumber: z.string().optional(),
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});

type Bom = z.output<typeof bom>;

const PROJECT_NAME = 'operations-bridge';

/** Returns the text of the document. npm knows the packages from the lock file, so nothing has to be installed. */
export function billOfMaterials({ dependencies }: ProjectManifest): string {
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

interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
}

/**
 * Takes the input files of a bundle, relative to the root. Returns the text of the file that goes into the package,
 * in which each licence stands once, below the packages that have it.
 */
export function thirdPartyLicenses(inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((path) => folderOfPackage(path) ?? []));
  const byText = Map.groupBy([...folders].toSorted(), licenseText);
  const sections = [...byText].map(([text, those]) => `${those.map(titleOf).join('\n')}\n\n${text}\n`);
  return ['The JavaScript of this package contains code of the following packages.\n', ...sections].join(
    `\n${'-'.repeat(80)}\n\n`,
  );
}

/** Returns undefined for our own files. A package can lie in the `node_modules` of another. */
function folderOfPackage(path: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
}

function titleOf(folder: string): string {
  const { name, version, license, author } = manifestOf(folder);
  const by = typeof author === 'object' ? author.name : author;
  return `${name} ${version} (${license ?? 'its licence is below'})${by ? `, by ${by}` : ''}`;
}

function licenseText(folder: string): string {
  const file = readdirSync(join(ROOT, folder)).find((each) => /^(licen[cs]e|copying)/i.test(each));
  if (file !== undefined) return readFileSync(join(ROOT, folder, file), 'utf8').trim();
  const { name, version, license } = manifestOf(folder);
  if (license === undefined)
    throw new Error(`${name} ${version} is part of the bundle and names no licence: decide about it first`);
  return `The package names the licence ${license} and has no text of it.`;
}

function manifestOf(folder: string): BundledPackage {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as BundledPackage;
}

export function openApiText(): string {
  // The routes are described here and never served, so nothing of what their answers need is used.
  const nothing = {} as never;
  const described = [
    ...passThroughRoutes(nothing, { extraRoutes: [], openCalls: [] }),
    ...bridgeRoutes(nothing),
  ];
  return `${JSON.stringify(openApiDocument(withDocumentation(described, nothing), API_VERSION), null, 2)}\n`;
}
