/**
 * Writes the TypeScript types of the events, and the zod schemas that check what the definitions check, for the
 * package of the subscribers. What all schemas share stands there once.
 */

import * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { command, common, operations } from '../../../shared/events/define-event.ts';
import type { GeneratedFile } from './generated-sections.ts';

type Schema = z.core.JSONSchema.BaseSchema;

interface EventShape {
  readonly detailType: string;
  readonly summary: string;
  /** The fields beside those that every event has, in their order. */
  readonly ownFields: readonly Field[];
}

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

function schemaOf(type: z.ZodType): Schema {
  return z.toJSONSchema(type, { io: 'input' });
}

const commonFields: readonly Field[] = fieldsOf(schemaOf(z.object(common)));

/** Throws when an event lacks a field that every event has. */
function eventShapes(): readonly EventShape[] {
  return eventCatalog.map(({ detailType, summary, detail }) => {
    const fields = fieldsOf(schemaOf(detail));
    const own = fields.filter(({ name }) => !(name in common));
    if (own.length !== fields.length - commonFields.length)
      throw new Error(`${detailType} lacks a field that every event has`);
    return { detailType, summary, ownFields: own };
  });
}

function fieldsOf({ properties = {}, required = [] }: Schema): readonly Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: schema as Schema,
    isRequired: required.includes(name),
  }));
}

/** Objects that several events have, by the name that they get in generated code. */
const sharedObjects: ReadonlyMap<string, Schema> = new Map([
  ['EventCommand', schemaOf(command)],
  ['EventOperation', schemaOf(operations.element)],
]);

/** Returns the name of a shared object. Its description can differ from field to field. */
function sharedNameOf(schema: Schema): string | undefined {
  const text = textOf(schema);
  return [...sharedObjects].find(([, shared]) => textOf(shared) === text)?.[0];
}

function textOf({ description: _description, $schema: _dialect, ...schema }: Schema): string {
  return JSON.stringify(schema);
}

export function eventTypes(): readonly GeneratedFile[] {
  return [{ path: 'infra/packages/events/event-details.ts', text: source() }];
}

function source(): string {
  const shapes = eventShapes();
  const names = shapes.map(({ detailType }) => `  '${detailType}': ${interfaceName(detailType)};`);
  const shared = [...sharedObjects].map(
    ([name, schema]) =>
      `${comment(schema.description, '')}export interface ${name} ${objectType(fieldsOf(schema), '')}\n`,
  );
  return `/**
 * Declares the detail of each event. \`npm run generate\` writes this file from shared/events/catalog.ts; do not edit it.
 */

/** A value that is newer than this package: every set of values can gain some without notice. */
export type NewValue = string & Record<never, never>;

/** Every event has these fields. */
export interface EventDetail ${objectType(commonFields, '')}

${[...shared, ...shapes.map(interfaceOf)].join('\n')}
/** The type of the detail, by the detail type of the event. */
export interface BridgeEventDetails {
${names.join('\n')}
}
`;
}

function interfaceName(detailType: string): string {
  return detailType.replaceAll(' ', '');
}

function interfaceOf({ detailType, ownFields, summary }: EventShape): string {
  const name = interfaceName(detailType);
  return `${comment(summary, '')}export interface ${name} extends EventDetail ${objectType(ownFields, '')}\n`;
}

function objectType(fields: readonly Field[], indent: string): string {
  const lines = fields.map(({ name, schema, isRequired }) => {
    const types = [...alternatives(schema, `${indent}  `), ...(isRequired ? [] : ['undefined'])];
    // The meaning of a shared object stands at its interface.
    const description = sharedNameOf(schema) === undefined ? schema.description : undefined;
    const meaning = comment(description, `${indent}  `);
    return `${meaning}${indent}  ${name}${isRequired ? '' : '?'}: ${types.join(' | ')};\n`;
  });
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`;
}

/** Returns the types of a union, or the only type. Throws for a kind of schema that the catalog does not use. */
function alternatives(schema: Schema, indent: string): readonly string[] {
  if (schema.const !== undefined) return [literal(schema.const)];
  if (schema.examples !== undefined) return [...schema.examples.map(literal), ANOTHER_TEXT];
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((part) => alternatives(part, indent));
  const { type } = schema;
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, indent));
  return [typeOf(schema, indent)];
}

function typeOf(schema: Schema, indent: string): string {
  const { type } = schema;
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'object') return sharedNameOf(schema) ?? objectType(fieldsOf(schema), indent);
  if (type === 'array') return arrayOf(alternatives(schema.items as Schema, indent));
  throw new Error(`There is no TypeScript type for this schema yet: ${JSON.stringify(schema)}`);
}

function arrayOf(items: readonly string[]): string {
  return items.length === 1 ? `${items[0]}[]` : `(${items.join(' | ')})[]`;
}

/** With a plain `string` beside them, an editor would not show the known values of an open set. */
const ANOTHER_TEXT = 'NewValue';

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

export function eventParsers(): readonly GeneratedFile[] {
  return [{ path: 'infra/packages/events/event-schemas.ts', text: parserSource() }];
}

function parserSource(): string {
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
