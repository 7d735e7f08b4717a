/** Reads the schemas of the events for the code that is generated from them: what all of them share stands there once. */

import * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { command, common, operations } from '../../../shared/events/detail-fields.ts';

export type Schema = z.core.JSONSchema.BaseSchema;

export interface EventShape {
  readonly detailType: string;
  readonly summary: string;
  /** The fields beside those that every event has, in their order. */
  readonly ownFields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

function schemaOf(type: z.ZodType): Schema {
  return z.toJSONSchema(type, { io: 'input' });
}

export const commonFields: readonly Field[] = fieldsOf(schemaOf(z.object(common)));

/** Throws when an event lacks a field that every event has. */
export function eventShapes(): readonly EventShape[] {
  return eventCatalog.map(({ detailType, summary, detail }) => {
    const fields = fieldsOf(schemaOf(detail));
    const own = fields.filter(({ name }) => !(name in common));
    if (own.length !== fields.length - commonFields.length)
      throw new Error(`${detailType} lacks a field that every event has`);
    return { detailType, summary, ownFields: own };
  });
}

export function fieldsOf({ properties = {}, required = [] }: Schema): readonly Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: schema as Schema,
    isRequired: required.includes(name),
  }));
}

/** Objects that several events have, by the name that they get in generated code. */
export const sharedObjects: ReadonlyMap<string, Schema> = new Map([
  ['EventCommand', schemaOf(command)],
  ['EventOperation', schemaOf(operations.element)],
]);

/** Returns the name of a shared object. Its description can differ from field to field. */
export function sharedNameOf(schema: Schema): string | undefined {
  const text = textOf(schema);
  return [...sharedObjects].find(([, shared]) => textOf(shared) === text)?.[0];
}

function textOf({ description: _description, $schema: _dialect, ...schema }: Schema): string {
  return JSON.stringify(schema);
}
