/**
 * Writes the zod schemas of the events for the package of the subscribers. They check what the definitions check, and
 * leave out the descriptions and examples, which the package has in its types and JSON Schemas.
 */

import {
  commonFields,
  eventShapes,
  type Field,
  fieldsOf,
  type Schema,
  sharedNameOf,
  sharedObjects,
} from './event-shapes.ts';
import type { GeneratedFile } from './generated-section.ts';

export function eventParsers(): readonly GeneratedFile[] {
  return [{ path: 'infra/packages/events/event-schemas.ts', text: source() }];
}

function source(): string {
  const shared = [...sharedObjects].map(
    ([name, schema]) => `const ${constantName(name)} = z.object({\n${members(fieldsOf(schema), '  ')}});\n`,
  );
  const events = eventShapes().map(
    ({ detailType, ownFields }) =>
      `  '${detailType}': z.object({\n    ...common,\n${members(ownFields, '    ')}  }),\n`,
  );
  return `/**
 * Gives the zod schema of each event's detail, by the detail type. \`npm run generate\` writes this file from
 * shared/events/catalog.ts; do not edit it.
 */

import * as z from 'zod';
import type { BridgeEventDetails } from './event-details.ts';

const common = {
${members(commonFields, '  ')}};
${shared.join('')}
/** Each schema leaves out fields that it does not know, because events gain fields without notice. Do not make it strict. */
export const eventSchemas: {
  readonly [Type in keyof BridgeEventDetails]: z.ZodType<BridgeEventDetails[Type]>;
} = {
${events.join('')}};
`;
}

function members(fields: readonly Field[], indent: string): string {
  return fields
    .map(({ name, schema, isRequired }) => {
      const type = parserOf(schema, indent);
      return `${indent}${name}: ${type}${isRequired ? '' : '.optional()'},\n`;
    })
    .join('');
}

/** Throws for a kind of schema that the catalog does not use. */
function parserOf(schema: Schema, indent: string): string {
  const { type, anyOf } = schema;
  if (schema.const !== undefined) return `z.literal(${JSON.stringify(schema.const)})`;
  const [first, second, ...others] =
    anyOf ?? (Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : []);
  if (first !== undefined && second?.type === 'null' && others.length === 0)
    return `${parserOf(first, indent)}.nullable()`;
  if (type === 'string') return schema.format === 'date-time' ? 'z.iso.datetime()' : 'z.string()';
  if (type === 'boolean') return 'z.boolean()';
  if (type === 'number') return `z.number()${bound(schema)}`;
  if (type === 'integer') return `z.int()${bound(schema)}`;
  if (type === 'array') return `z.array(${parserOf(schema.items as Schema, indent)})`;
  if (type === 'object') return objectParser(schema, indent);
  throw new Error(`There is no zod schema for this schema yet: ${JSON.stringify(schema)}`);
}

function objectParser(schema: Schema, indent: string): string {
  const shared = sharedNameOf(schema);
  if (shared !== undefined) return constantName(shared);
  return `z.object({\n${members(fieldsOf(schema), `${indent}  `)}${indent}})`;
}

function bound({ minimum, exclusiveMinimum }: Schema): string {
  if (exclusiveMinimum === 0) return '.positive()';
  return minimum === 0 ? '.nonnegative()' : '';
}

function constantName(name: string): string {
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
}
