/** Compares answers with the fields that the public contract requires (`fixtures/required-fields.json`). */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Contract {
  readonly objects: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<string, { readonly status: number; readonly fields: string }>>;
}

export const contract: Contract = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/required-fields.json'), 'utf8'),
);

/** Returns the paths of the fields that the answer lacks. */
export function missingFields(call: string, body: unknown): readonly string[] {
  const fields = contract.answers[call]?.fields ?? '';
  const list = fields.startsWith('[]');
  const name = list ? fields.slice(2) : fields;
  const required = contract.objects[name] ?? name;
  return list ? inList(required, body, '') : inObject(required, body, '');
}

/** `a` is a field, `a:B` an object B, `a[]:B` a list of them, and `?` marks a field that may be absent. */
function inObject(fields: string, value: unknown, path: string): readonly string[] {
  if (fields === '') return [];
  if (typeof value !== 'object' || value === null) return [`${path} is no object`];
  const known = value as Readonly<Record<string, unknown>>;
  return fields.split(' ').flatMap((field) => {
    const [, optional, key = '', list, name] = /^(\?)?(\w+)(\[\])?(?::(.+))?$/.exec(field) ?? [];
    const inner = known[key];
    if (inner === undefined || inner === null) return optional === '?' ? [] : [`${path}.${key}`];
    const required = contract.objects[name ?? ''] ?? '';
    return list === undefined
      ? inObject(required, inner, `${path}.${key}`)
      : inList(required, inner, `${path}.${key}`);
  });
}

function inList(fields: string, value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value)) return [`${path} is no list`];
  return value.flatMap((item, place) => inObject(fields, item, `${path}[${place}]`));
}
