/** Prints how long functions and files are, and how full folders are (`npm run shape`). Nothing enforces these figures. */

import { readFileSync } from 'node:fs';
import { functionsIn } from './functions-in.ts';
import { median, productionFiles, quantile, within } from './measures.ts';

const FUNCTION_LINES_LONG = 50;
const FOLDER_FILES_MANY = 14;

const files = productionFiles().map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const functions = files.flatMap(({ path, text }) => functionsIn(path, text));
const functionLines = functions.map(({ lines }) => lines);
const fileLines = files.map(({ text }) => text.split('\n').length - 1);
const folders = [...Map.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/')))];
const folderFiles = folders.map(([, members]) => members.length);

const row = (what: string, values: readonly number[]) => ({
  what,
  count: values.length,
  median: median(values),
  p90: quantile(values, 0.9),
  max: Math.max(...values),
});
console.table([
  row('function lines', functionLines),
  row('file lines', fileLines),
  row('files in a folder', folderFiles),
]);

console.log(`\nFunctions over ${FUNCTION_LINES_LONG} lines outside of CDK constructs:`);
for (const { lines, name, path, line } of functions
  .filter((each) => each.lines > FUNCTION_LINES_LONG && !within(each.path, 'infra/aws'))
  .toSorted((a, b) => b.lines - a.lines))
  console.log(`  ${lines}  ${name}  ${path}:${line}`);

console.log(`\nFolders of more than ${FOLDER_FILES_MANY} files:`);
for (const [folder, members] of folders.filter((each) => each[1].length > FOLDER_FILES_MANY))
  console.log(`  ${members.length}  ${folder}`);
