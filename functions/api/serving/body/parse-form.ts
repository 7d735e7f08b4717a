/** Parses form-encoded bodies like `endpoint[branch_id]=br-1` and `domains[0][domain]=https://a.example`, with the types of the call's schema. */

import * as z from 'zod';

/** The deepest form of the specification has three levels. */
const DEPTH_MAX = 4;

type Tree = { [name: string]: Tree | string };

/** Keeps a text that is no number where a number belongs, so that the schema refuses the field by its name. */
export function parseForm(text: string, schema: z.ZodObject): unknown {
  const root: Tree = Object.create(null) as Tree;
  for (const [name, value] of new URLSearchParams(text)) place(root, name, value);
  return typed(root, schema);
}

/** Keeps a name whole that does not nest properly or occurs twice, so that the schema refuses it as unknown. */
function place(root: Tree, name: string, value: string): void {
  const path = name.split(/[[\]]+/).filter((part) => part !== '');
  if (path.length === 0 || path.length > DEPTH_MAX || !/^[^[\]]+(\[[^[\]]+\])*$/.test(name)) {
    root[name] = value;
    return;
  }
  let inner = root;
  for (const part of path.slice(0, -1)) {
    inner[part] ??= Object.create(null) as Tree;
    const next = inner[part];
    if (typeof next === 'string') {
      root[name] = value;
      return;
    }
    inner = next;
  }
  const last = path.at(-1) ?? '';
  if (last in inner) root[`${name} (twice)`] = value;
  else inner[last] = value;
}

function typed(value: Tree | string, schema: z.ZodType | undefined): unknown {
  const inner = unwrapped(schema);
  if (typeof value === 'string') return typedText(value, inner);
  if (inner instanceof z.ZodArray) {
    return Object.values(value).map((each) => typed(each, inner.element as z.ZodType));
  }
  const shape: Readonly<Record<string, z.ZodType>> = inner instanceof z.ZodObject ? inner.shape : {};
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      typed(each, Object.hasOwn(shape, name) ? shape[name] : undefined),
    ]),
  );
}

function typedText(text: string, schema: z.ZodType | undefined): unknown {
  if (schema instanceof z.ZodNumber && /^-?\d{1,12}(\.\d{1,6})?$/.test(text)) return Number(text);
  if (schema instanceof z.ZodBoolean && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
