/** `npm run release` builds everything that is released into a folder, which can be named. It publishes nothing. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runCommand } from '../process/command.ts';
import {
  billOfMaterials,
  CHECKSUMS_FILE,
  checksumsOf,
  openApiText,
  prepareOutputFolder,
} from './contents.ts';
import { packPackage, stageBridgePackage, stageEventsPackage } from './packages.ts';
import { type ProjectManifest, ROOT, refuseClosedVersion } from './project.ts';

await runCommand(async () => {
  const { positionals } = parseArgs({ allowPositionals: true });
  const output = resolve(positionals[0] ?? join(ROOT, 'release'));
  const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as ProjectManifest;
  refuseClosedVersion(project.version, readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'));
  prepareOutputFolder(output);
  packPackages(project, output);
  writeTemplate(output);
  writeFileSync(join(output, 'openapi.json'), openApiText());
  writeFileSync(join(output, 'operations-bridge.cdx.json'), billOfMaterials(project));
  const checksums = checksumsOf(output);
  writeFileSync(join(output, CHECKSUMS_FILE), checksums);
  console.log(`${checksums}Version ${project.version} is in ${output}. Nothing was published.`);
});

function packPackages(project: ProjectManifest, output: string): void {
  const workFolder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    for (const [name, stage] of Object.entries({ bridge: stageBridgePackage, events: stageEventsPackage })) {
      const folder = join(workFolder, name);
      stage(folder, project);
      packPackage(folder, output);
    }
  } finally {
    rmSync(workFolder, { recursive: true });
  }
}

/** Runs as a program of its own, because only the programs of `infra/aws` load the CDK. */
function writeTemplate(output: string): void {
  const program = fileURLToPath(new URL('../aws/write-release.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, output], { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The template of the release cannot be built:\n${stderr}`);
}
