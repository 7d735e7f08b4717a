/** `node infra/aws/write-release.ts FOLDER` writes the template and the code of a release into a folder. */

import { writeTemplate } from './release-template.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Name the folder into which the template is written.');
  process.exitCode = 2;
} else writeTemplate(folder);
