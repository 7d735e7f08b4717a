/** `npm run release` builds everything that is released into the folder `release`. It publishes nothing. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProjectManifest } from './manifests.ts';
import { packPackage } from './pack.ts';
import { ROOT } from './root.ts';
import { stageBridgePackage } from './stage-bridge-package.ts';
import { stageEventsPackage } from './stage-events-package.ts';

const output = join(ROOT, 'release');
const workFolder = mkdtempSync(join(tmpdir(), 'release-'));
rmSync(output, { recursive: true, force: true });
mkdirSync(output);
try {
  const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as ProjectManifest;
  for (const [name, stage] of Object.entries({ bridge: stageBridgePackage, events: stageEventsPackage })) {
    const folder = join(workFolder, name);
    stage(folder, project);
    console.log(packPackage(folder, output));
  }
} finally {
  rmSync(workFolder, { recursive: true });
}
