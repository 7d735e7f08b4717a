/**
 * Replaces zod in what is deployed: a schema is built when it is first used, and not when its module is loaded. A
 * function defines about 1,500 schemas and checks, and a request needs a few dozen of them (ADR 21).
 *
 * The functions that the sources call most often stand here. All others are zod's own: they build their schema at once,
 * which takes longer and is as right.
 */

import * as zod from 'zod/v4';

export * from 'zod/v4';

type Build = () => zod.ZodType;

/** Each deferred schema is built by this. */
const builds = new WeakMap<object, Build>();

/** These methods make another schema of a schema, which can wait, too. */
const REFINING: ReadonlySet<string | symbol> = new Set(
  (
    'array catch check default describe extend int length loose lt lte gt gte max meta min nonnegative nullable nullish ' +
    'omit optional partial pick pipe positive readonly refine regex strict superRefine transform'
  ).split(' '),
);

/** `shape` is what an object's schema was made of, and can be read before the schema is built. */
function deferred(create: Build, shape?: unknown): zod.ZodType {
  let built: zod.ZodType | undefined;
  const build: Build = () => (built ??= create());
  const standIn: object = new Proxy(Object.create(null), {
    get(_target, name) {
      if (name === 'shape' && shape !== undefined) return shape;
      if (built === undefined && REFINING.has(name))
        return (...args: unknown[]) => deferred(() => call(build(), name, args));
      const value: unknown = Reflect.get(build(), name);
      return typeof value === 'function' ? value.bind(build()) : value;
    },
    has: (_target, name) => Reflect.has(build(), name),
  });
  builds.set(standIn, build);
  return standIn as zod.ZodType;
}

function call(schema: zod.ZodType, name: string | symbol, args: readonly unknown[]): zod.ZodType {
  const method = Reflect.get(schema, name) as (...given: unknown[]) => zod.ZodType;
  return method.apply(schema, args.map(withBuilt));
}

/** Replaces a deferred schema, or those in a list or in the shape of an object, so that parsing meets none. */
function withBuilt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(builtOf);
  if (!isPlainObject(value)) return builtOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, builtOf(each)]));
}

function builtOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (builds.get(value)?.() ?? value) : value;
}

/** A regular expression or a date has no schema in it. A deferred schema has another prototype, too. */
function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function deferring<Make extends (...args: never[]) => zod.ZodType>(make: Make): Make {
  return ((...args: never[]) => deferred(() => make(...(args.map(withBuilt) as never[])))) as Make;
}

function deferringObject<Make extends (...args: never[]) => zod.ZodObject>(make: Make): Make {
  const build = (args: never[]) => make(...(args.map(withBuilt) as never[]));
  return ((...args: never[]) => deferred(() => build(args), args[0])) as Make;
}

export const object = deferringObject(zod.object);
export const looseObject = deferringObject(zod.looseObject);
export const strictObject = deferringObject(zod.strictObject);
export const string = deferring(zod.string);
export const number = deferring(zod.number);
export const int = deferring(zod.int);
export const boolean = deferring(zod.boolean);
export const literal = deferring(zod.literal);
export const array = deferring(zod.array);
export const record = deferring(zod.record);
export const union = deferring(zod.union);
export const discriminatedUnion = deferring(zod.discriminatedUnion);
export const custom = deferring(zod.custom);
export const preprocess = deferring(zod.preprocess);
export const unknown = deferring(zod.unknown);
export const url = deferring(zod.url);
export const coerce = { ...zod.coerce, number: deferring(zod.coerce.number) };

const deferredEnum = deferring(zod.enum);

export { deferredEnum as enum };

/** Descriptions are known of zod's own schema alone. */
export const toJSONSchema: typeof zod.toJSONSchema = ((schema: unknown, options: never) =>
  zod.toJSONSchema(builtOf(schema) as zod.ZodType, options)) as typeof zod.toJSONSchema;
