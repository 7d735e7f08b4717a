/** Begins every thread: it keeps compiled modules, and then imports the script that its argument names. */

import { keepCompiledModules } from '../../process/package.ts';

keepCompiledModules();
// A bundler must leave this address alone: the script is a file of its own, in the built package, too.
await import(new URL(`./${process.argv[2]}`, import.meta.url).href);
