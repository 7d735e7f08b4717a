/** Prints through how many files, folders and functions the three walks lead (`npm run shape`), and their names with `-v`. */

import { takeChains } from './trace-calls.ts';
import { driveDoors } from './walk-doors.ts';
import { walkLengths } from './walk-length.ts';
import { WALKS } from './walks.ts';

const isVerbose = process.argv.includes('-v');

await driveDoors();
const chains = takeChains();
for (const walk of Object.values(WALKS)) {
  const lengths = walkLengths(walk, chains);
  console.log(`\n${walk.name}, ${lengths.length} times:`);
  for (const [which, length] of [
    ['shortest', lengths[0]],
    ['median', lengths[Math.floor(lengths.length / 2)]],
  ] as const) {
    if (length === undefined) throw new Error(`Nothing has taken the walk "${walk.name}"`);
    const { files, folders, functions } = length;
    console.log(
      `  ${which}: ${files.length} files, ${folders.length} folders, ${functions.length} functions`,
    );
    if (isVerbose && which === 'shortest') for (const each of functions) console.log(`    ${each}`);
  }
}
process.exit();
