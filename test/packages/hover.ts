/** Asks the compiler's language service what an editor shows when the mouse is over a name. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { typescript5 } from './empty-project.ts';

interface Part {
  readonly text: string;
}

/** Names what is used of TypeScript 5; the package of TypeScript 7 has no language service for programs. */
interface TypeScript {
  readonly sys: { readFile(path: string): string | undefined };
  readonly ScriptSnapshot: { fromString(text: string): unknown };
  createLanguageService(host: object): {
    getQuickInfoAtPosition(
      file: string,
      position: number,
    ): { readonly displayParts?: readonly Part[]; readonly documentation?: readonly Part[] } | undefined;
  };
}

export interface Hover {
  readonly type: string;
  readonly documentation: string;
}

/** Returns what is shown at the first place where the text stands in the file. */
export function hoverIn(file: string, text: string): Hover {
  const typescript = createRequire(import.meta.url)(`${typescript5}/lib/typescript.js`) as TypeScript &
    object;
  const host = {
    ...typescript.sys,
    useCaseSensitiveFileNames: () => true,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot(path: string) {
      const content = typescript.sys.readFile(path);
      return content === undefined ? undefined : typescript.ScriptSnapshot.fromString(content);
    },
    // 199 is NodeNext of modules, 99 is NodeNext of their resolution, 9 is ES2022.
    getCompilationSettings: () => ({ strict: true, module: 199, moduleResolution: 99, target: 9, types: [] }),
    getDefaultLibFileName: () => `${typescript5}/lib/lib.es2022.full.d.ts`,
  };
  const info = typescript
    .createLanguageService(host)
    .getQuickInfoAtPosition(file, readFileSync(file, 'utf8').indexOf(text));
  const textOf = (parts: readonly Part[] = []) => parts.map((part) => part.text).join('');
  return { type: textOf(info?.displayParts), documentation: textOf(info?.documentation) };
}
