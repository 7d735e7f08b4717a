/** Parses Terraform's configuration language with HashiCorp's own parser. */

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Its own types would bring the types of a browser into the whole project. */
const { parse } = require('@cdktf/hcl2json') as {
  readonly parse: (fileName: string, text: string) => Promise<unknown>;
};

/** Rejects with the line and the column when the text is not HCL. */
export function parseHcl(text: string): Promise<unknown> {
  return parse('subscription.tf', text);
}
