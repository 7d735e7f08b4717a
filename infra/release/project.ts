/**
 * Names the root folder of the project, and derives the manifests of the released packages from the manifest of the
 * project. The project itself is private, so nothing else of it can be published.
 */

import { resolve } from 'node:path';
import { UsageError } from '../process/command.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

export interface ProjectManifest {
  readonly version: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Throws `UsageError` unless the changelog still collects what is new in this version: a section with a date is closed. */
export function refuseClosedVersion(version: string, changelog: string): void {
  if (changelog.split('\n').includes(`## ${version} - unreleased`)) return;
  throw new UsageError(
    `CHANGELOG.md has no section "## ${version} - unreleased", so ${version} is released already. Raise the version in package.json, and open its section.`,
  );
}

const KEYWORDS: readonly string[] = ['neon', 'postgres', 'operations', 'events', 'eventbridge', 'aws'];

export function eventsManifest({ version, license, engines, dependencies }: ProjectManifest): object {
  return {
    name: 'operations-bridge-events',
    version,
    description: 'Types, schemas and checks for those who consume the events of Operations Bridge.',
    keywords: [...KEYWORDS, 'webhooks', 'zod'],
    license,
    type: 'module',
    engines,
    // A bundler drops what a consumer does not use, the check of signatures for example.
    sideEffects: false,
    exports: {
      '.': {
        types: './dist/operations-bridge-events.d.ts',
        default: './dist/operations-bridge-events.js',
      },
      './schemas/*': './schemas/*',
      './package.json': './package.json',
    },
    files: ['dist', 'schemas'],
    dependencies: { standardwebhooks: `^${dependencies['standardwebhooks']}` },
    // A consumer that uses zod, too, must not get a second copy.
    peerDependencies: { zod: '^4.0.0' },
  };
}

/** These are not part of the bundle: `dynalite` loads its own files by name, and needs the compiled code of LevelDB. */
export const EXTERNAL_PACKAGES: readonly string[] = ['dynalite'];

export function bridgeManifest({ version, license, engines, dependencies }: ProjectManifest): object {
  return {
    name: 'operations-bridge',
    version,
    description: 'Turns the asynchronous operations of a polling-only Postgres control plane into events.',
    keywords: [...KEYWORDS, 'cli', 'lambda', 'polling'],
    license,
    type: 'module',
    engines,
    bin: { 'operations-bridge': './dist/operations-bridge.js' },
    exports: {
      './testing': {
        types: './dist/operations-bridge-testing.d.ts',
        default: './dist/operations-bridge-testing.js',
      },
      './package.json': './package.json',
    },
    files: ['dist', 'docs/examples', 'THIRD-PARTY-LICENSES.txt'],
    dependencies: Object.fromEntries(EXTERNAL_PACKAGES.map((name) => [name, dependencies[name]])),
  };
}
