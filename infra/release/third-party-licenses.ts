/** Collects the licences of the packages whose code is part of a bundle, as these licences ask for. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

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
